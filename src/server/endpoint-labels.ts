import type { TargetLabels } from "../admin/metrics-source.js";
import type { ServedEndpoint } from "./endpoints.js";

/** How logs and metrics name an address of a target. */
export function labelsOf({ zone, config }: ServedEndpoint, target: string, address: string): TargetLabels {
  return { zone: zone.zone, endpoint: config.name, target, address };
}

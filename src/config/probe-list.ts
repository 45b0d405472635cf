import type { ProbeConfig, SingleProbeConfig } from "./config.js";

/** The probes that a probe consists of, in the order written: those of a list, or itself. */
export function singleProbes(probe: ProbeConfig): readonly SingleProbeConfig[] {
  return probe.type === "all" ? probe.probes : [probe];
}

import { type EndpointView, statusSchema } from "../admin/schemas.js";
import type { ZoneConfig } from "../config/config.js";
import type { SourceFacts } from "../doctor/facts.js";
import { askAdmin, openAdmin } from "./admin.js";
import { inspectSources } from "./inspect-sources.js";
import { sourceFacts } from "./source-facts.js";

/** Reads every source of a zone once, and asks the server on this machine, if one runs, how it does with them. */
export async function readSources(
  zone: ZoneConfig,
  configFile: string,
): Promise<ReadonlyMap<string, readonly SourceFacts[]>> {
  if (zone.endpoints.every(({ discover }) => discover === undefined)) return new Map();
  const [inspected, views] = await Promise.all([inspectSources({ zones: [zone] }), viewsOfServer(configFile)]);
  return sourceFacts(inspected, views);
}

/** What the server of this configuration says; nothing if none runs, or this user may not ask it. */
async function viewsOfServer(config: string): Promise<readonly EndpointView[]> {
  try {
    const status = await askAdmin(await openAdmin({ config }), statusSchema, "GET", "/api/v1/status");
    return status.zones.flatMap(({ endpoints }) => endpoints);
  } catch {
    return [];
  }
}

import { type EndpointView, statusSchema } from "../admin/schemas.js";
import type { ZoneConfig } from "../config/config.js";
import type { SourceFacts } from "../doctor/facts.js";
import { askAdmin, openAdmin } from "./admin.js";
import { inspectSources } from "./inspect-sources.js";

type ServerView = NonNullable<EndpointView["discovery"]>["sources"][number];

/** Reads every source of a zone once, and asks the server on this machine, if one runs, how it does with them. */
export async function readSources(
  zone: ZoneConfig,
  configFile: string,
): Promise<ReadonlyMap<string, readonly SourceFacts[]>> {
  if (zone.endpoints.every(({ discover }) => discover === undefined)) return new Map();
  const [inspected, views] = await Promise.all([inspectSources({ zones: [zone] }), viewsOfServer(configFile)]);
  return sourceFacts(inspected, views);
}

/** Puts what sources say beside what the server says of them, by fqdn. */
export function sourceFacts(
  inspected: Awaited<ReturnType<typeof inspectSources>>,
  views: readonly EndpointView[],
): ReadonlyMap<string, readonly SourceFacts[]> {
  const facts = new Map<string, SourceFacts[]>();
  for (const { fqdn, inspected: read, inspection } of inspected) {
    const view = views.find(({ endpoint }) => endpoint === fqdn)?.discovery?.sources;
    const ofServer = view?.find(({ source }) => source === read.source);
    const one = {
      source: read.source,
      now: inspection,
      ...(ofServer === undefined ? {} : { server: stateOf(ofServer) }),
    };
    facts.set(fqdn, [...(facts.get(fqdn) ?? []), one]);
  }
  return facts;
}

function stateOf({ state, heardAtMs, problem }: ServerView): NonNullable<SourceFacts["server"]> {
  return {
    state,
    ...(heardAtMs === undefined ? {} : { heardAtMs }),
    ...(problem === undefined ? {} : { problem }),
  };
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

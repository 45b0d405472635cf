import type { EndpointConfig, ZoneConfig } from "../config/config.js";
import { DiscoveredEndpoint } from "../discovery/discovered-endpoint.js";
import type { Origin } from "../discovery/targets.js";
import type { SourceFacts } from "./facts.js";

/** One endpoint whose targets are discovered. */
export interface SourcedEndpoint {
  readonly fqdn: string;
  readonly sources: readonly SourceFacts[];
  /** Where each target comes from, by id. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** What of the proposals cannot be used, a sentence each. */
  readonly notices: readonly string[];
}

/** A zone with the targets that its sources propose now. */
export interface SourcedZone {
  readonly zone: ZoneConfig;
  /** Those with `discover`. */
  readonly endpoints: readonly SourcedEndpoint[];
}

/** Joins what sources propose to what is written, as a server does that has learned nothing before. */
export function withProposed(
  zone: ZoneConfig,
  bySource: ReadonlyMap<string, readonly SourceFacts[]>,
  nowMs: number,
): SourcedZone {
  const sourced: SourcedEndpoint[] = [];
  const endpoints = zone.endpoints.map((endpoint): EndpointConfig => {
    const { fqdn, discover } = endpoint;
    if (discover === undefined) return endpoint;
    const sources = bySource.get(fqdn) ?? [];
    const { allowSpecialAddresses } = zone;
    // Whether the zone has room for a name is the server's to say: here it is probed all the same.
    const config = { endpoint: { ...endpoint, discover }, allowSpecialAddresses, conflict: () => undefined };
    const discovered = new DiscoveredEndpoint(config, []);
    for (const { source, now } of sources) {
      if ("candidates" in now) discovered.proposed(source, now.candidates, [], nowMs);
    }
    const { targets, origins, news } = discovered.update({ nowMs, healthOf: () => undefined });
    sourced.push({ fqdn, sources, origins, notices: news.map(({ text }) => text) });
    return { ...endpoint, targets };
  });
  return { zone: { ...zone, endpoints }, endpoints: sourced };
}

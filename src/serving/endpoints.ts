import type { CompiledZone, ZoneUpdate } from "../answers/answer.js";
import { type PublishedZone, publishZone } from "../answers/publish.js";
import type { EndpointConfig, ZoneConfig } from "../config/config.js";
import { type Answerable, type AnswerableAddress, decideAnswerable } from "../health/answerable.js";
import type { Snapshot } from "../health/health.js";
import type { Clock } from "../lib/clock.js";
import type { Prepared } from "../prepare.js";
import { formatName } from "../wire/name.js";
import type { ZoneEndpoint } from "../zone/zone.js";

/** An endpoint that is served: its configuration, and what it answers now. */
export interface ServedEndpoint {
  readonly zone: ZoneConfig;
  readonly config: EndpointConfig;
  readonly value: ZoneEndpoint;
  readonly answerable: Answerable;
  /** What was answered when enough targets were up the last time. */
  readonly lastHealthy: readonly AnswerableAddress[];
}

/** What a change of health did to an endpoint. */
export interface Followed {
  readonly endpoint: ServedEndpoint;
  /** What it answered before. */
  readonly before: Answerable;
  /** The answers that changed; absent if none did. */
  readonly update?: ZoneUpdate;
}

/** The zones and endpoints that are served, kept in step with health. */
export interface ServedEndpoints {
  /** By fqdn. */
  readonly endpoints: ReadonlyMap<string, ServedEndpoint>;
  /** Name and published serial of each zone. */
  zones(): { readonly zone: string; readonly serial: number }[];
  /** Every answer as it stands. */
  compile(): CompiledZone[];
  /** Takes a configuration: every answer anew, from the health of the moment. Serials go on from where they were. */
  replace(prepared: Prepared, snapshot: Snapshot): CompiledZone[];
  /** Lets the answers of an endpoint follow its health; undefined for an endpoint that is not served (any more). */
  follow(fqdn: string, snapshot: Snapshot): Followed | undefined;
}

/** Begins with nothing served. */
export function createServedEndpoints(clock: Clock): ServedEndpoints {
  let endpoints = new Map<string, ServedEndpoint>();
  let zoneOf = new Map<string, PublishedZone>();
  let published: readonly PublishedZone[] = [];

  function decide(config: EndpointConfig, snapshot: Snapshot): Answerable | undefined {
    const health = snapshot.endpoints.get(config.fqdn);
    return health && decideAnswerable(health, config, endpoints.get(config.fqdn)?.lastHealthy);
  }

  return {
    get endpoints() {
      return endpoints;
    },
    zones: () => published.map(({ zone, serial }) => ({ zone: formatName(zone.name).slice(0, -1), serial })),
    compile: () => published.map((zone) => zone.compile()),
    replace({ config, zones }, snapshot) {
      const serials = new Map(published.map(({ zone, serial }) => [zone.name, serial]));
      const nextEndpoints = new Map<string, ServedEndpoint>();
      const nextZoneOf = new Map<string, PublishedZone>();
      published = zones.map((zone, index) => {
        const zoneConfig = config.zones[index] as ZoneConfig;
        const decided = new Map<string, Answerable>();
        zone.endpoints.forEach((value, i) => {
          const endpoint = zoneConfig.endpoints[i] as EndpointConfig;
          const answerable = decide(endpoint, snapshot);
          if (answerable === undefined) return;
          decided.set(value.fqdn, answerable);
          const lastHealthy =
            answerable.mode === "healthy" ? answerable.addresses : (endpoints.get(value.fqdn)?.lastHealthy ?? []);
          nextEndpoints.set(value.fqdn, { zone: zoneConfig, config: endpoint, value, answerable, lastHealthy });
        });
        const zonePublished = publishZone(zone, decided, clock.wallMs(), serials.get(zone.name));
        for (const { fqdn } of zone.endpoints) nextZoneOf.set(fqdn, zonePublished);
        return zonePublished;
      });
      endpoints = nextEndpoints;
      zoneOf = nextZoneOf;
      return published.map((zone) => zone.compile());
    },
    follow(fqdn, snapshot) {
      const served = endpoints.get(fqdn);
      const answerable = served && decide(served.config, snapshot);
      if (served === undefined || answerable === undefined) return undefined;
      const lastHealthy = answerable.mode === "healthy" ? answerable.addresses : served.lastHealthy;
      const endpoint = { ...served, answerable, lastHealthy };
      endpoints.set(fqdn, endpoint);
      const update = zoneOf.get(fqdn)?.update(served.value, answerable, clock.wallMs());
      return { endpoint, before: served.answerable, ...(update === undefined ? {} : { update }) };
    },
  };
}

/** Whether an address of a target goes into answers. */
export function isAnswerable({ addresses }: Answerable, target: string, address: string): boolean {
  return addresses.some((entry) => entry.target === target && entry.address === address);
}

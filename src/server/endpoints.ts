import type { CompiledZone, ZoneUpdate } from "../answers/answer.js";
import type { EndpointAnswers } from "../answers/live-zone.js";
import { type PublishedZone, publishZone } from "../answers/zone-compiler.js";
import type { EndpointConfig, ZoneConfig } from "../config/config.js";
import { type Answerable, type AnswerableAddress, decideAnswerable } from "../health/answerable.js";
import { type DrainClock, newDrainClock, tick, untilSafeMs } from "../health/drain.js";
import type { Snapshot } from "../health/health.js";
import type { Clock } from "../lib/clock.js";
import { formatName, type Name } from "../wire/name.js";
import type { ZoneEndpoint } from "../zone/zone.js";
import type { Prepared } from "./load-zones.js";
import { statusStrings } from "./status-record.js";

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
  /**
   * Wall clock, milliseconds since 1970, from which on no cache that honours the TTL can hold an address of a target
   * that answers do not name (any more): the present or before if that is so now; undefined while they name it, and
   * for an endpoint that is not served.
   */
  safeAtMs(fqdn: string, target: string): number | undefined;
}

/** What a process before this one knew. */
export interface ServedBefore {
  /** Serial of a zone, by its name without the trailing dot. */
  serial(zone: string): number | undefined;
  lastHealthy(fqdn: string): readonly AnswerableAddress[];
}

/** Begins with nothing served. */
export function createServedEndpoints(clock: Clock, before?: ServedBefore): ServedEndpoints {
  let endpoints = new Map<string, ServedEndpoint>();
  let zoneOf = new Map<string, PublishedZone>();
  let published: readonly PublishedZone[] = [];
  const startedMs = clock.monotonicMs();
  /** By fqdn and target, also of targets that have gone: they may come back. */
  const drainClocks = new Map<string, DrainClock>();

  /** Takes note of what an endpoint answers from now on, by the addresses: a policy may name them without a target. */
  function noteAnswered({ config: { fqdn, ttl, targets }, answerable }: ServedEndpoint): void {
    const nowMs = clock.monotonicMs();
    const named = new Set(answerable.addresses.map(({ address }) => address));
    for (const { id, addresses } of targets) {
      const before = drainClocks.get(`${fqdn} ${id}`) ?? newDrainClock(ttl, startedMs);
      const isNamed = addresses.some((address) => named.has(address));
      drainClocks.set(`${fqdn} ${id}`, tick(before, isNamed ? ttl : undefined, nowMs));
    }
  }

  /** Takes note that targets have left the configuration, and answers with it. */
  function noteGone(before: Iterable<ServedEndpoint>): void {
    for (const { config } of before) {
      const stay = new Set(endpoints.get(config.fqdn)?.config.targets.map(({ id }) => id));
      for (const { id } of config.targets) {
        const drainClock = drainClocks.get(`${config.fqdn} ${id}`);
        if (stay.has(id) || drainClock === undefined) continue;
        drainClocks.set(`${config.fqdn} ${id}`, tick(drainClock, undefined, clock.monotonicMs()));
      }
    }
  }

  function decide(config: EndpointConfig, snapshot: Snapshot): EndpointAnswers | undefined {
    const health = snapshot.endpoints.get(config.fqdn);
    if (health === undefined) return undefined;
    const answerable = decideAnswerable(health, config, lastHealthyOf(config.fqdn));
    return config.statusRecord ? { ...answerable, status: statusStrings(health) } : answerable;
  }

  function lastHealthyOf(fqdn: string): readonly AnswerableAddress[] {
    return endpoints.get(fqdn)?.lastHealthy ?? before?.lastHealthy(fqdn) ?? [];
  }

  return {
    get endpoints() {
      return endpoints;
    },
    zones: () => published.map(({ zone, serial }) => ({ zone: textOf(zone.name), serial })),
    compile: () => published.map((zone) => zone.compile()),
    replace({ config, zones }, snapshot) {
      const serials = new Map(published.map(({ zone, serial }) => [zone.name, serial]));
      const nextEndpoints = new Map<string, ServedEndpoint>();
      const nextZoneOf = new Map<string, PublishedZone>();
      published = zones.map((zone, index) => {
        const zoneConfig = config.zones[index] as ZoneConfig;
        const decided = new Map<string, EndpointAnswers>();
        zone.endpoints.forEach((value, i) => {
          const endpoint = zoneConfig.endpoints[i] as EndpointConfig;
          const answerable = decide(endpoint, snapshot);
          if (answerable === undefined) return;
          decided.set(value.fqdn, answerable);
          const lastHealthy = answerable.mode === "healthy" ? answerable.addresses : lastHealthyOf(value.fqdn);
          nextEndpoints.set(value.fqdn, { zone: zoneConfig, config: endpoint, value, answerable, lastHealthy });
        });
        const zonePublished = publishZone(
          zone,
          decided,
          clock.wallMs(),
          serials.get(zone.name) ?? before?.serial(textOf(zone.name)),
        );
        for (const { fqdn } of zone.endpoints) nextZoneOf.set(fqdn, zonePublished);
        return zonePublished;
      });
      const old = endpoints;
      endpoints = nextEndpoints;
      noteGone(old.values());
      for (const endpoint of endpoints.values()) noteAnswered(endpoint);
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
      noteAnswered(endpoint);
      const update = zoneOf.get(fqdn)?.update(served.value, answerable, clock.wallMs());
      return { endpoint, before: served.answerable, ...(update === undefined ? {} : { update }) };
    },
    safeAtMs(fqdn, target) {
      const drainClock = drainClocks.get(`${fqdn} ${target}`);
      const leftMs = drainClock && untilSafeMs(drainClock, clock.monotonicMs());
      return leftMs === undefined ? undefined : clock.wallMs() + leftMs;
    },
  };
}

/** A name without the trailing dot. */
function textOf(name: Name): string {
  return formatName(name).slice(0, -1);
}

/** Whether an address of a target goes into answers. */
export function isAnswerable({ addresses }: Answerable, target: string, address: string): boolean {
  return addresses.some((entry) => entry.target === target && entry.address === address);
}

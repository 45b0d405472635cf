import type { EndpointConfig, TargetConfig, ZoneConfig } from "../config/config.js";
import { type Answerable, type AnswerableAddress, decideAnswerable } from "../health/answerable.js";
import type { EndpointHealth, Snapshot } from "../health/health.js";
import type { Clock } from "../lib/clock.js";
import { UserError } from "../lib/errors.js";
import { type Name, nameWithoutDot } from "../wire/name.js";
import { createZoneEndpoint, targetConflict } from "../zone/endpoint.js";
import type { EndpointAnswers } from "../zone/endpoint-records.js";
import { LiveZone, type ZoneChange } from "../zone/live-zone.js";
import type { Zone, ZoneEndpoint } from "../zone/zone.js";
import { DrainClocks } from "./drain-clocks.js";
import { statusStrings } from "./status-record.js";

/** An endpoint that is served: its configuration, with the targets it has now, and what it answers. */
export interface ServedEndpoint {
  readonly zone: ZoneConfig;
  readonly config: EndpointConfig;
  readonly answerable: Answerable;
  /** What was answered when enough targets were up the last time. */
  readonly lastHealthy: readonly AnswerableAddress[];
}

/** What a change of health or of the targets did to an endpoint. */
export interface Followed {
  readonly endpoint: ServedEndpoint;
  /** What it answered before. */
  readonly before: Answerable;
  /** What changed in the zone; absent if nothing did. */
  readonly change?: ZoneChange;
}

/** What a process before this one knew. */
export interface ServedBefore {
  /** Serial of a zone, by its name without the trailing dot. */
  serial(zone: string): number | undefined;
  lastHealthy(fqdn: string): readonly AnswerableAddress[];
}

/** Addresses of an endpoint that count as up because siblings see them up. */
export type Vouch = (health: EndpointHealth, config: EndpointConfig) => readonly AnswerableAddress[];

/** Who is told what becomes of the zones: at once, and after the zone has changed. */
export interface ZoneWatcher {
  onZoneAdded(zone: LiveZone): void;
  onZoneRemoved(zone: Name): void;
  onChange(change: ZoneChange): void;
}

/**
 * The zones and endpoints that are served, kept in step with health, overrides, target sets and the configuration. It
 * begins with nothing served.
 */
export class ServedEndpoints {
  readonly #clock: Clock;
  readonly #before: ServedBefore | undefined;
  readonly #watcher: ZoneWatcher;
  readonly #vouch: Vouch | undefined;
  readonly #drainClocks: DrainClocks;
  #endpoints = new Map<string, ServedEndpoint>();
  /** By apex, in the order of the configuration. */
  #zones = new Map<Name, LiveZone>();
  /** By the fqdn of its endpoints. */
  #zoneOf = new Map<string, LiveZone>();

  /** @param vouch addresses that count as up because siblings see them up; absent = none */
  constructor(clock: Clock, watcher: ZoneWatcher, before?: ServedBefore, vouch?: Vouch) {
    this.#vouch = vouch;
    this.#clock = clock;
    this.#watcher = watcher;
    this.#before = before;
    this.#drainClocks = new DrainClocks(clock);
  }

  /** By fqdn. */
  get endpoints(): ReadonlyMap<string, ServedEndpoint> {
    return this.#endpoints;
  }

  /** Name and published serial of each zone. */
  zones(): { readonly zone: string; readonly serial: number }[] {
    return [...this.#zones.values()].map(({ zone, serial }) => ({ zone: nameWithoutDot(zone.name), serial }));
  }

  /**
   * Takes other zones in place of all: removes those that are not named, adds those that are new, and changes the others.
   * Serials go on from where they were. A zone whose records are the same does not change.
   */
  replaceZones(zones: readonly Zone[], snapshot: Snapshot): void {
    const stay = new Set(zones.map(({ name }) => name));
    for (const zone of zones) {
      const live = this.#zones.get(zone.name);
      if (live === undefined) this.addZone(zone, snapshot);
      else this.#replaceZone(live, zone, snapshot);
    }
    // Last, since a name may have moved from one zone to another.
    for (const name of this.#zones.keys()) if (!stay.has(name)) this.removeZone(name);
    const ordered = zones.flatMap(({ name }) => this.#zones.get(name) ?? []);
    this.#zones = new Map(ordered.map((live) => [live.zone.name, live]));
    const fqdns = zones.flatMap(({ endpoints }) => endpoints.map(({ fqdn }) => fqdn));
    this.#endpoints = new Map(
      fqdns.flatMap((fqdn) => {
        const endpoint = this.#endpoints.get(fqdn);
        return endpoint === undefined ? [] : [[fqdn, endpoint] as const];
      }),
    );
  }

  /** Begins to serve a zone. */
  addZone(zone: Zone, snapshot: Snapshot): void {
    const { decided, served } = this.#decideZone(zone, snapshot);
    const live = new LiveZone(zone, decided, this.#clock.wallMs(), this.#before?.serial(nameWithoutDot(zone.name)));
    this.#zones.set(zone.name, live);
    this.#serve(live, served);
    this.#watcher.onZoneAdded(live);
  }

  /** Ceases to serve a zone, if it is served. */
  removeZone(name: Name): void {
    const live = this.#zones.get(name);
    if (live === undefined) return;
    this.#zones.delete(name);
    for (const { fqdn } of live.zone.endpoints) this.#release(fqdn, live);
    this.#watcher.onZoneRemoved(name);
  }

  /** Lets the answers of an endpoint follow its health; `undefined` for an endpoint that is not served (any more). */
  follow(fqdn: string, snapshot: Snapshot): Followed | undefined {
    const live = this.#zoneOf.get(fqdn);
    const endpoint = live?.endpoint(fqdn);
    return live && endpoint && this.#follow(live, endpoint, snapshot);
  }

  /**
   * Gives an endpoint other targets, whose names appear and disappear with them.
   *
   * @param snapshot knows the new targets; one that it does not know yet is not answered
   * @returns `undefined` for an endpoint that is not served
   * @throws UserError if a target cannot have its name; nothing has changed then
   */
  setTargets(fqdn: string, targets: readonly TargetConfig[], snapshot: Snapshot): Followed | undefined {
    const live = this.#zoneOf.get(fqdn);
    const endpoint = live?.endpoint(fqdn);
    const served = this.#endpoints.get(fqdn);
    if (live === undefined || endpoint === undefined || served === undefined) return undefined;
    const known = new Set(endpoint.targets.map(({ id }) => id));
    for (const { id } of targets) {
      if (known.has(id)) continue;
      const conflict = targetConflict(live.zone, endpoint, id);
      if (conflict !== undefined)
        throw new UserError(`${fqdn} cannot have the target ${id}: ${conflict}`, "TARGET_NAME_CONFLICT");
    }
    const next = createZoneEndpoint({ ...endpoint.config, targets }, live.zone.name);
    const followed = this.#follow(live, next, snapshot);
    this.#drainClocks.gone(served, new Set(targets.map(({ id }) => id)));
    return followed;
  }

  /**
   * Wall clock, milliseconds since 1970, from which on no cache that honours the TTL can hold an address of a target
   * that answers do not name (any more): the present or before if that is so now; `undefined` while they name it, and
   * for an endpoint that is not served.
   */
  safeAtMs(fqdn: string, target: string): number | undefined {
    const leftMs = this.safeInMs(fqdn, target);
    return leftMs === undefined ? undefined : this.#clock.wallMs() + leftMs;
  }

  /** As {@link safeAtMs}, in milliseconds from now on. */
  safeInMs(fqdn: string, target: string): number | undefined {
    return this.#drainClocks.untilSafeMs(fqdn, target);
  }

  #follow(live: LiveZone, endpoint: ZoneEndpoint, snapshot: Snapshot): Followed | undefined {
    const { fqdn, config } = endpoint;
    const served = this.#endpoints.get(fqdn);
    const answerable = this.#decide(config, snapshot);
    if (served === undefined || answerable === undefined) return undefined;
    const lastHealthy = answerable.mode === "healthy" ? answerable.addresses : served.lastHealthy;
    const now = { ...served, config, answerable, lastHealthy };
    this.#endpoints.set(fqdn, now);
    this.#drainClocks.answered(now);
    const change = live.setEndpoint(endpoint, answerable, this.#clock.wallMs());
    if (change !== undefined) this.#watcher.onChange(change);
    return { endpoint: now, before: served.answerable, ...(change === undefined ? {} : { change }) };
  }

  #replaceZone(live: LiveZone, zone: Zone, snapshot: Snapshot): void {
    const { decided, served } = this.#decideZone(zone, snapshot);
    const stay = new Set(zone.endpoints.map(({ fqdn }) => fqdn));
    for (const { fqdn } of live.zone.endpoints) if (!stay.has(fqdn)) this.#release(fqdn, live);
    const change = live.replace(zone, decided, this.#clock.wallMs());
    this.#serve(live, served);
    if (change !== undefined) this.#watcher.onChange(change);
  }

  /** What the endpoints of a zone answer, for the zone and for those who look. */
  #decideZone(zone: Zone, snapshot: Snapshot) {
    const decided = new Map<string, EndpointAnswers>();
    const served: ServedEndpoint[] = [];
    for (const { fqdn, config } of zone.endpoints) {
      const answerable = this.#decide(config, snapshot);
      if (answerable === undefined) continue;
      decided.set(fqdn, answerable);
      const lastHealthy = answerable.mode === "healthy" ? answerable.addresses : this.#lastHealthyOf(fqdn);
      served.push({ zone: zone.config, config, answerable, lastHealthy });
    }
    return { decided, served };
  }

  /** Takes note of the endpoints of a zone, and of the targets that are gone with the configuration before. */
  #serve(live: LiveZone, served: readonly ServedEndpoint[]): void {
    for (const endpoint of served) {
      const { fqdn, targets } = endpoint.config;
      const before = this.#endpoints.get(fqdn);
      if (before !== undefined) this.#drainClocks.gone(before, new Set(targets.map(({ id }) => id)));
      this.#endpoints.set(fqdn, endpoint);
      this.#zoneOf.set(fqdn, live);
      this.#drainClocks.answered(endpoint);
    }
  }

  /** Ceases to serve an endpoint, unless another zone has it now. */
  #release(fqdn: string, live: LiveZone): void {
    if (this.#zoneOf.get(fqdn) !== live) return;
    const endpoint = this.#endpoints.get(fqdn);
    if (endpoint !== undefined) this.#drainClocks.gone(endpoint, new Set());
    this.#endpoints.delete(fqdn);
    this.#zoneOf.delete(fqdn);
  }

  #decide(config: EndpointConfig, snapshot: Snapshot): (Answerable & EndpointAnswers) | undefined {
    const health = snapshot.endpoints.get(config.fqdn);
    if (health === undefined) return undefined;
    const answerable = decideAnswerable(
      health,
      config,
      this.#lastHealthyOf(config.fqdn),
      this.#vouch?.(health, config),
    );
    return config.statusRecord ? { ...answerable, status: statusStrings(health) } : answerable;
  }

  #lastHealthyOf(fqdn: string): readonly AnswerableAddress[] {
    return this.#endpoints.get(fqdn)?.lastHealthy ?? this.#before?.lastHealthy(fqdn) ?? [];
  }
}

/** Whether an address of a target goes into answers. */
export function isAnswerable({ addresses }: Answerable, target: string, address: string): boolean {
  return addresses.some((entry) => entry.target === target && entry.address === address);
}

import type { EndpointConfig, TargetConfig } from "../config/config.js";
import type { DiscoverSourceConfig } from "../config/discovery.js";
import { DiscoveredEndpoint } from "../discovery/discovered-endpoint.js";
import type { LearnedAddress, SeenHealth } from "../discovery/learn.js";
import type { Source, SourceFailure, SourceListener } from "../discovery/source.js";
import type { HealthMonitor } from "../health/health-monitor.js";
import type { OverrideStore } from "../health/overrides.js";
import type { StateFile } from "../health/state-file.js";
import type { Clock, Timer } from "../lib/clock.js";
import { createZoneEndpoint, targetConflict } from "../zone/endpoint.js";
import type { Zone } from "../zone/zone.js";
import { DiscoveredDrains } from "./discovered-drains.js";
import type { DiscoveredState } from "./discovery-state.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ServerEvents, Subscriber } from "./events.js";
import type { Prepared } from "./load-zones.js";

/**
 * Changes that come faster than this, milliseconds, are taken together: 200, and longer for large sets, of which a change
 * may not take more than one part in `UPDATE_SHARE` of a core; but soon enough that a new target is known within a second.
 */
const UPDATE_EVERY_MS = 200;
const MAX_UPDATE_EVERY_MS = 750;
const UPDATE_SHARE = 50;

/** What was learned is written at most so often, milliseconds. */
const SAVE_EVERY_MS = 1_000;

/** Milliseconds to the next try of what could not be done, such as a drain that was refused. */
const RETRY_MS = 10_000;

/** Longest delay of a timer, milliseconds: a wall clock that was set is noticed after that. */
const LOOK_AGAIN_MS = 60_000;

/** Where an apiserver can be reached. */
export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

/** What a source is made with. */
export interface SourceSurroundings {
  readonly endpoint: EndpointConfig;
  /** Names that livezone answers itself, without the trailing dot, which no source may resolve. */
  readonly zone: string;
  /** Addresses of apiservers that are known now, the most trustworthy first. */
  servers(): readonly ServerAddress[];
}

export type OpenSource = (config: DiscoverSourceConfig, surroundings: SourceSurroundings) => Source;

export interface DiscoveryParts {
  readonly clock: Clock;
  readonly events: ServerEvents;
  readonly served: ServedEndpoints;
  readonly monitor: Pick<HealthMonitor, "snapshot" | "configureEndpoint">;
  readonly overrides: OverrideStore;
  /** What was learned before this start. */
  readonly initial: DiscoveredState;
  /** Absent = nothing is kept. */
  readonly file?: StateFile<DiscoveredState> | undefined;
  readonly openSource: OpenSource;
}

/** One endpoint whose targets are discovered, with what runs for it. */
interface Running {
  readonly endpoint: DiscoveredEndpoint;
  readonly drains: DiscoveredDrains;
  /** By name of the source. */
  readonly sources: Map<string, { readonly source: Source; readonly key: string }>;
  timer?: Timer;
  timerAtMs: number;
  /** Not before this moment, on the monotonic clock. */
  nextUpdateAtMs: number;
}

/** Keeps the target sets of endpoints with `discover` in step with their sources, health and the configuration. */
export class Discovery {
  readonly #parts: DiscoveryParts;
  /** By fqdn. */
  #endpoints = new Map<string, Running>();
  readonly #initial: Map<string, readonly LearnedAddress[]>;
  #saved = "";
  #saveTimer: Timer | undefined;
  #saving: Promise<void> = Promise.resolve();
  #isStarted = false;
  #isStopped = false;

  constructor(parts: DiscoveryParts) {
    this.#parts = parts;
    this.#saved = JSON.stringify(parts.initial);
    this.#initial = new Map(parts.initial.map(({ fqdn, learned }) => [fqdn, learned]));
  }

  /** An endpoint whose targets are discovered; undefined for another. */
  endpoint(fqdn: string): DiscoveredEndpoint | undefined {
    return this.#endpoints.get(fqdn)?.endpoint;
  }

  /** Every endpoint whose targets are discovered, by fqdn. */
  *endpoints(): Iterable<readonly [string, DiscoveredEndpoint]> {
    for (const [fqdn, { endpoint }] of this.#endpoints) yield [fqdn, endpoint];
  }

  /** Follows another configuration. @returns it with the targets that were learned */
  withLearned(next: Prepared): Prepared {
    const endpoints = new Map<string, Running>();
    const effective = new Map<string, EndpointConfig>();
    for (const zone of next.zones) {
      for (const { fqdn, config } of zone.endpoints) {
        const running = this.#configure(zone, config);
        if (running === undefined) continue;
        endpoints.set(fqdn, running);
        const { targets } = running.endpoint.update(this.#surroundings(fqdn));
        effective.set(fqdn, { ...config, targets });
      }
    }
    for (const [fqdn, running] of this.#endpoints) if (!endpoints.has(fqdn)) this.#end(running);
    this.#endpoints = endpoints;
    if (this.#isStarted) for (const fqdn of endpoints.keys()) this.#plan(fqdn, 0);
    return effective.size === 0 ? next : withTargets(next, effective);
  }

  /** Begins to read the sources. */
  start(): void {
    this.#isStarted = true;
    for (const [fqdn, running] of this.#endpoints) {
      this.#startSources(fqdn, running);
      this.#plan(fqdn, 0);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#saveTimer?.cancel();
    for (const running of this.#endpoints.values()) this.#end(running);
    this.#save();
    await this.#saving;
  }

  /** Resolves when every endpoint with `discover` answers something. */
  answered(): Promise<void> {
    const isAnswered = (): boolean =>
      [...this.#endpoints.keys()].every(
        (fqdn) => (this.#parts.served.endpoints.get(fqdn)?.answerable.addresses.length ?? 1) > 0,
      );
    if (isAnswered()) return Promise.resolve();
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isAnswered()) return;
        end();
        resolve();
      };
      const end = this.#parts.events.subscribe("first answers", { "answers-changed": look });
    });
  }

  /** Subscriber that notes which addresses have passed, and looks again after what health may have decided. */
  subscriber(): Subscriber {
    return {
      "health-changed": ({ transition: { fqdn, address, to } }) => {
        if (to === "up") this.#endpoints.get(fqdn)?.endpoint.passed(address);
        // A failure only matters for what may be forgotten.
        this.#plan(fqdn, to === "up" ? 0 : 1_000);
      },
      "answers-changed": ({ endpoint: { config } }) => {
        if (this.#endpoints.get(config.fqdn)?.drains.isWaiting === true) this.#plan(config.fqdn, 0);
      },
    };
  }

  #configure(zone: Zone, config: EndpointConfig): Running | undefined {
    const { fqdn, discover } = config;
    if (discover === undefined) return undefined;
    const zoneEndpoint = zone.endpoints.find((one) => one.fqdn === fqdn);
    const discovered = {
      endpoint: { ...config, discover },
      allowSpecialAddresses: zone.config.allowSpecialAddresses,
      conflict: remembered((id) => zoneEndpoint && targetConflict(zone, zoneEndpoint, id)),
    };
    const known = this.#endpoints.get(fqdn);
    const running = known ?? {
      endpoint: new DiscoveredEndpoint(discovered, this.#initial.get(fqdn) ?? []),
      drains: new DiscoveredDrains(fqdn, this.#parts.overrides),
      sources: new Map(),
      timerAtMs: Number.POSITIVE_INFINITY,
      nextUpdateAtMs: Number.NEGATIVE_INFINITY,
    };
    if (known !== undefined) {
      for (const [name, { source, key }] of known.sources) {
        const now = discover.sources.find((one) => one.name === name);
        if (now !== undefined && sourceKey(now, config) === key) continue;
        source.stop();
        known.sources.delete(name);
        known.endpoint.forget(name);
      }
      known.endpoint.configure(discovered);
    }
    if (this.#isStarted) this.#startSources(fqdn, running);
    return running;
  }

  #startSources(fqdn: string, running: Running): void {
    const { endpoint: config } = running.endpoint.config;
    for (const one of config.discover.sources) {
      if (running.sources.has(one.name) || this.#isStopped) continue;
      const zone = fqdn.slice(config.name === "@" ? 0 : config.name.length + 1);
      const source = this.#parts.openSource(one, { endpoint: config, zone, servers: () => this.#servers(fqdn) });
      running.sources.set(one.name, { source, key: sourceKey(one, config) });
      source.start(this.#listener(fqdn, running, one.name));
    }
  }

  #end(running: Running): void {
    running.timer?.cancel();
    for (const { source } of running.sources.values()) source.stop();
    running.sources.clear();
    if (!this.#isStopped) running.drains.want(new Map());
  }

  #listener(fqdn: string, running: Running, source: string): SourceListener {
    const { clock } = this.#parts;
    const { endpoint } = running;
    const recovered = (wasFailing: boolean): void => {
      if (wasFailing) this.#publish({ type: "source-recovered", fqdn, source });
    };
    return {
      proposed: (candidates, notices) => {
        recovered(endpoint.proposed(source, candidates, notices, clock.wallMs()));
        this.#plan(fqdn, 0);
      },
      confirmed: () => recovered(endpoint.confirmed(source, clock.wallMs())),
      failed: (failure: SourceFailure) => {
        if (endpoint.failed(source, failure)) this.#publish({ type: "source-failed", fqdn, source, failure });
      },
      credentialRead: (validity) => endpoint.credentialRead(source, validity),
    };
  }

  /** Decides the targets of an endpoint after `delayMs`, or a little later if they have just been decided. */
  #plan(fqdn: string, delayMs: number): void {
    const running = this.#endpoints.get(fqdn);
    if (running === undefined || this.#isStopped || !this.#isStarted) return;
    const { clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    const atMs = Math.max(nowMs + Math.min(delayMs, LOOK_AGAIN_MS), running.nextUpdateAtMs);
    if (atMs >= running.timerAtMs) return;
    running.timerAtMs = atMs;
    running.timer?.cancel();
    running.timer = clock.after(atMs - nowMs, () => {
      running.timerAtMs = Number.POSITIVE_INFINITY;
      const begunMs = clock.monotonicMs();
      running.nextUpdateAtMs = begunMs + UPDATE_EVERY_MS;
      this.#update(fqdn, running);
      const endedMs = clock.monotonicMs();
      const pauseMs = Math.min(MAX_UPDATE_EVERY_MS, (endedMs - begunMs) * UPDATE_SHARE);
      running.nextUpdateAtMs = Math.max(running.nextUpdateAtMs, endedMs + pauseMs);
    });
  }

  #update(fqdn: string, running: Running): void {
    const { monitor, served } = this.#parts;
    const { endpoint } = running;
    const before = served.endpoints.get(fqdn)?.config.targets;
    if (before === undefined) return;
    const updated = endpoint.update(this.#surroundings(fqdn));
    for (const notice of updated.news) this.#publish({ type: "source-noticed", fqdn, notice });
    if (!sameTargets(before, updated.targets)) {
      monitor.configureEndpoint({ ...endpoint.config.endpoint, targets: updated.targets });
      const followed = served.setTargets(fqdn, updated.targets, monitor.snapshot());
      if (followed !== undefined) {
        const { endpoint: now, before: answered, change } = followed;
        if (change !== undefined || answered.mode !== now.answerable.mode) {
          this.#publish({ type: "answers-changed", endpoint: now, before: answered });
        }
        this.#publishTargets(fqdn, before, updated);
      }
    }
    running.drains.want(updated.drains);
    this.#saveSoon();
    this.#plan(fqdn, running.drains.isWaiting ? RETRY_MS : Math.max(1_000, updated.againInMs ?? LOOK_AGAIN_MS));
  }

  #publishTargets(fqdn: string, before: readonly TargetConfig[], { targets, origins }: DiscoveredNow): void {
    const had = new Map(before.map((target) => [target.id, target]));
    const has = new Set(targets.map(({ id }) => id));
    const joined = targets
      .filter(({ id, addresses }) => String(had.get(id)?.addresses) !== String(addresses))
      .map(({ id, addresses }) => ({ id, addresses, origins: origins.get(id)?.origins ?? [] }));
    const left = before.filter(({ id }) => !has.has(id)).map(({ id }) => id);
    if (joined.length + left.length > 0) this.#publish({ type: "targets-changed", fqdn, joined, left });
  }

  #publish(event: Parameters<ServerEvents["publish"]>[0]): void {
    this.#parts.events.publish(event);
  }

  #surroundings(fqdn: string): Parameters<DiscoveredEndpoint["update"]>[0] {
    const { clock, monitor } = this.#parts;
    const seen = new Map<string, SeenHealth>();
    for (const { addresses } of monitor.snapshot().endpoints.get(fqdn)?.targets ?? []) {
      for (const { address, health, sinceMs } of addresses) seen.set(address, { health, sinceMs });
    }
    return { nowMs: clock.wallMs(), healthOf: (address) => seen.get(address) };
  }

  /** Those that pass first. */
  #servers(fqdn: string): ServerAddress[] {
    const { monitor, served } = this.#parts;
    const port = served.endpoints.get(fqdn)?.config.port ?? 6443;
    const all = (monitor.snapshot().endpoints.get(fqdn)?.targets ?? []).flatMap(({ addresses }) => addresses);
    const up = all.filter(({ health }) => health === "up");
    const rest = all.filter(({ health }) => health !== "up");
    return [...up, ...rest].map(({ address }) => ({ address, port }));
  }

  #saveSoon(): void {
    if (this.#parts.file === undefined || this.#saveTimer !== undefined) return;
    this.#saveTimer = this.#parts.clock.after(SAVE_EVERY_MS, () => {
      this.#saveTimer = undefined;
      this.#save();
    });
  }

  #save(): void {
    const { file, events } = this.#parts;
    if (file === undefined) return;
    const state = [...this.#endpoints].map(([fqdn, { endpoint }]) => ({ fqdn, learned: endpoint.learned }));
    const text = JSON.stringify(state);
    if (text === this.#saved) return;
    this.#saved = text;
    this.#saving = file.write(state).catch((error) => {
      this.#saved = "";
      events.publish({ type: "state-not-saved", error });
    });
  }
}

/** Answers that {@link remembered} keeps: more than a source proposes at once. */
const MAX_REMEMBERED = 50_000;

/** Asks once for each id: what a configuration has room for does not change. */
function remembered(ask: (id: string) => string | undefined): (id: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (id) => {
    // Ids come and go for as long as the server runs.
    if (known.size >= MAX_REMEMBERED) known.clear();
    if (!known.has(id)) known.set(id, ask(id));
    return known.get(id);
  };
}

type DiscoveredNow = ReturnType<DiscoveredEndpoint["update"]>;

/** Differs when a source must begin anew. */
function sourceKey(source: DiscoverSourceConfig, { port, probe }: EndpointConfig): string {
  const { position: _, ...settings } = source;
  return JSON.stringify([settings, port, probe]);
}

function sameTargets(before: readonly TargetConfig[], now: readonly TargetConfig[]): boolean {
  const shape = (targets: readonly TargetConfig[]): string =>
    JSON.stringify(targets.map(({ position: _, ...target }) => target));
  return shape(before) === shape(now);
}

/** A configuration in which these endpoints have other targets. */
function withTargets(next: Prepared, effective: ReadonlyMap<string, EndpointConfig>): Prepared {
  const zones = next.zones.map((zone) => ({
    ...zone,
    endpoints: zone.endpoints.map((endpoint) => {
      const config = effective.get(endpoint.fqdn);
      return config === undefined ? endpoint : createZoneEndpoint(config, zone.name);
    }),
  }));
  const config = {
    ...next.config,
    zones: next.config.zones.map((zone) => ({
      ...zone,
      endpoints: zone.endpoints.map((endpoint) => effective.get(endpoint.fqdn) ?? endpoint),
    })),
  };
  return { ...next, config, zones };
}

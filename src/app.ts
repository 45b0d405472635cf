import { randomBytes } from "node:crypto";
import { CompiledZones } from "./answers/compiled-zones.js";
import type { Answerable } from "./health/answerable.js";
import type { Snapshot } from "./health/health.js";
import { type Clock, systemClock } from "./lib/clock.js";
import type { SocketAddress } from "./lib/listening.js";
import type { Logger } from "./lib/logger.js";
import { buildAdminParts } from "./server/admin-parts.js";
import { createConfigWatch } from "./server/config-watcher.js";
import { Discovery } from "./server/discovery.js";
import { createOpenSource } from "./server/discovery-sources.js";
import { ServerEvents } from "./server/events.js";
import { buildHealthParts } from "./server/health-parts.js";
import { becomeReady, type LifecycleParts, logStart, openSockets, stopServer } from "./server/lifecycle.js";
import { type Prepared, prepare } from "./server/load-zones.js";
import { eventLogging, logProblems } from "./server/log-lines.js";
import { ThreadPolicy } from "./server/query-policy.js";
import { applyConfiguration, createReload } from "./server/reload.js";
import { readSavedState } from "./server/saved-state.js";
import { SiblingParts } from "./server/siblings.js";
import { createSighted } from "./server/sighted.js";
import type { ServerState } from "./server/state.js";
import { subscribeParts } from "./server/subscribers.js";
import { Leaving, type Predecessor } from "./server/takeover.js";
import { buildTransferParts } from "./server/transfers.js";
import { zoneEvents } from "./server/zone-events.js";
import type { ZoneStanding } from "./transfer/service.js";
import { WorkerPool } from "./transport/worker-pool.js";
import type { Name } from "./wire/name.js";
import { SIPHASH_KEY_OCTETS } from "./wire/siphash.js";

/** A running server. */
export interface App {
  /** Where DNS is served, over UDP and TCP alike; the real ports. */
  readonly listen: readonly SocketAddress[];
  /** Where the admin HTTP listens. */
  readonly http: SocketAddress | undefined;
  /** The picture of health now. */
  snapshot(): Snapshot;
  /** What an endpoint answers now, by its fqdn. */
  answerable(fqdn: string): Answerable | undefined;
  /** Resolves when queries are answered; rejects with a UserError if a predecessor could not be taken over from. */
  readonly ready: Promise<void>;
  /** Resolves when the port has been left to a successor: what remains is to {@link stop}. */
  readonly left: Promise<void>;
  /** Takes the configuration anew, as a whole or not at all. @returns whether it was taken; the log says why not */
  reload(): Promise<boolean>;
  /** Answers what is under way, closes everything, and resolves within 5 s. */
  stop(): Promise<void>;
}

/** What a server is started with. */
export interface AppOptions {
  /** The main configuration file. */
  readonly file: string;
  readonly log: Logger;
  /** What `file` says; absent: it is read. */
  readonly first?: Prepared;
  /** Absent: the port is free. */
  readonly predecessor?: Predecessor;
  /** Default: the machine's own. */
  readonly clock?: Clock;
  /** 0 (included) to 1 (not included). Default: `Math.random`. */
  readonly random?: () => number;
}

/**
 * Starts a server: builds its parts and connects them.
 *
 * @throws ConfigurationError, UserError (a socket that cannot be opened)
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { file, log, predecessor, first = prepare(file), clock = systemClock, random = Math.random } = options;
  const { config } = first;
  logProblems(log, first.warnings);
  const startedMs = clock.wallMs();
  const lastReload = { atMs: startedMs, ok: true };
  const beginning = { isReady: false, isStopping: false, listensLater: true };
  const state: ServerState = { startedMs, started: config, config, ...beginning, lastReload };

  // Its threads keep the process alive, which no timer does.
  const tables = new CompiledZones();
  const events = new ServerEvents(clock, log);
  // Who is active among siblings is known to them, who are built later.
  const standingOf = (zone: Name): ZoneStanding => siblings?.primaries.standing(zone) ?? "active";
  const transferring = buildTransferParts({ clock, random, log, events, standingOf });
  const { transfers } = transferring;
  const pool = new WorkerPool({ workers: config.workers, log, zones: tables, transfers });
  events.subscribe("log", eventLogging(log));
  const saved = await readSavedState(config.stateDir, clock, events);
  const { serials } = saved;
  const sighted = createSighted({ clock, state, events, watcher: zoneEvents(events), before: saved.known });
  const { served } = sighted;
  const health = buildHealthParts({ clock, random, events, saved, state, ...sighted });
  sighted.connect(health.monitor);
  const siblings: SiblingParts | undefined =
    config.siblings &&
    new SiblingParts({ clock, random, log, events, state, served, health, pool, transfers }, config.siblings);
  const policy = new ThreadPolicy(pool, config.workers, randomBytes(SIPHASH_KEY_OCTETS), transfers);
  const openSource = createOpenSource({ clock, random });
  const discovery = new Discovery({ clock, events, served, ...health, ...saved.discovered, openSource });
  const configuration = { clock, state, events, pool, policy, served, discovery, siblings, monitor: health.monitor };
  const reload = createReload(file, configuration);
  const watch = createConfigWatch(clock, () => void reload());
  const leaving = new Leaving({ clock, log, pool, state });
  const admin = buildAdminParts({
    clock,
    log,
    state,
    pool,
    served,
    health,
    siblings,
    discovery,
    leaving,
    reload,
    ...transferring,
  });
  const following = { watch, discovery, siblings, serials, ...transferring, ...admin, ...health };
  subscribeParts(events, { pool, tables, policy, served, ...following });
  const savedOverrides = saved.files?.overrides.read;
  const lifecycle: LifecycleParts = {
    ...{ clock, log, pool, state, events, served, known: saved.known },
    ...following,
    ...(predecessor && { predecessor }),
    ...(savedOverrides && { savedOverrides }),
  };

  try {
    applyConfiguration(configuration, first, policy.read(config));
    await openSockets(lifecycle);
  } catch (error) {
    await pool.stop(0);
    throw error;
  }
  logStart(lifecycle);
  return runningApp(lifecycle, leaving, reload);
}

function runningApp(parts: LifecycleParts, leaving: Leaving, reload: () => Promise<readonly string[]>): App {
  const { pool, listeners, monitor, served } = parts;
  const ready = becomeReady(parts);
  let stopped: Promise<void> | undefined;
  return {
    get listen() {
      return pool.addresses;
    },
    get http() {
      return listeners.http;
    },
    snapshot: () => monitor.snapshot(),
    answerable: (fqdn) => served.endpoints.get(fqdn)?.answerable,
    ready,
    left: leaving.left,
    reload: async () => (await reload()).length === 0,
    stop() {
      stopped ??= stopServer(parts);
      return stopped;
    },
  };
}

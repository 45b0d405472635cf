import { randomBytes } from "node:crypto";
import { createEventLog } from "./admin/event-log.js";
import { createEventStreams } from "./admin/event-stream.js";
import { createMetrics } from "./admin/metrics.js";
import type { Answerable } from "./health/answerable.js";
import type { Snapshot } from "./health/health.js";
import { createHealthMonitor } from "./health/monitor.js";
import { OverrideStore } from "./health/overrides.js";
import { createProbeFiles, systemFiles } from "./health/probes/files.js";
import { createRunProbe } from "./health/probes/probe.js";
import { createOpenTripwire } from "./health/probes/tripwire.js";
import { type Clock, systemClock } from "./lib/clock.js";
import type { SocketAddress } from "./lib/listening.js";
import type { Logger } from "./lib/logger.js";
import { VERSION } from "./lib/version.js";
import { adminEvents } from "./server/admin-events.js";
import { AdminListeners } from "./server/admin-listeners.js";
import { createAdminService } from "./server/admin-service.js";
import { certificateWarnings } from "./server/certificate-warnings.js";
import { Changes, monitorReports } from "./server/changes.js";
import { configWatching, createConfigWatch } from "./server/config-watcher.js";
import { createServedEndpoints } from "./server/endpoints.js";
import { eventLogging, logProblems } from "./server/event-logging.js";
import { eventMetrics } from "./server/event-metrics.js";
import { ServerEvents } from "./server/events.js";
import { becomeReady, DRAIN_MS, logStart, openSockets, stopServer } from "./server/lifecycle.js";
import { type Prepared, prepare } from "./server/load-zones.js";
import { metricsSource } from "./server/metric-rows.js";
import { describeHealth, HealthPersistence } from "./server/persistence.js";
import { createProbeHistory, historyKeeping } from "./server/probe-history.js";
import { ThreadPolicy } from "./server/query-policy.js";
import { applyConfiguration, createReload } from "./server/reload.js";
import { readSavedState } from "./server/saved-state.js";
import type { ServerState } from "./server/state.js";
import { tableDistribution } from "./server/table-distribution.js";
import { Leaving, type Predecessor } from "./server/takeover.js";
import { createWorkerPool } from "./transport/worker-pool.js";
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
  const state: ServerState = { startedMs, started: config, config, isReady: false, isStopping: false, lastReload };

  // Its threads keep the process alive, which no timer does.
  const pool = createWorkerPool({ workers: config.workers, log, currentZones: () => served.compile() });
  const events = new ServerEvents(clock, log);
  events.subscribe("log", eventLogging(log));
  const saved = await readSavedState(config.stateDir, clock, events);
  const served = createServedEndpoints(clock, saved.known);
  const changes = new Changes(served, events);
  const probeFiles = createProbeFiles(clock, systemFiles, (trouble) =>
    events.publish({ type: "probe-file-trouble", trouble }),
  );
  const monitor = createHealthMonitor({
    clock,
    random,
    runProbe: createRunProbe(clock, probeFiles),
    openTripwire: createOpenTripwire(probeFiles),
    recall: saved.known.recall,
    ...monitorReports(changes, events),
  });
  const snapshot = (): Snapshot => monitor.snapshot();
  const onError = (error: unknown): void => events.publish({ type: "state-not-saved", error });
  const overrides = new OverrideStore({
    clock,
    initial: saved.overrides,
    look(fqdn) {
      const [health, endpoint] = [snapshot().endpoints.get(fqdn), served.endpoints.get(fqdn)];
      return health && endpoint && { health, policy: endpoint.config, lastHealthy: endpoint.lastHealthy };
    },
    ...(saved.files && { save: saved.files.overrides.write }),
    onChange(change) {
      const { endpoint, target, ...override } = change.entry;
      monitor.setOverride(endpoint, target, change.action === "set" ? override : undefined);
      changes.override(change, snapshot());
      // Whoever has looked after a target and gives it back means it to start afresh.
      if (change.action === "cleared") monitor.clearFlaps(endpoint, target);
    },
    onSaveError: onError,
  });
  for (const { endpoint, target, ...override } of overrides.list()) monitor.setOverride(endpoint, target, override);

  const metrics = createMetrics(metricsSource(pool, served, monitor), { version: VERSION, transport: pool.transport });
  const history = createProbeHistory();
  const eventLog = createEventLog(clock, startedMs);
  const streams = createEventStreams(eventLog, clock);
  metrics.watchStreams(streams);
  metrics.reloaded(true, startedMs);
  const policy = new ThreadPolicy(pool, config.workers, randomBytes(SIPHASH_KEY_OCTETS));
  const persistence = new HealthPersistence({
    clock,
    file: saved.files?.last,
    collect: () => ({
      endpoints: describeHealth(snapshot(), (fqdn) => served.endpoints.get(fqdn)?.lastHealthy ?? []),
      zones: served.zones(),
    }),
    onError,
  });
  const configuration = { clock, state, events, pool, policy, served, monitor };
  const reload = createReload(file, configuration);
  const watch = createConfigWatch(clock, () => void reload());

  events.subscribe("tables", tableDistribution(pool));
  events.subscribe("query policy", policy.subscriber());
  events.subscribe("metrics", eventMetrics(metrics));
  events.subscribe("probe history", historyKeeping(history));
  events.subscribe("certificates", certificateWarnings(events, served));
  events.subscribe("admin events", adminEvents(eventLog));
  events.subscribe("persistence", persistence.subscriber());
  events.subscribe("configuration files", configWatching(watch));

  const leaving = new Leaving({ clock, log, pool, state });
  const service = createAdminService({
    clock,
    log,
    state,
    served,
    overrides,
    history,
    snapshot,
    reload,
    isIsolated: () => monitor.isolated,
    clearFlaps: (endpoint, target) => void monitor.clearFlaps(endpoint, target),
    leave: (successors) => leaving.leave(successors, DRAIN_MS),
  });
  const registry = metrics.registry;
  const source = { service, registry, events: eventLog, streams, log, requestServed: metrics.adminRequest };
  const listeners = new AdminListeners(source, clock);
  const { known } = saved;
  const parts = { clock, log, pool, state, events, monitor, served, overrides, persistence, listeners, watch, known };
  const savedOverrides = saved.files?.overrides.read;
  const lifecycle = { ...parts, ...(predecessor && { predecessor }), ...(savedOverrides && { savedOverrides }) };

  try {
    applyConfiguration(configuration, first, policy.read(config));
    await openSockets(lifecycle);
  } catch (error) {
    await pool.stop(0);
    throw error;
  }
  logStart(lifecycle);
  const ready = becomeReady(lifecycle);
  let stopped: Promise<void> | undefined;
  return {
    get listen() {
      return pool.addresses;
    },
    get http() {
      return listeners.http;
    },
    snapshot,
    answerable: (fqdn) => served.endpoints.get(fqdn)?.answerable,
    ready,
    left: leaving.left,
    reload: async () => (await reload()).length === 0,
    stop() {
      stopped ??= stopServer(lifecycle);
      return stopped;
    },
  };
}

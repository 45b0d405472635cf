import { randomBytes } from "node:crypto";
import { createMetrics, type MetricsSource } from "./admin/metrics.js";
import { ReloadRefusedError } from "./admin/service.js";
import type { Answerable } from "./health/answerable.js";
import { createCertificateWatch } from "./health/certificates.js";
import type { Snapshot } from "./health/health.js";
import { createHealthMonitor, type HealthMonitor } from "./health/monitor.js";
import { createOverrideBook } from "./health/overrides.js";
import { openKeptState } from "./health/persisted-state.js";
import { createProbeFiles } from "./health/probes/files.js";
import { createRunProbe } from "./health/probes/probe.js";
import { createOpenTripwire } from "./health/probes/tripwire.js";
import { systemClock } from "./lib/clock.js";
import { coalesce } from "./lib/coalesce.js";
import { formatProblem, messageOf } from "./lib/errors.js";
import { formatAddress, type SocketAddress } from "./lib/listening.js";
import type { Logger } from "./lib/logger.js";
import { VERSION } from "./lib/version.js";
import { createOperating } from "./server/admin-service.js";
import { createConfigWatch } from "./server/config-watcher.js";
import { createServedEndpoints } from "./server/endpoints.js";
import {
  labelsOf,
  logCertificate,
  logIsolation,
  logMode,
  logOverride,
  logProblems,
  logStateAlarm,
  logTransition,
} from "./server/event-logging.js";
import { ConfigurationError, type Prepared, prepare } from "./server/load-zones.js";
import { describeEndpoints, describeTargets } from "./server/metric-rows.js";
import { createRemembering, describeHealth } from "./server/persistence.js";
import { serviceTerms } from "./server/query-policy.js";
import { pendingSettings } from "./server/restart-only-settings.js";
import { createWorkerPool } from "./transport/worker-pool.js";
import { SIPHASH_KEY_OCTETS } from "./wire/siphash.js";

/** Milliseconds until queries are answered even if some target has no result yet. */
const FIRST_ROUND_LIMIT_MS = 3_000;

/** Milliseconds that connections get to finish at a stop, which takes less than 5 s in all. */
const DRAIN_MS = 3_000;

/** Milliseconds in which the reply to a successor is on its way before this process ends. */
const LEAVE_REPLY_MS = 100;

/** Stalls from this length on are worth a line in every log, milliseconds. */
const LOUD_STALL_MS = 1_000;

/** Milliseconds that a predecessor gets to close its admin listeners once it has left. */
const PREDECESSOR_CLOSES_MS = 2_000;

/** Milliseconds between tries to open an admin listener: at first, and later on. */
const ADMIN_RETRY_QUICK_MS = 50;
const ADMIN_RETRY_MS = 2_000;

/** A server on the same port that this one takes over from. */
export interface Predecessor {
  /**
   * Makes it leave the port to the sockets of this process, which listen already.
   *
   * @param threads of this process
   * @returns the threads it had, once it has answered everything; undefined if it has gone without saying
   */
  leave(threads: number): Promise<number | undefined>;
}

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
}

/**
 * Starts a server: the one place where configuration, health, answers and sockets are wired together.
 *
 * @throws ConfigurationError, UserError (a socket that cannot be opened)
 */
export async function startApp({ file, log, predecessor, first }: AppOptions): Promise<App> {
  const clock = systemClock;
  let prepared = first ?? prepare(file);
  const started = prepared.config;
  logProblems(log, prepared.warnings);

  let isReady = false;
  let isStopping = false;
  let haveLeft: () => void = () => {};
  const left = new Promise<void>((resolve) => {
    haveLeft = resolve;
  });
  const { stateDir } = prepared.config;
  const kept =
    stateDir === undefined
      ? undefined
      : openKeptState({ folder: stateDir, clock, onAlarm: (alarm) => logStateAlarm(log, alarm) });
  const remembering = await createRemembering({
    clock,
    file: kept?.last,
    collect: () => ({
      endpoints: describeHealth(monitor.snapshot(), (fqdn) => served.endpoints.get(fqdn)?.lastHealthy ?? []),
      zones: served.zones(),
    }),
    onError: (error) => log.error({ error: messageOf(error) }, "state not saved"),
  });
  const certificates = createCertificateWatch();
  const cookieSecret = randomBytes(SIPHASH_KEY_OCTETS);
  const served = createServedEndpoints(clock, remembering);
  const answering = createWorkerPool({ workers: prepared.config.workers, log, currentZones: () => served.compile() });
  const metrics = createMetrics(metricsSource(), { version: VERSION, transport: answering.transport });
  const files = createProbeFiles(clock);
  const monitor = createHealthMonitor({
    clock,
    random: Math.random,
    runProbe: createRunProbe(clock, files),
    openTripwire: createOpenTripwire(files),
    recall: remembering.recall,
    onIsolation(isolated) {
      answering.serve(termsOf(prepared, isolated));
      logIsolation(log, isolated);
      operating.isolationChanged(isolated);
    },
    onHold(fqdns, snapshot) {
      for (const fqdn of fqdns) follow(fqdn, snapshot);
    },
    onStall(lengthMs) {
      if (lengthMs >= LOUD_STALL_MS) log.warn({ stalledMs: Math.round(lengthMs) }, "process stalled");
    },
    onResult(report) {
      const { result, lagMs } = report;
      metrics.probeFinished({ class: result.class, durationMs: result.durationMs, lagMs });
      operating.probed(report);
      for (const warning of certificates.look(report, clock.wallMs())) {
        const endpoint = served.endpoints.get(warning.fqdn);
        if (endpoint !== undefined) logCertificate(log, endpoint, warning);
      }
    },
    onTransition(transitions, snapshot) {
      for (const fqdn of new Set(transitions.map((transition) => transition.fqdn))) follow(fqdn, snapshot);
      for (const transition of transitions) {
        const endpoint = served.endpoints.get(transition.fqdn);
        if (endpoint === undefined || transition.to === "unknown") continue;
        metrics.transition(labelsOf(endpoint, transition.target, transition.address), transition.to);
        logTransition(log, endpoint, transition);
      }
      operating.transitioned(transitions);
      remembering.changed();
    },
  });

  const overrides = createOverrideBook({
    clock,
    initial: (await kept?.overrides.read()) ?? [],
    look(fqdn) {
      const health = monitor.snapshot().endpoints.get(fqdn);
      const endpoint = served.endpoints.get(fqdn);
      return health && endpoint && { health, policy: endpoint.config, lastHealthy: endpoint.lastHealthy };
    },
    ...(kept === undefined ? {} : { save: kept.overrides.write }),
    onChange(change) {
      const { endpoint, target, ...override } = change.entry;
      monitor.setOverride(endpoint, target, change.action === "set" ? override : undefined);
      follow(endpoint, monitor.snapshot());
      logOverride(log, served.endpoints.get(endpoint), change);
      operating.overridden(change);
      // Whoever has looked after a target and gives it back means it to start afresh.
      if (change.action === "cleared") monitor.clearFlaps(endpoint, target);
    },
    onSaveError: (error) => log.error({ error: messageOf(error) }, "state not saved"),
  });
  for (const { endpoint, target, ...override } of overrides.list()) monitor.setOverride(endpoint, target, override);

  const operating = createOperating({
    clock,
    log,
    version: VERSION,
    metrics,
    served,
    overrides,
    snapshot: () => monitor.snapshot(),
    isReady: () => isReady,
    isIsolated: () => monitor.isolated,
    clearFlaps: (endpoint, target) => void monitor.clearFlaps(endpoint, target),
    async reload() {
      const problems = await reload();
      if (problems.length > 0) throw new ReloadRefusedError(problems);
    },
    needRestart: () => pendingSettings(started, prepared.config),
    async leave(threads) {
      log.info({ successors: threads }, "leaving the port to a successor");
      await answering.leave(threads, DRAIN_MS);
      // Behind the reply to whoever asked.
      setTimeout(haveLeft, LEAVE_REPLY_MS);
      return answering.threads;
    },
  });

  /** Lets answers follow what has changed of an endpoint. */
  function follow(fqdn: string, snapshot: Snapshot): void {
    const followed = served.follow(fqdn, snapshot);
    if (followed?.update !== undefined) answering.update(followed.update);
    if (followed !== undefined) operating.followed(followed);
    if (followed !== undefined && isReady && followed.before.mode !== followed.endpoint.answerable.mode)
      logMode(log, followed.endpoint);
  }

  function metricsSource(): MetricsSource {
    return {
      queryTotals: () => answering.totals(),
      socketTotals: () => answering.socketTotals(),
      targets: () => describeTargets(served, monitor.snapshot()),
      endpoints: () => describeEndpoints(served),
      zones: () => served.zones(),
      isIsolated: () => monitor.isolated,
    };
  }

  /** What the threads are told of whom to answer, and whether answers are those of before. @throws UserError */
  function termsOf({ config }: Prepared, isStale: boolean): ReturnType<typeof serviceTerms> {
    // Threads are as many as at the start.
    const terms = { ...config, workers: started.workers };
    return serviceTerms(terms, { transport: answering.transport, randomSecret: cookieSecret, isStale });
  }

  const watch = createConfigWatch(clock, () => void reload());

  /** Brings monitor and answers to a configuration that is known to be good. */
  function apply(next: Prepared): void {
    answering.serve(termsOf(next, monitor.isolated));
    monitor.configure(next.config.zones.flatMap((zone) => zone.endpoints));
    const snapshot = monitor.snapshot();
    answering.load(served.replace(next, snapshot));
    certificates.forget((fqdn, target, address) =>
      (snapshot.endpoints.get(fqdn)?.targets ?? []).some(
        (one) => one.id === target && one.addresses.some((other) => other.address === address),
      ),
    );
    void metrics.forgetGone();
    remembering.changed();
    watch.follow(next.config);
  }

  try {
    apply(prepared);
    // Queries for inherited sockets wait there, and are better answered a little late than met with silence.
    if (predecessor === undefined && !answering.hasInherited) await answering.listen(prepared.config.listen);
    if (predecessor === undefined) await operating.listen(prepared.config.admin);
  } catch (error) {
    await answering.stop(0);
    throw error;
  }
  metrics.reloaded(true, clock.wallMs());
  log.info(
    {
      version: VERSION,
      listen: answering.addresses.map(formatAddress),
      http: operating.http && formatAddress(operating.http),
      socket: prepared.config.admin.socket,
      zones: prepared.zones.length,
      endpoints: served.endpoints.size,
    },
    "server started",
  );

  if (remembering.ageMs !== undefined) {
    const { isFresh, ageMs } = remembering;
    log.info({ ageMs: Math.round(ageMs), isFresh }, isFresh ? "last health serves" : "last health is too old");
  }
  remembering.start();
  monitor.start();
  const ready = firstRound(monitor).then(async (isComplete) => {
    isReady = true;
    answering.setReady();
    if (predecessor !== undefined) await takeOver(predecessor);
    else if (answering.hasInherited) await answering.listen(prepared.config.listen);
    operating.becameReady();
    log.info({ isComplete, endpoints: served.endpoints.size }, "ready");
    for (const endpoint of served.endpoints.values())
      if (endpoint.answerable.mode !== "healthy") logMode(log, endpoint);
  });

  /** Listens beside a server that then leaves, and opens the admin listeners when that has closed its own. */
  async function takeOver({ leave }: Predecessor): Promise<void> {
    const { listen, admin } = prepared.config;
    await answering.listen(listen, true);
    answering.settle((await leave(answering.threads)) ?? answering.threads);
    // From here on nobody else answers: whatever is wrong with the admin listeners must not end this process.
    await openAdmin(admin, PREDECESSOR_CLOSES_MS);
    log.info({ listen: answering.addresses.map(formatAddress) }, "took the port over");
  }

  /** Opens the admin listeners, if need be later: tries quickly for a while, then says so and goes on slowly. */
  async function openAdmin(admin: Prepared["config"]["admin"], quicklyMs: number): Promise<void> {
    const loudMs = clock.monotonicMs() + quicklyMs;
    while (!isStopping) {
      try {
        return await operating.listen(admin);
      } catch (error) {
        if (clock.monotonicMs() >= loudMs) {
          log.error({ error: messageOf(error) }, "admin listener not open, trying again");
          clock.after(ADMIN_RETRY_MS, () => void openAdmin(admin, 0));
          return;
        }
        await new Promise<void>((resolve) => void clock.after(ADMIN_RETRY_QUICK_MS, resolve));
      }
    }
  }

  /** @returns what is wrong, as printed; empty when the configuration was taken */
  async function takeReload(): Promise<readonly string[]> {
    if (isStopping) return ["the server is stopping"];
    try {
      const next = prepare(file);
      // What can fail comes first, so that a configuration is taken as a whole or not at all.
      termsOf(next, monitor.isolated);
      await answering.listen(next.config.listen);
      if (isStopping) return ["the server is stopping"];
      apply(next);
      logProblems(log, next.warnings);
      prepared = next;
      for (const pending of pendingSettings(started, next.config))
        log.warn({ ...pending, remedy: "Restart livezone when it suits." }, "setting needs a restart");
      log.info(
        { zones: next.zones.length, endpoints: served.endpoints.size, listen: answering.addresses.map(formatAddress) },
        "configuration reloaded",
      );
      metrics.reloaded(true, clock.wallMs());
      operating.reloaded(true);
      return [];
    } catch (error) {
      const problems = error instanceof ConfigurationError ? error.problems : [];
      logProblems(log, problems);
      log.error({ error: messageOf(error), problems: problems.length }, "reload refused, the old configuration stays");
      metrics.reloaded(false, clock.wallMs());
      operating.reloaded(false);
      return problems.length > 0 ? problems.map(formatProblem) : [messageOf(error)];
    }
  }

  const reload = coalesce(takeReload);
  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    isStopping = true;
    watch.stop();
    monitor.stop();
    await overrides.stop();
    await remembering.stop();
    await Promise.all([answering.stop(DRAIN_MS), operating.stop(DRAIN_MS)]);
    log.info({}, "server stopped");
  }

  return {
    get listen() {
      return answering.addresses;
    },
    get http() {
      return operating.http;
    },
    snapshot: () => monitor.snapshot(),
    answerable: (fqdn) => served.endpoints.get(fqdn)?.answerable,
    ready,
    left,
    reload: async () => (await reload()).length === 0,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** Resolves with whether every target has a result, or the time for it has passed. */
async function firstRound(monitor: HealthMonitor): Promise<boolean> {
  const limit = new Promise<boolean>((resolve) => {
    systemClock.after(FIRST_ROUND_LIMIT_MS, () => resolve(false));
  });
  return Promise.race([monitor.firstRound.then(() => true), limit]);
}

import { openAdminHttp } from "./admin/http.js";
import { createMetrics, type MetricsSource, type TargetRow } from "./admin/metrics.js";
import type { Answerable } from "./health/answerable.js";
import type { Snapshot } from "./health/health.js";
import { createHealthMonitor, type HealthMonitor } from "./health/monitor.js";
import { createProbeFiles } from "./health/probes/files.js";
import { createRunProbe } from "./health/probes/probe.js";
import { systemClock } from "./lib/clock.js";
import { messageOf } from "./lib/errors.js";
import { formatAddress, type Listening, type SocketAddress } from "./lib/listening.js";
import type { Logger } from "./lib/logger.js";
import { VERSION } from "./lib/version.js";
import { ConfigurationError, type Prepared, prepare } from "./prepare.js";
import { createServedEndpoints, isAnswerable, type ServedEndpoints } from "./serving/endpoints.js";
import { labelsOf, logMode, logProblems, logTransition } from "./serving/events.js";
import { createAnswering } from "./transport/answering.js";

/** Milliseconds until queries are answered even if some target has no result yet. */
const FIRST_ROUND_LIMIT_MS = 3_000;

/** Milliseconds that connections get to finish at a stop, which takes less than 5 s in all. */
const DRAIN_MS = 3_000;

/** A running server. */
export interface App {
  /** Where DNS is served, over UDP and TCP alike; the real ports. */
  readonly listen: readonly SocketAddress[];
  /** Where the admin HTTP listens. */
  readonly http?: SocketAddress;
  /** The picture of health now. */
  snapshot(): Snapshot;
  /** What an endpoint answers now, by its fqdn. */
  answerable(fqdn: string): Answerable | undefined;
  /** Resolves when queries are answered. */
  readonly ready: Promise<void>;
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
}

/**
 * Starts a server: the one place where configuration, health, answers and sockets are wired together.
 *
 * @throws ConfigurationError, UserError (a socket that cannot be opened)
 */
export async function startApp({ file, log }: AppOptions): Promise<App> {
  const clock = systemClock;
  let prepared = prepare(file);
  logProblems(log, prepared.warnings);

  let isReady = false;
  const served = createServedEndpoints(clock);
  const answering = createAnswering({ workers: prepared.config.workers, log, currentZones: () => served.compile() });
  const metrics = createMetrics(metricsSource(), { version: VERSION, transport: answering.transport });
  const monitor = createHealthMonitor({
    clock,
    random: Math.random,
    runProbe: createRunProbe(clock, createProbeFiles(clock)),
    onResult: ({ result, lagMs }) =>
      metrics.probeFinished({ class: result.class, durationMs: result.durationMs, lagMs }),
    onTransition(transitions, snapshot) {
      for (const fqdn of new Set(transitions.map((transition) => transition.fqdn))) {
        const followed = served.follow(fqdn, snapshot);
        if (followed?.update !== undefined) answering.update(followed.update);
        if (followed !== undefined && isReady && followed.before.mode !== followed.endpoint.answerable.mode)
          logMode(log, followed.endpoint);
      }
      for (const transition of transitions) {
        const endpoint = served.endpoints.get(transition.fqdn);
        if (endpoint === undefined || transition.to === "unknown") continue;
        metrics.transition(labelsOf(endpoint, transition.target, transition.address), transition.to);
        logTransition(log, endpoint, transition);
      }
    },
  });

  function metricsSource(): MetricsSource {
    return {
      queryTotals: () => answering.totals(),
      socketTotals: () => answering.socketTotals(),
      targets: () => describeTargets(served, monitor.snapshot()),
      endpoints: () => describeEndpoints(served),
      zones: () => served.zones(),
    };
  }

  /** Brings monitor and answers to a configuration that is known to be good. */
  function apply(next: Prepared): void {
    monitor.configure(next.config.zones.flatMap((zone) => zone.endpoints));
    answering.load(served.replace(next, monitor.snapshot()));
  }

  let http: Listening | undefined;
  try {
    apply(prepared);
    await answering.listen(prepared.config.listen);
    if (prepared.config.admin.http !== undefined) {
      http = await openAdminHttp(prepared.config.admin.http, { registry: metrics.registry, isReady: () => isReady });
    }
  } catch (error) {
    await answering.stop(0);
    throw error;
  }
  metrics.reloaded(true, clock.wallMs());
  log.info(
    {
      version: VERSION,
      listen: answering.addresses.map(formatAddress),
      http: http && formatAddress(http.address),
      zones: prepared.zones.length,
      endpoints: served.endpoints.size,
    },
    "server started",
  );

  monitor.start();
  const ready = firstRound(monitor).then((isComplete) => {
    isReady = true;
    answering.setReady();
    log.info({ isComplete, endpoints: served.endpoints.size }, "ready");
    for (const endpoint of served.endpoints.values())
      if (endpoint.answerable.mode !== "healthy") logMode(log, endpoint);
  });

  async function takeReload(): Promise<boolean> {
    try {
      const next = prepare(file);
      await answering.listen(next.config.listen);
      apply(next);
      logProblems(log, next.warnings);
      if (JSON.stringify(next.config.admin) !== JSON.stringify(prepared.config.admin))
        log.warn({ setting: "admin" }, "setting needs a restart");
      prepared = next;
      log.info(
        { zones: next.zones.length, endpoints: served.endpoints.size, listen: answering.addresses.map(formatAddress) },
        "configuration reloaded",
      );
      metrics.reloaded(true, clock.wallMs());
      return true;
    } catch (error) {
      const problems = error instanceof ConfigurationError ? error.problems : [];
      logProblems(log, problems);
      log.error({ error: messageOf(error), problems: problems.length }, "reload refused, the old configuration stays");
      metrics.reloaded(false, clock.wallMs());
      return false;
    }
  }

  // One at a time: a second signal during a reload waits for the first.
  let reloading: Promise<boolean> = Promise.resolve(true);
  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    monitor.stop();
    await Promise.all([answering.stop(DRAIN_MS), http?.stop(DRAIN_MS)]);
    log.info({}, "server stopped");
  }

  return {
    get listen() {
      return answering.addresses;
    },
    ...(http === undefined ? {} : { http: http.address }),
    snapshot: () => monitor.snapshot(),
    answerable: (fqdn) => served.endpoints.get(fqdn)?.answerable,
    ready,
    reload() {
      reloading = reloading.then(takeReload);
      return reloading;
    },
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

function* describeTargets({ endpoints }: ServedEndpoints, snapshot: Snapshot): Generator<TargetRow> {
  for (const [fqdn, served] of endpoints) {
    for (const { id, addresses } of snapshot.endpoints.get(fqdn)?.targets ?? []) {
      for (const { address, health, last } of addresses) {
        yield {
          ...labelsOf(served, id, address),
          isUp: health === "up",
          isAnswerable: isAnswerable(served.answerable, id, address),
          ...(last?.certificateExpiryMs === undefined ? {} : { certificateExpiryMs: last.certificateExpiryMs }),
        };
      }
    }
  }
}

function describeEndpoints({ endpoints }: ServedEndpoints): ReturnType<MetricsSource["endpoints"]> {
  return [...endpoints.values()].map(({ zone, config, answerable }) => ({
    zone: zone.zone,
    endpoint: config.name,
    answerableTargets: new Set(answerable.addresses.map(({ target }) => target)).size,
    isFailOpen: answerable.mode === "fail-open",
  }));
}

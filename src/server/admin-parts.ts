import { createEventLog, type EventLog } from "../admin/event-ring.js";
import { createEventStreams } from "../admin/event-stream.js";
import { createMetrics, type Metrics } from "../admin/metrics.js";
import type { Clock } from "../lib/clock.js";
import type { Logger } from "../lib/logger.js";
import { VERSION } from "../lib/version.js";
import type { Notifier } from "../transfer/notifier.js";
import type { WorkerPool } from "../transport/worker-pool.js";
import { AdminListeners } from "./admin-listeners.js";
import { createAdminService } from "./admin-service.js";
import { AnswerHistory } from "./answer-history.js";
import type { Discovery } from "./discovery.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { HealthParts } from "./health-parts.js";
import { DRAIN_MS } from "./lifecycle.js";
import { metricsSource } from "./metric-rows.js";
import { createProbeHistory, type ProbeHistory } from "./probe-history.js";
import { QueryHistory } from "./query-history.js";
import { SecondaryViews } from "./secondary-views.js";
import { siblingsShown } from "./sibling-views.js";
import type { SiblingParts } from "./siblings.js";
import type { ServerState } from "./state.js";
import type { Leaving } from "./takeover.js";

/** What the parts for operators are built from. */
export interface AdminPartsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly state: ServerState;
  readonly pool: WorkerPool;
  readonly served: ServedEndpoints;
  readonly health: HealthParts;
  readonly discovery: Discovery;
  /** Absent = there are none. */
  readonly siblings: SiblingParts | undefined;
  readonly leaving: Leaving;
  readonly notifier: Pick<Notifier, "states">;
  /** @returns what is wrong with the configuration, as printed; empty if it was taken */
  reload(): Promise<readonly string[]>;
}

/** What operators see and act by. */
export interface AdminParts {
  readonly metrics: Metrics;
  readonly history: ProbeHistory;
  readonly answerHistory: AnswerHistory;
  readonly eventLog: EventLog;
  readonly listeners: AdminListeners;
  readonly secondaryViews: SecondaryViews;
}

/** Builds metrics, probe history, event log, and the service behind the listeners. */
export function buildAdminParts(options: AdminPartsOptions): AdminParts {
  const { clock, log, state, pool, served, siblings, discovery, leaving, reload } = options;
  const secondaryViews = new SecondaryViews(options.notifier);
  const { monitor, overrides, sight } = options.health;
  const shown = siblingsShown({ parts: siblings, monitor, sight, state, served });
  const metrics = createMetrics(metricsSource(pool, served, monitor, discovery, shown, secondaryViews), {
    version: VERSION,
    transport: pool.transport,
  });
  const history = createProbeHistory();
  const answerHistory = new AnswerHistory();
  const queryHistory = new QueryHistory(
    clock,
    () => pool.totals(),
    () => state.isStopping,
  );
  const eventLog = createEventLog(clock, state.startedMs);
  const streams = createEventStreams(eventLog, clock);
  metrics.watchStreams(streams);
  metrics.reloaded(true, state.startedMs);
  const service = createAdminService({
    clock,
    log,
    state,
    served,
    overrides,
    history,
    answerHistory,
    queryHistory,
    discoveredOf: (fqdn) => discovery.endpoint(fqdn),
    reload,
    snapshot: () => monitor.snapshot(),
    ...shown,
    secondaries: () => secondaryViews.status(),
    clearFlaps: (endpoint, target) => void monitor.clearFlaps(endpoint, target),
    leave: (successors) => leaving.leave(successors, DRAIN_MS),
  });
  const { registry, adminRequest: requestServed } = metrics;
  const listeners = new AdminListeners({ service, registry, events: eventLog, streams, log, requestServed }, clock);
  return { metrics, history, answerHistory, eventLog, listeners, secondaryViews };
}

import type { EventLog } from "../admin/event-ring.js";
import type { Metrics } from "../admin/metrics.js";
import type { CompiledZones } from "../answers/compiled-zones.js";
import type { DatagramExchange } from "../transfer/datagrams.js";
import type { Notifier } from "../transfer/notifier.js";
import type { TransferService } from "../transfer/service.js";
import type { WorkerPool } from "../transport/worker-pool.js";
import { adminEvents } from "./admin-events.js";
import type { AnswerHistory } from "./answer-history.js";
import { certificateWarnings } from "./certificate-warnings.js";
import { clockSuspecting } from "./clock-suspecting.js";
import { type ConfigWatch, configWatching } from "./config-watcher.js";
import type { Discovery } from "./discovery.js";
import type { ServedEndpoints } from "./endpoints.js";
import { eventMetrics } from "./event-metrics.js";
import type { ServerEvents, Subscriber } from "./events.js";
import type { HealthPersistence } from "./persistence.js";
import { historyKeeping, type ProbeHistory } from "./probe-history.js";
import type { ThreadPolicy } from "./query-policy.js";
import { notifying } from "./secondaries.js";
import type { SecondaryViews } from "./secondary-views.js";
import type { SerialReservations } from "./serial-reservations.js";
import type { SiblingSightOf } from "./sibling-sight.js";
import type { SiblingParts } from "./siblings.js";
import { tableDistribution } from "./table-distribution.js";
import { zoneJournals } from "./transfers.js";

/** What subscribers act on. */
export interface SubscriberParts {
  readonly pool: WorkerPool;
  readonly tables: CompiledZones;
  readonly policy: ThreadPolicy;
  readonly transfers: TransferService;
  readonly serials: SerialReservations;
  readonly notifier: Notifier;
  readonly exchange: DatagramExchange;
  readonly metrics: Metrics;
  readonly history: ProbeHistory;
  readonly answerHistory: AnswerHistory;
  readonly served: ServedEndpoints;
  readonly eventLog: EventLog;
  readonly secondaryViews: SecondaryViews;
  readonly persistence: HealthPersistence;
  readonly watch: ConfigWatch;
  readonly discovery: Discovery;
  readonly sight: SiblingSightOf;
  /** Absent = there are none. */
  readonly siblings: SiblingParts | undefined;
}

/** Subscribes every part that follows the events, in the order in which they are told. A new one is one entry more. */
export function subscribeParts(events: ServerEvents, parts: SubscriberParts): void {
  const subscribers: Readonly<Record<string, Subscriber>> = {
    // First, since queries wait for nothing else.
    tables: tableDistribution(parts.pool, parts.tables),
    "query policy": parts.policy.subscriber(),
    serials: parts.serials.subscriber(),
    journals: zoneJournals(parts.transfers),
    // Behind the answers, since a secondary asks at once.
    secondaries: notifying(parts.notifier, parts.exchange),
    metrics: eventMetrics(parts.metrics),
    "probe history": historyKeeping(parts.history),
    "answer history": parts.answerHistory.subscriber(),
    certificates: certificateWarnings(events, parts.served),
    clock: clockSuspecting(events),
    "admin events": adminEvents(parts.eventLog),
    "views of secondaries": parts.secondaryViews.subscriber(),
    persistence: parts.persistence.subscriber(),
    discovery: parts.discovery.subscriber(),
    "configuration files": configWatching(parts.watch),
    "sight of siblings": parts.sight.subscriber(),
    ...(parts.siblings && {
      siblings: parts.siblings.subscriber(),
      primaries: parts.siblings.primaries.subscriber(),
    }),
  };
  for (const [name, subscriber] of Object.entries(subscribers)) events.subscribe(name, subscriber);
}

import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { z } from "zod";
import { RESULT_CLASSES, type ResultClass } from "../health/health.js";
import type { MetricsSource, TargetLabels } from "./metrics-source.js";
import {
  countAtScrape,
  readAtScrape,
  registerEndpointMetrics,
  registerProcessMetrics,
  registerQueryMetrics,
  registerSecondaryMetrics,
  registerSiblingMetrics,
  registerSourceMetrics,
  registerTargetMetrics,
  TARGET_LABELS,
} from "./scraped-metrics.js";
import { transferKind } from "./secondary-schemas.js";

/** HTTP statuses of the admin API. */
const REPLY_STATUSES = [200, 204, 400, 401, 403, 404, 409, 413, 415, 421, 500, 503] as const;

/** What an address may change to, as a transition is labelled. */
const TRANSITIONS = ["up", "down"] as const;

/** The metrics of one server, in a registry of their own. */
export interface Metrics {
  readonly registry: Registry;
  probeFinished(probe: { readonly class: ResultClass; readonly durationMs: number; readonly lagMs: number }): void;
  transition(labels: TargetLabels, to: "up" | "down"): void;
  /** The targets are other ones: ends the series of those that have gone, or they would add up over the years. */
  targetsReplaced(): void;
  transferFinished(kind: z.output<typeof transferKind>, isComplete: boolean): void;
  adminRequest(request: { readonly entry: string; readonly status: number }): void;
  /** Shows the streams of events from now on. */
  watchStreams(streams: { readonly subscribers: number; readonly dropped: number }): void;
  reloaded(isSuccess: boolean, wallMs: number): void;
}

/** Sets up all metrics; values that somebody else keeps are read from `source` when scraped. */
export function createMetrics(
  source: MetricsSource,
  build: { readonly version: string; readonly transport: string },
): Metrics {
  const registry = new Registry();
  registerQueryMetrics(registry, source);
  registerTargetMetrics(registry, source);
  registerEndpointMetrics(registry, source);
  registerSourceMetrics(registry, source);
  registerSiblingMetrics(registry, source);
  registerSecondaryMetrics(registry, source);
  registerProcessMetrics(registry, build);
  const { results, duration, lag, transitions, transfers, adminRequests, reloadSuccess, reloadTime } =
    createCounted(registry);
  /** Targets that have series, by their labels. */
  let known: ReadonlyMap<string, TargetLabels> = new Map();
  return {
    registry,
    probeFinished(probe) {
      results.inc({ class: probe.class });
      duration.observe(probe.durationMs / 1000);
      lag.observe(probe.lagMs / 1000);
    },
    transition: ({ zone, endpoint, target, address }, to) => transitions.inc({ zone, endpoint, target, address, to }),
    targetsReplaced() {
      const before = known;
      known = new Map([...source.targets()].map((row) => [keyOf(row), row]));
      for (const [key, { zone, endpoint, target, address }] of known) {
        if (before.has(key)) continue;
        for (const to of TRANSITIONS) transitions.inc({ zone, endpoint, target, address, to }, 0);
      }
      for (const [key, { zone, endpoint, target, address }] of before) {
        if (known.has(key)) continue;
        for (const to of TRANSITIONS) transitions.remove({ zone, endpoint, target, address, to });
      }
    },
    transferFinished: (kind, isComplete) => transfers.inc({ kind, outcome: isComplete ? "complete" : "cut" }),
    adminRequest: ({ entry, status }) => adminRequests.inc({ entry, status: String(status) }),
    watchStreams(streams) {
      readAtScrape(registry, "livezone_event_subscribers", "Readers of the stream of events.", [], () => [
        { labels: {}, value: streams.subscribers },
      ]);
      const help = "Readers of events that were too slow.";
      countAtScrape(registry, "livezone_event_subscribers_dropped_total", help, [], () => [
        { labels: {}, value: streams.dropped },
      ]);
    },
    reloaded(isSuccess, wallMs) {
      reloadSuccess.set(Number(isSuccess));
      if (isSuccess) reloadTime.set(wallMs / 1000);
    },
  };
}

function keyOf({ zone, endpoint, target, address }: TargetLabels): string {
  return `${zone} ${endpoint} ${target} ${address}`;
}

/** What is counted as it happens. Every series that is known beforehand begins at 0. */
function createCounted(registry: Registry) {
  const registers = [registry];
  const results = new Counter({
    name: "livezone_probe_results_total",
    help: "Finished probes, by class of result.",
    labelNames: ["class"] as const,
    registers,
  });
  const duration = new Histogram({
    name: "livezone_probe_duration_seconds",
    help: "Time a probe took.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
    registers,
  });
  const lag = new Histogram({
    name: "livezone_prober_lag_seconds",
    help: "Time by which a probe started after its due moment.",
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  });
  const transitions = new Counter({
    name: "livezone_target_transitions_total",
    help: "Changes of an address's health.",
    labelNames: [...TARGET_LABELS, "to"] as const,
    registers,
  });
  const transfers = new Counter({
    name: "livezone_transfers_total",
    help: "Transfers of zones to secondaries that have ended.",
    labelNames: ["kind", "outcome"] as const,
    registers,
  });
  const adminRequests = new Counter({
    name: "livezone_admin_requests_total",
    help: "Requests to the admin API, by way in and HTTP status.",
    labelNames: ["entry", "status"] as const,
    registers,
  });
  const reloadSuccess = new Gauge({
    name: "livezone_config_last_reload_success",
    help: "Whether the newest configuration was taken.",
    registers,
  });
  const reloadTime = new Gauge({
    name: "livezone_config_last_reload_success_timestamp_seconds",
    help: "When a configuration was last taken.",
    registers,
  });

  for (const name of RESULT_CLASSES) results.inc({ class: name }, 0);
  for (const entry of ["socket", "http"]) {
    for (const status of REPLY_STATUSES) adminRequests.inc({ entry, status: String(status) }, 0);
  }
  for (const kind of transferKind.options) {
    for (const outcome of ["complete", "cut"]) transfers.inc({ kind, outcome }, 0);
  }
  return { results, duration, lag, transitions, transfers, adminRequests, reloadSuccess, reloadTime };
}

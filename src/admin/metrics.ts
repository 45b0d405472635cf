import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type OverrideKind, RESULT_CLASSES, type ResultClass } from "../health/health.js";
import { lostLogLines } from "../lib/logger.js";
import type { QueryTotals } from "../query/counters.js";
import { rcodeText } from "../wire/constants.js";

/** HTTP statuses of the admin API. */
const REPLY_STATUSES = [200, 204, 400, 401, 403, 404, 409, 413, 415, 421, 500, 503] as const;

/** What an address may change to, as a transition is labelled. */
const TRANSITIONS = ["up", "down"] as const;

/** What every series about a target is labelled with. */
export interface TargetLabels {
  readonly zone: string;
  /** Name in the zone: `api`, `@`. */
  readonly endpoint: string;
  readonly target: string;
  readonly address: string;
}

/** One address of a target as the gauges show it. */
export interface TargetRow extends TargetLabels {
  readonly isUp: boolean;
  readonly isAnswerable: boolean;
  /** What an operator said; absent = nothing. */
  readonly override?: OverrideKind;
  /** Milliseconds since 1970; absent without TLS. */
  readonly certificateExpiryMs?: number;
}

/** The picture behind the gauges, read at a scrape. */
export interface MetricsSource {
  queryTotals(): QueryTotals;
  /** Counters of the UDP sockets. */
  socketTotals(): {
    readonly kernelDrops: number;
    readonly sendErrors: number;
    readonly sendBlocked: number;
    readonly receiveErrors: number;
  };
  targets(): Iterable<TargetRow>;
  endpoints(): Iterable<{
    readonly zone: string;
    readonly endpoint: string;
    readonly answerableTargets: number;
    readonly isFailOpen: boolean;
    /** How many it has. */
    readonly targets: number;
  }>;
  zones(): Iterable<{ readonly zone: string; readonly serial: number }>;
  /** Whether the prober is presumed cut off. */
  isIsolated(): boolean;
}

/** The metrics of one server, in a registry of their own. */
export interface Metrics {
  readonly registry: Registry;
  probeFinished(probe: { readonly class: ResultClass; readonly durationMs: number; readonly lagMs: number }): void;
  transition(labels: TargetLabels, to: "up" | "down"): void;
  /** The targets are other ones: ends the series of those that have gone, or they would add up over the years. */
  targetsReplaced(): void;
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
  const registers = [registry];
  const targetLabels = ["zone", "endpoint", "target", "address"] as const;
  const endpointLabels = ["zone", "endpoint"] as const;

  /** A counter that somebody else counts: set to the sum at every scrape. */
  const mirrored = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    rows: () => Iterable<{ labels: Record<L, string>; value: number }>,
  ): void => {
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const { labels, value } of rows()) this.inc(labels, value);
      },
    });
  };
  /** A gauge that is read anew at every scrape, so that what has gone leaves no series behind. */
  const read = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    rows: () => Iterable<{ labels: Record<L, string>; value: number }>,
  ): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const { labels, value } of rows()) this.set(labels, value);
      },
    });
  };

  mirrored("livezone_dns_queries_total", "Queries received.", ["transport", "type"], () =>
    source.queryTotals().queries.map(({ transport, type, count }) => ({ labels: { transport, type }, value: count })),
  );
  mirrored("livezone_dns_responses_total", "Responses sent, by response code.", ["rcode"], () =>
    source
      .queryTotals()
      .responses.map(({ rcode, count }) => ({ labels: { rcode: rcodeText(rcode) }, value: count }))
      // A code without a name is one that livezone never sends on its own.
      .filter(({ labels, value }) => value > 0 || !labels.rcode.startsWith("RCODE")),
  );
  mirrored("livezone_dns_dropped_total", "Messages that got no reply.", ["reason"], () =>
    source.queryTotals().dropped.map(({ reason, count }) => ({ labels: { reason }, value: count })),
  );
  mirrored("livezone_log_lines_lost_total", "Log lines that could not be written.", [], () => [
    { labels: {}, value: lostLogLines() },
  ]);
  mirrored("livezone_dns_truncated_total", "Responses sent with TC, to be asked again over TCP.", [], () => [
    { labels: {}, value: source.queryTotals().truncated },
  ]);
  const socketCounter = (name: string, help: string, key: keyof ReturnType<MetricsSource["socketTotals"]>): void =>
    mirrored(name, help, [], () => [{ labels: {}, value: source.socketTotals()[key] }]);
  socketCounter("livezone_udp_kernel_drops_total", "Datagrams that found the receive buffer full.", "kernelDrops");
  socketCounter("livezone_udp_send_errors_total", "Replies that the kernel refused to send.", "sendErrors");
  socketCounter("livezone_udp_send_blocked_total", "Replies dropped since the send buffer was full.", "sendBlocked");
  socketCounter("livezone_udp_receive_errors_total", "Errors of UDP sockets, ICMP among them.", "receiveErrors");
  read("livezone_target_up", "Whether the probes find the address up.", targetLabels, function* () {
    for (const { zone, endpoint, target, address, isUp } of source.targets())
      yield { labels: { zone, endpoint, target, address }, value: Number(isUp) };
  });
  read("livezone_target_answerable", "Whether the address goes into answers.", targetLabels, function* () {
    for (const { zone, endpoint, target, address, isAnswerable } of source.targets())
      yield { labels: { zone, endpoint, target, address }, value: Number(isAnswerable) };
  });
  read("livezone_target_override", "Whether an operator's word holds.", [...targetLabels, "kind"], function* () {
    for (const { zone, endpoint, target, address, override } of source.targets()) {
      if (override !== undefined) yield { labels: { zone, endpoint, target, address, kind: override }, value: 1 };
    }
  });
  read("livezone_prober_isolated", "Whether the prober is presumed cut off, so that answers are held.", [], () => [
    { labels: {}, value: Number(source.isIsolated()) },
  ]);
  read(
    "livezone_certificate_expiry_timestamp_seconds",
    "End of validity of the certificate that the address presented last.",
    targetLabels,
    function* () {
      for (const { zone, endpoint, target, address, certificateExpiryMs } of source.targets()) {
        if (certificateExpiryMs !== undefined)
          yield { labels: { zone, endpoint, target, address }, value: certificateExpiryMs / 1000 };
      }
    },
  );
  read("livezone_endpoint_answerable_targets", "Targets in the endpoint's answer.", endpointLabels, function* () {
    for (const { zone, endpoint, answerableTargets } of source.endpoints())
      yield { labels: { zone, endpoint }, value: answerableTargets };
  });
  read(
    "livezone_endpoint_fail_open",
    "Whether the endpoint answers by whenAllDown, since too few targets are up.",
    endpointLabels,
    function* () {
      for (const { zone, endpoint, isFailOpen } of source.endpoints())
        yield { labels: { zone, endpoint }, value: Number(isFailOpen) };
    },
  );
  read("livezone_zone_serial", "SOA serial that is published.", ["zone"], function* () {
    for (const { zone, serial } of source.zones()) yield { labels: { zone }, value: serial };
  });
  const info = <L extends string>(name: string, help: string, labels: Record<L, string>): void => {
    new Gauge({ name, help, labelNames: Object.keys(labels) as L[], registers }).set(labels, 1);
  };
  read("livezone_endpoint_targets", "Targets that the endpoint has.", endpointLabels, function* () {
    for (const { zone, endpoint, targets } of source.endpoints()) yield { labels: { zone, endpoint }, value: targets };
  });
  // The names under which every Prometheus client library shows these.
  read("process_start_time_seconds", "Start time of the process since the epoch.", [], () => [
    { labels: {}, value: (Date.now() - performance.now()) / 1000 },
  ]);
  read("process_resident_memory_bytes", "Resident memory size.", [], () => [
    { labels: {}, value: process.memoryUsage.rss() },
  ]);
  mirrored("process_cpu_seconds_total", "User and system CPU time, all threads together.", [], () => {
    const { user, system } = process.cpuUsage();
    return [{ labels: {}, value: (user + system) / 1e6 }];
  });
  info("livezone_build_info", "Constant 1, labelled with what is running.", {
    version: build.version,
    node: process.versions.node,
  });
  info("livezone_transport_info", "Constant 1, labelled with what carries UDP.", { transport: build.transport });

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
    labelNames: [...targetLabels, "to"] as const,
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

  /** Targets that have series, by their labels. */
  let known: ReadonlyMap<string, TargetLabels> = new Map();
  for (const name of RESULT_CLASSES) results.inc({ class: name }, 0);
  for (const entry of ["socket", "http"]) {
    for (const status of REPLY_STATUSES) adminRequests.inc({ entry, status: String(status) }, 0);
  }

  return {
    registry,
    probeFinished(probe) {
      results.inc({ class: probe.class });
      duration.observe(probe.durationMs / 1000);
      lag.observe(probe.lagMs / 1000);
    },
    transition: ({ zone, endpoint, target, address }, to) => transitions.inc({ zone, endpoint, target, address, to }),
    targetsReplaced() {
      const key = ({ zone, endpoint, target, address }: TargetLabels) => `${zone} ${endpoint} ${target} ${address}`;
      const before = known;
      known = new Map([...source.targets()].map((row) => [key(row), row]));
      for (const [name, { zone, endpoint, target, address }] of known) {
        if (before.has(name)) continue;
        for (const to of TRANSITIONS) transitions.inc({ zone, endpoint, target, address, to }, 0);
      }
      for (const [name, { zone, endpoint, target, address }] of before) {
        if (known.has(name)) continue;
        for (const to of TRANSITIONS) transitions.remove({ zone, endpoint, target, address, to });
      }
    },
    adminRequest: ({ entry, status }) => adminRequests.inc({ entry, status: String(status) }),
    watchStreams(streams) {
      read("livezone_event_subscribers", "Readers of the stream of events.", [], () => [
        { labels: {}, value: streams.subscribers },
      ]);
      mirrored("livezone_event_subscribers_dropped_total", "Readers of events that were too slow.", [], () => [
        { labels: {}, value: streams.dropped },
      ]);
    },
    reloaded(isSuccess, wallMs) {
      reloadSuccess.set(Number(isSuccess));
      if (isSuccess) reloadTime.set(wallMs / 1000);
    },
  };
}

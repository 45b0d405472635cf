import { Counter, Gauge, type Registry } from "prom-client";
import { lostLogLines } from "../lib/logger.js";
import { rcodeText } from "../wire/constants.js";
import type { MetricsSource, SecondaryRow, SourceRow } from "./metrics-source.js";

/** Labels of every series about a target, and about an endpoint. */
export const TARGET_LABELS = ["zone", "endpoint", "target", "address"] as const;
const ENDPOINT_LABELS = ["zone", "endpoint"] as const;

type SiblingRow = ReturnType<NonNullable<MetricsSource["siblings"]>> extends Iterable<infer R> ? R : never;

/** One series as it is at a scrape. */
interface Row<L extends string> {
  readonly labels: Record<L, string>;
  readonly value: number;
}

/** A counter that somebody else counts: set to the sum at every scrape. */
export function countAtScrape<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[],
  rows: () => Iterable<Row<L>>,
): void {
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, value } of rows()) this.inc(labels, value);
    },
  });
}

/** A gauge that is read anew at every scrape, so that what has gone leaves no series behind. */
export function readAtScrape<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[],
  rows: () => Iterable<Row<L>>,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, value } of rows()) this.set(labels, value);
    },
  });
}

/** Other servers of the same zones; no series without any. */
export function registerSiblingMetrics(registry: Registry, source: MetricsSource): void {
  const rows = (value: (row: SiblingRow) => number | undefined) => () =>
    [...(source.siblings?.() ?? [])].flatMap((row) => {
      const one = value(row);
      return one === undefined ? [] : [{ labels: { sibling: row.sibling }, value: one }];
    });
  const gauge = (name: string, help: string, value: (row: SiblingRow) => number | undefined): void =>
    readAtScrape(registry, name, help, ["sibling"], rows(value));
  gauge("livezone_sibling_fresh", "Whether what the sibling says counts.", ({ isFresh }) => Number(isFresh));
  gauge("livezone_sibling_clock_difference_seconds", "By how much the sibling's clock is ahead.", (row) =>
    row.clockDifferenceMs === undefined ? undefined : row.clockDifferenceMs / 1_000,
  );
  gauge("livezone_sibling_zones_differ", "Zones whose configuration is another one there.", (row) => row.zonesDiffer);
}

/** Secondaries of each zone; no series without any. */
export function registerSecondaryMetrics(registry: Registry, source: MetricsSource): void {
  const gauge = (name: string, help: string, read: (row: SecondaryRow) => number | undefined): void =>
    readAtScrape(registry, name, help, ["zone", "secondary"], function* () {
      for (const row of source.secondaries?.() ?? []) {
        const value = read(row);
        if (value !== undefined) yield { labels: { zone: row.zone, secondary: row.secondary }, value };
      }
    });
  const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1_000);
  gauge("livezone_secondary_current", "Whether the secondary is known to have the present serial.", (row) =>
    Number(row.isCurrent),
  );
  gauge(
    "livezone_secondary_lag_seconds",
    "Time since the first change that the secondary is not known to have.",
    (row) => seconds(row.lagMs),
  );
  gauge("livezone_secondary_serial", "SOA serial that the secondary told last.", (row) => row.serial);
  gauge("livezone_secondary_notified_timestamp_seconds", "When the secondary was notified last.", (row) =>
    seconds(row.notifiedAtMs),
  );
  gauge("livezone_secondary_acknowledged_timestamp_seconds", "When the secondary replied to a NOTIFY last.", (row) =>
    seconds(row.acknowledgedAtMs),
  );
  gauge("livezone_secondary_transferred_timestamp_seconds", "When a transfer to the secondary ended last.", (row) =>
    seconds(row.transferredAtMs),
  );
}

/** Queries, replies and sockets. */
export function registerQueryMetrics(registry: Registry, source: MetricsSource): void {
  countAtScrape(registry, "livezone_dns_queries_total", "Queries received.", ["transport", "type"], () =>
    source.queryTotals().queries.map(({ transport, type, count }) => ({ labels: { transport, type }, value: count })),
  );
  countAtScrape(registry, "livezone_dns_responses_total", "Responses sent, by response code.", ["rcode"], () =>
    source
      .queryTotals()
      .responses.map(({ rcode, count }) => ({ labels: { rcode: rcodeText(rcode) }, value: count }))
      // A code without a name is one that livezone never sends on its own.
      .filter(({ labels, value }) => value > 0 || !labels.rcode.startsWith("RCODE")),
  );
  countAtScrape(registry, "livezone_dns_dropped_total", "Messages that got no reply.", ["reason"], () =>
    source.queryTotals().dropped.map(({ reason, count }) => ({ labels: { reason }, value: count })),
  );
  countAtScrape(
    registry,
    "livezone_dns_truncated_total",
    "Responses sent with TC, to be asked again over TCP.",
    [],
    () => [{ labels: {}, value: source.queryTotals().truncated }],
  );
  const socketCounter = (name: string, help: string, key: keyof ReturnType<MetricsSource["socketTotals"]>): void =>
    countAtScrape(registry, name, help, [], () => [{ labels: {}, value: source.socketTotals()[key] }]);
  socketCounter("livezone_udp_kernel_drops_total", "Datagrams that found the receive buffer full.", "kernelDrops");
  socketCounter("livezone_udp_send_errors_total", "Replies that the kernel refused to send.", "sendErrors");
  socketCounter("livezone_udp_send_blocked_total", "Replies dropped since the send buffer was full.", "sendBlocked");
  socketCounter("livezone_udp_receive_errors_total", "Errors of UDP sockets, ICMP among them.", "receiveErrors");
}

/** A series for each address of each target. */
export function registerTargetMetrics(registry: Registry, source: MetricsSource): void {
  readAtScrape(registry, "livezone_target_up", "Whether the probes find the address up.", TARGET_LABELS, function* () {
    for (const { zone, endpoint, target, address, isUp } of source.targets())
      yield { labels: { zone, endpoint, target, address }, value: Number(isUp) };
  });
  readAtScrape(
    registry,
    "livezone_target_answerable",
    "Whether the address goes into answers.",
    TARGET_LABELS,
    function* () {
      for (const { zone, endpoint, target, address, isAnswerable } of source.targets())
        yield { labels: { zone, endpoint, target, address }, value: Number(isAnswerable) };
    },
  );
  readAtScrape(
    registry,
    "livezone_target_override",
    "Whether an operator's word holds.",
    [...TARGET_LABELS, "kind"],
    function* () {
      for (const { zone, endpoint, target, address, override } of source.targets()) {
        if (override !== undefined) yield { labels: { zone, endpoint, target, address, kind: override }, value: 1 };
      }
    },
  );
  readAtScrape(
    registry,
    "livezone_certificate_expiry_timestamp_seconds",
    "End of validity of the certificate that the address presented last.",
    TARGET_LABELS,
    function* () {
      for (const { zone, endpoint, target, address, certificateExpiryMs } of source.targets()) {
        if (certificateExpiryMs !== undefined)
          yield { labels: { zone, endpoint, target, address }, value: certificateExpiryMs / 1000 };
      }
    },
  );
}

/** Endpoints, zones and the prober. */
export function registerEndpointMetrics(registry: Registry, source: MetricsSource): void {
  readAtScrape(
    registry,
    "livezone_prober_isolated",
    "Whether the prober is presumed cut off, so that answers are held.",
    [],
    () => [{ labels: {}, value: Number(source.isIsolated()) }],
  );
  readAtScrape(
    registry,
    "livezone_endpoint_answerable_targets",
    "Targets in the endpoint's answer.",
    ENDPOINT_LABELS,
    function* () {
      for (const { zone, endpoint, answerableTargets } of source.endpoints())
        yield { labels: { zone, endpoint }, value: answerableTargets };
    },
  );
  readAtScrape(
    registry,
    "livezone_endpoint_fail_open",
    "Whether the endpoint answers by whenAllDown, since too few targets are up.",
    ENDPOINT_LABELS,
    function* () {
      for (const { zone, endpoint, isFailOpen } of source.endpoints())
        yield { labels: { zone, endpoint }, value: Number(isFailOpen) };
    },
  );
  readAtScrape(registry, "livezone_zone_serial", "SOA serial that is published.", ["zone"], function* () {
    for (const { zone, serial } of source.zones()) yield { labels: { zone }, value: serial };
  });
  readAtScrape(registry, "livezone_endpoint_targets", "Targets that the endpoint has.", ENDPOINT_LABELS, function* () {
    for (const { zone, endpoint, targets } of source.endpoints()) yield { labels: { zone, endpoint }, value: targets };
  });
}

/** Sources of targets: no series without `discover`. */
export function registerSourceMetrics(registry: Registry, source: MetricsSource): void {
  const gauge = (name: string, help: string, read: (row: SourceRow) => number | undefined): void =>
    readAtScrape(registry, name, help, [...ENDPOINT_LABELS, "source"], function* () {
      for (const row of source.sources?.() ?? []) {
        const value = read(row);
        const labels = { zone: row.zone, endpoint: row.endpoint, source: row.source };
        if (value !== undefined) yield { labels, value };
      }
    });
  const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1_000);
  gauge("livezone_discovery_source_up", "Whether the source of targets can be read.", (row) => Number(row.isUp));
  gauge("livezone_discovery_candidates", "What the source proposes, or did last.", (row) => row.candidates);
  gauge("livezone_discovery_heard_timestamp_seconds", "When the source was heard last.", (row) =>
    seconds(row.heardAtMs),
  );
  gauge("livezone_discovery_credential_expiry_timestamp_seconds", "When the source's credential ends.", (row) =>
    seconds(row.credentialEndsAtMs),
  );
  gauge("livezone_discovery_credential_renewal_timestamp_seconds", "When it is time to renew the credential.", (row) =>
    seconds(row.credentialRenewFromMs),
  );
  const help = "Targets that are left out since there are more than maxTargets.";
  readAtScrape(registry, "livezone_discovery_left_out_targets", help, ENDPOINT_LABELS, function* () {
    for (const { zone, endpoint, leftOut } of source.discovered?.() ?? [])
      yield { labels: { zone, endpoint }, value: leftOut };
  });
}

/** The process, and what is running. */
export function registerProcessMetrics(
  registry: Registry,
  build: { readonly version: string; readonly transport: string },
): void {
  countAtScrape(registry, "livezone_log_lines_lost_total", "Log lines that could not be written.", [], () => [
    { labels: {}, value: lostLogLines() },
  ]);
  // The names under which every Prometheus client library shows these.
  readAtScrape(registry, "process_start_time_seconds", "Start time of the process since the epoch.", [], () => [
    { labels: {}, value: (Date.now() - performance.now()) / 1000 },
  ]);
  readAtScrape(registry, "process_resident_memory_bytes", "Resident memory size.", [], () => [
    { labels: {}, value: process.memoryUsage.rss() },
  ]);
  countAtScrape(registry, "process_cpu_seconds_total", "User and system CPU time, all threads together.", [], () => {
    const { user, system } = process.cpuUsage();
    return [{ labels: {}, value: (user + system) / 1e6 }];
  });
  const { version, transport } = build;
  constant(registry, "livezone_build_info", "Constant 1, labelled with what is running.", {
    version,
    node: process.versions.node,
  });
  constant(registry, "livezone_transport_info", "Constant 1, labelled with what carries UDP.", { transport });
}

function constant(registry: Registry, name: string, help: string, labels: Record<string, string>): void {
  new Gauge({ name, help, labelNames: Object.keys(labels), registers: [registry] }).set(labels, 1);
}

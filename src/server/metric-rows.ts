import type { DiscoveryRow, MetricsSource, SourceRow, TargetRow } from "../admin/metrics-source.js";
import type { Snapshot } from "../health/health.js";
import type { HealthMonitor } from "../health/health-monitor.js";
import type { WorkerPool } from "../transport/worker-pool.js";
import type { Discovery } from "./discovery.js";
import { labelsOf } from "./endpoint-labels.js";
import { isAnswerable, type ServedEndpoints } from "./endpoints.js";

/** What the metrics read at a scrape. */
export function metricsSource(
  pool: Pick<WorkerPool, "totals" | "socketTotals">,
  served: ServedEndpoints,
  monitor: Pick<HealthMonitor, "snapshot" | "isolated">,
  discovery?: Pick<Discovery, "endpoints">,
  shown?: { isIsolated(): boolean; readonly rows: NonNullable<MetricsSource["siblings"]> },
  secondaries?: { rows: NonNullable<MetricsSource["secondaries"]> },
): MetricsSource {
  return {
    queryTotals: () => pool.totals(),
    socketTotals: () => pool.socketTotals(),
    targets: () => describeTargets(served, monitor.snapshot()),
    endpoints: () => describeEndpoints(served),
    sources: () => describeSources(served, discovery?.endpoints() ?? []),
    discovered: () => describeDiscovered(served, discovery?.endpoints() ?? []),
    zones: () => served.zones(),
    isIsolated: () => shown?.isIsolated() ?? monitor.isolated,
    siblings: () => shown?.rows() ?? [],
    secondaries: () => secondaries?.rows() ?? [],
  };
}

/** Every address of every target as the gauges show it, but of disabled ones, which are to be neither up nor answered. */
function* describeTargets({ endpoints }: ServedEndpoints, snapshot: Snapshot): Generator<TargetRow> {
  for (const [fqdn, served] of endpoints) {
    for (const { id, addresses, override, disabled } of snapshot.endpoints.get(fqdn)?.targets ?? []) {
      if (disabled === true) continue;
      for (const { address, health, last } of addresses) {
        yield {
          ...labelsOf(served, id, address),
          isUp: health === "up",
          isAnswerable: isAnswerable(served.answerable, id, address),
          ...(override === undefined ? {} : { override: override.kind }),
          ...(last?.certificateExpiryMs === undefined ? {} : { certificateExpiryMs: last.certificateExpiryMs }),
        };
      }
    }
  }
}

/** Every source of targets as the gauges show it. */
function* describeSources(
  { endpoints }: ServedEndpoints,
  discovered: ReturnType<Discovery["endpoints"]>,
): Generator<SourceRow> {
  for (const [fqdn, { sources }] of discovered) {
    const served = endpoints.get(fqdn);
    if (served === undefined) continue;
    for (const { name, state, heardAtMs, candidates, credential } of sources) {
      yield {
        ...{ zone: served.zone.zone, endpoint: served.config.name, source: name, candidates },
        isUp: state === "ok" || state === "empty",
        ...(heardAtMs === undefined ? {} : { heardAtMs }),
        ...(credential === undefined
          ? {}
          : { credentialEndsAtMs: credential.endsAtMs, credentialRenewFromMs: credential.warnFromMs }),
      };
    }
  }
}

/** Every endpoint with sources of targets as the gauges show it. */
function* describeDiscovered(
  { endpoints }: ServedEndpoints,
  discovered: ReturnType<Discovery["endpoints"]>,
): Generator<DiscoveryRow> {
  for (const [fqdn, { now }] of discovered) {
    const served = endpoints.get(fqdn);
    if (served === undefined || now === undefined) continue;
    yield { zone: served.zone.zone, endpoint: served.config.name, leftOut: now.ignored };
  }
}

/** Every endpoint as the gauges show it. */
function describeEndpoints({ endpoints }: ServedEndpoints): ReturnType<MetricsSource["endpoints"]> {
  return [...endpoints.values()].map(({ zone, config, answerable }) => ({
    zone: zone.zone,
    endpoint: config.name,
    answerableTargets: new Set(answerable.addresses.map(({ target }) => target)).size,
    isFailOpen: answerable.mode === "fail-open",
    targets: config.targets.filter(({ disabled }) => disabled !== true).length,
  }));
}

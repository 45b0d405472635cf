import { spawnSync } from "node:child_process";
import { beforeAll, describe, expect, test } from "vitest";
import { createMetrics, type Metrics } from "../../src/admin/metrics.js";
import { RESULT_CLASSES } from "../../src/health/health.js";
import { createQueryCounters, sumCounters } from "../../src/query/counters.js";
import { textOf } from "../house-rules/source.js";
import { describeWith, requireProgram } from "../support/programs.js";

const SECONDARY = {
  ...{ zone: "k8s.example.com", secondary: "192.0.2.61:53", isCurrent: false, lagMs: 5, serial: 7 },
  ...{ notifiedAtMs: 1e12, acknowledgedAtMs: 1e12, transferredAtMs: 1e12 },
};

/** Metrics of a server to which everything has happened once. */
function fullMetrics(): Metrics {
  const counters = createQueryCounters();
  for (const type of [1, 28, 255, 65_535]) counters.query(0, type);
  counters.response(0);
  counters.truncated();
  counters.dropped("short");
  const labels = { zone: "k8s.example.com", endpoint: "api", target: "cp1", address: "192.0.2.11" };
  const metrics = createMetrics(
    {
      queryTotals: () => sumCounters([counters.memory]),
      socketTotals: () => ({ kernelDrops: 1, sendErrors: 1, sendBlocked: 1, receiveErrors: 1 }),
      targets: () => [{ ...labels, isUp: true, isAnswerable: false, override: "drained", certificateExpiryMs: 1e12 }],
      endpoints: () => [
        { zone: "k8s.example.com", endpoint: "api", answerableTargets: 1, isFailOpen: false, targets: 3 },
      ],
      sources: () => [
        {
          ...{ zone: "k8s.example.com", endpoint: "api", source: "kubernetes:nodes", isUp: true, candidates: 3 },
          ...{ heardAtMs: 1e12, credentialEndsAtMs: 2e12, credentialRenewFromMs: 1.9e12 },
        },
      ],
      discovered: () => [{ zone: "k8s.example.com", endpoint: "api", leftOut: 2 }],
      zones: () => [{ zone: "k8s.example.com", serial: 7 }],
      siblings: () => [{ sibling: "ns2", isFresh: true, clockDifferenceMs: 1, zonesDiffer: 0 }],
      secondaries: () => [SECONDARY],
      isIsolated: () => false,
    },
    { version: "0.1.0", transport: "batch" },
  );
  for (const resultClass of RESULT_CLASSES) metrics.probeFinished({ class: resultClass, durationMs: 3, lagMs: 1 });
  metrics.transition(labels, "down");
  metrics.adminRequest({ entry: "http", status: 200 });
  metrics.watchStreams({ subscribers: 2, dropped: 1 });
  metrics.reloaded(true, 1e12);
  return metrics;
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
}

async function describeAll(metrics: Metrics): Promise<Described[]> {
  const all = await metrics.registry.getMetricsAsJSON();
  return all.map(({ name, help, type, values }) => ({
    name,
    help,
    type: String(type),
    labels: [...new Set(values.flatMap((value) => Object.keys(value.labels)))].filter((label) => label !== "le"),
  }));
}

describe("the metrics", () => {
  let all: Described[];
  beforeAll(async () => {
    all = await describeAll(fullMetrics());
  });

  test("are those that the design names, and more", () => {
    const names = all.map(({ name }) => name);
    const designed = [
      "dns_queries_total",
      "dns_responses_total",
      "dns_dropped_total",
      "target_up",
      "target_answerable",
      "target_transitions_total",
      "probe_results_total",
      "probe_duration_seconds",
      "endpoint_answerable_targets",
      "endpoint_fail_open",
      "prober_isolated",
      "prober_lag_seconds",
      "certificate_expiry_timestamp_seconds",
      "zone_serial",
      "config_last_reload_success",
      "transport_info",
      "build_info",
    ];
    expect(designed.filter((name) => !names.includes(`livezone_${name}`))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });

  test("are named as Prometheus has it", () => {
    const wrong = all.flatMap(({ name, type, help, labels }) => {
      const faults = [
        /^(?:livezone|process)(?:_[a-z0-9]+)+$/.test(name) ? "" : "prefix or characters",
        (type === "counter") === name.endsWith("_total") ? "" : "counters end with _total, and nothing else does",
        type === "histogram" && !name.endsWith("_seconds") ? "a histogram's unit" : "",
        /_(?:ms|milliseconds|minutes|kilobytes)(?:_|$)/.test(name) ? "not a base unit" : "",
        name.endsWith("_info") && type !== "gauge" ? "an info is a gauge" : "",
        /^[A-Z].*\.$/.test(help) ? "" : "help is a sentence",
        labels.every((label) => /^[a-z]+$/.test(label)) ? "" : "labels are single words",
      ];
      return faults.filter(Boolean).map((fault) => `${name}: ${fault}`);
    });
    expect(wrong).toEqual([]);
  });

  test("have labels whose values are known beforehand, or configured", () => {
    const bounded = [
      "class",
      "entry",
      "kind",
      "node",
      "outcome",
      "rcode",
      "reason",
      "status",
      "to",
      "transport",
      "type",
      "version",
    ];
    const configured = ["zone", "endpoint", "target", "address", "source", "sibling", "secondary"];
    const labels = new Set(all.flatMap((metric) => metric.labels));
    expect([...labels].filter((label) => !bounded.includes(label) && !configured.includes(label))).toEqual([]);
  });

  test("are in docs/metrics.md as they are", () => {
    const rows = all
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(
        ({ name, type, labels, help }) =>
          `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`,
      );
    const documented = textOf("docs/metrics.md")
      .split("\n")
      .filter((line) => /^\| `(?:livezone|process)_/.test(line));
    expect(documented).toEqual(rows);
  });
});

test("what is gone from the configuration leaves no gauge behind", async () => {
  let isThere = true;
  const none = { zone: "z", endpoint: "api", target: "cp1", address: "192.0.2.1" };
  const metrics = createMetrics(
    {
      queryTotals: () => sumCounters([]),
      socketTotals: () => ({ kernelDrops: 0, sendErrors: 0, sendBlocked: 0, receiveErrors: 0 }),
      targets: () => (isThere ? [{ ...none, isUp: true, isAnswerable: true }] : []),
      endpoints: () => [],
      zones: () => [],
      isIsolated: () => true,
    },
    { version: "0", transport: "dgram" },
  );
  expect(await metrics.registry.metrics()).toContain('livezone_target_up{zone="z",endpoint="api",target="cp1"');
  isThere = false;
  const text = await metrics.registry.metrics();
  expect(text).not.toContain("livezone_target_up{");
  expect(text).toMatch(/^livezone_prober_isolated 1$/m);
});

test("every series that is known beforehand begins at 0, so that its first increase is seen", async () => {
  const target = { zone: "z", endpoint: "api", target: "cp1", address: "192.0.2.1" };
  let targets = [{ ...target, isUp: true, isAnswerable: true }];
  const metrics = createMetrics(
    {
      queryTotals: () => sumCounters([]),
      socketTotals: () => ({ kernelDrops: 0, sendErrors: 0, sendBlocked: 0, receiveErrors: 0 }),
      targets: () => targets,
      endpoints: () => [],
      zones: () => [],
      isIsolated: () => false,
    },
    { version: "0", transport: "dgram" },
  );
  metrics.targetsReplaced();
  const text = await metrics.registry.metrics();
  const labels = 'zone="z",endpoint="api",target="cp1",address="192.0.2.1"';
  for (const series of [
    `livezone_target_transitions_total{${labels},to="down"} 0`,
    `livezone_target_transitions_total{${labels},to="up"} 0`,
    'livezone_probe_results_total{class="refused"} 0',
    'livezone_dns_queries_total{transport="udp",type="A"} 0',
    'livezone_dns_responses_total{rcode="NOERROR"} 0',
    'livezone_dns_dropped_total{reason="rate-limited"} 0',
    "livezone_dns_truncated_total 0",
    "livezone_log_lines_lost_total 0",
    'livezone_admin_requests_total{entry="http",status="200"} 0',
  ]) {
    expect(text).toContain(`${series}\n`);
  }
  metrics.transition(target, "down");
  metrics.targetsReplaced();
  expect(await metrics.registry.metrics()).toContain(`livezone_target_transitions_total{${labels},to="down"} 1\n`);
  targets = [];
  metrics.targetsReplaced();
  expect(await metrics.registry.metrics()).not.toContain("livezone_target_transitions_total{");
});

describeWith(["promtool"], "promtool", () => {
  const check = (input: string) =>
    spawnSync(requireProgram("promtool"), ["check", "metrics"], { input, encoding: "utf8" });

  test("has nothing to say of the metrics", async () => {
    const { status, stdout, stderr } = check(await fullMetrics().registry.metrics());
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("can tell", () => {
    expect(check("# HELP livezone_x_total X.\n# TYPE livezone_x_total gauge\nlivezone_x_total 1\n").status).not.toBe(0);
  });
});

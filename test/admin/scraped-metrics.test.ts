import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { countAtScrape, readAtScrape, registerEndpointMetrics } from "../../src/admin/scraped-metrics.js";
import { createQueryCounters, sumCounters } from "../../src/query/counters.js";

test("a counter that somebody else counts shows their sum at each scrape, and 0 before anything happened", async () => {
  const registry = new Registry();
  let total = 0;
  countAtScrape(registry, "x_total", "X.", ["kind"], () => [{ labels: { kind: "a" }, value: total }]);
  expect(await registry.metrics()).toContain('x_total{kind="a"} 0\n');
  total = 7;
  expect(await registry.metrics()).toContain('x_total{kind="a"} 7\n');
});

test("a gauge leaves no series behind of what has gone", async () => {
  const registry = new Registry();
  let rows = [{ labels: { zone: "z" }, value: 1 }];
  readAtScrape(registry, "x", "X.", ["zone"], () => rows);
  expect(await registry.metrics()).toContain('x{zone="z"} 1\n');
  rows = [];
  expect(await registry.metrics()).not.toContain("x{");
});

test("endpoints, zones and the prober are shown as they are", async () => {
  const registry = new Registry();
  registerEndpointMetrics(registry, {
    queryTotals: () => sumCounters([createQueryCounters().memory]),
    socketTotals: () => ({ kernelDrops: 0, sendErrors: 0, sendBlocked: 0, receiveErrors: 0 }),
    targets: () => [],
    endpoints: () => [{ zone: "z", endpoint: "api", answerableTargets: 2, isFailOpen: true, targets: 3 }],
    zones: () => [{ zone: "z", serial: 9 }],
    isIsolated: () => true,
  });
  const text = await registry.metrics();
  for (const line of [
    'livezone_endpoint_answerable_targets{zone="z",endpoint="api"} 2',
    'livezone_endpoint_fail_open{zone="z",endpoint="api"} 1',
    'livezone_endpoint_targets{zone="z",endpoint="api"} 3',
    'livezone_zone_serial{zone="z"} 9',
    "livezone_prober_isolated 1",
  ]) {
    expect(text).toContain(`${line}\n`);
  }
});

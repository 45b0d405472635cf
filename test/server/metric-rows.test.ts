import { expect, test } from "vitest";
import { sumCounters } from "../../src/query/counters.js";
import { metricsSource } from "../../src/server/metric-rows.js";
import { createCounters, readCounters } from "../../src/transport/batch/buffers.js";
import { serveEndpoints, snapshotOf } from "./served.js";

const FQDN = "api.k8s.example.test";
const TARGETS = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12", "2001:db8::12"], cp3: ["192.0.2.13"] };
const POOL = {
  totals: () => sumCounters([]),
  socketTotals: () => readCounters(createCounters()),
};

test("targets, endpoints and zones are shown as they are at the moment of the scrape", () => {
  const drained = { kind: "drained", origin: "operator", setAtMs: 0 } as const;
  const last = { class: "ok", reason: "status 200", durationMs: 1, certificateExpiryMs: 5_000 } as const;
  let snapshot = snapshotOf({ [FQDN]: TARGETS }, { down: ["cp1"], overrides: { cp3: drained }, last: { cp2: last } });
  const { served } = serveEndpoints([{ endpoints: { api: TARGETS } }], snapshot);
  const source = metricsSource(POOL, served, { snapshot: () => snapshot, isolated: true });
  const labels = { zone: "k8s.example.test", endpoint: "api" };
  expect([...source.targets()]).toEqual([
    { ...labels, target: "cp1", address: "192.0.2.11", isUp: false, isAnswerable: false },
    { ...labels, target: "cp2", address: "192.0.2.12", isUp: true, isAnswerable: true, certificateExpiryMs: 5_000 },
    { ...labels, target: "cp2", address: "2001:db8::12", isUp: true, isAnswerable: true, certificateExpiryMs: 5_000 },
    { ...labels, target: "cp3", address: "192.0.2.13", isUp: true, isAnswerable: false, override: "drained" },
  ]);
  // Two addresses of one target are one target.
  expect([...source.endpoints()]).toEqual([{ ...labels, answerableTargets: 1, isFailOpen: false, targets: 3 }]);
  expect([...source.zones()]).toEqual(served.zones());
  expect(source.isIsolated()).toBe(true);
  expect(source.socketTotals()).toEqual(POOL.socketTotals());

  snapshot = snapshotOf({ [FQDN]: TARGETS }, { down: ["cp1", "cp2", "cp3"] });
  served.follow(FQDN, snapshot);
  expect([...source.endpoints()]).toEqual([{ ...labels, answerableTargets: 3, isFailOpen: true, targets: 3 }]);
});

test("an endpoint that the monitor does not know has no rows of targets", () => {
  const snapshot = snapshotOf({ [FQDN]: TARGETS });
  const { served } = serveEndpoints([{ endpoints: { api: TARGETS } }], snapshot);
  const source = metricsSource(POOL, served, { snapshot: () => snapshotOf({}), isolated: false });
  expect([...source.targets()]).toEqual([]);
});

test("a disabled target is no target that could be down", () => {
  const snapshot = snapshotOf({ [FQDN]: TARGETS }, { down: ["cp1"], disabled: ["cp1"] });
  const { served } = serveEndpoints([{ endpoints: { api: TARGETS } }], snapshot);
  const source = metricsSource(POOL, served, { snapshot: () => snapshot, isolated: false });
  expect([...source.targets()].map(({ target }) => target)).toEqual(["cp2", "cp2", "cp3"]);
});

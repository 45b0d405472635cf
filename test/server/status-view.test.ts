import { expect, test } from "vitest";
import { overrideView, targetView, zoneViews } from "../../src/server/status-view.js";
import { serveEndpoints, snapshotOf } from "./served.js";

const TARGETS = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"] };
const SKETCHES = [
  { zone: "one.test", endpoints: { api: TARGETS, other: TARGETS } },
  { zone: "two.test", endpoints: { "@": TARGETS } },
  { zone: "empty.test" },
];
const HEALTH = { "api.one.test": TARGETS, "other.one.test": TARGETS, "two.test": TARGETS };

test("zones are shown in the order of the configuration, each with its endpoints, also without any", () => {
  const snapshot = snapshotOf(HEALTH, { down: ["cp2"] });
  const { served } = serveEndpoints(SKETCHES, snapshot);
  const views = zoneViews(served, snapshot);
  expect(views.map(({ zone, endpoints }) => [zone, ...endpoints.map(({ endpoint }) => endpoint)])).toEqual([
    ["one.test", "api.one.test", "other.one.test"],
    ["two.test", "two.test"],
    ["empty.test"],
  ]);
  expect(views.map(({ serial }) => serial)).toEqual(served.zones().map(({ serial }) => serial));
  expect(views[0]?.endpoints[0]).toMatchObject({
    port: 6443,
    ttl: 5,
    mode: "healthy",
    upTargets: 1,
    minHealthy: 1,
    answers: ["192.0.2.11"],
    targets: [
      { id: "cp1", addresses: [{ address: "192.0.2.11", health: "up", sinceMs: 0, answered: true }] },
      { id: "cp2", addresses: [{ address: "192.0.2.12", health: "down", sinceMs: 0, answered: false }] },
    ],
  });
});

test("a target shows its override, its last result and why it is kept down, if there are such", () => {
  const override = {
    kind: "forced-up",
    reason: "why",
    author: "eve",
    origin: "operator",
    setAtMs: 1,
    expiresAtMs: 9,
  } as const;
  const held = { untilMs: 7, changes: 6 };
  const last = { class: "ok", reason: "status 200", durationMs: 1 } as const;
  const snapshot = snapshotOf(HEALTH, { overrides: { cp1: override }, held: { cp2: held }, last: { cp2: last } });
  const { served } = serveEndpoints(SKETCHES, snapshot);
  const endpoint = served.endpoints.get("api.one.test");
  const targets = snapshot.endpoints.get("api.one.test")?.targets ?? [];
  if (endpoint === undefined) throw new Error("there is one");
  const [cp1, cp2] = targets.map((target) => targetView(endpoint, target));
  expect(cp1?.override).toEqual(override);
  expect(cp1?.addresses[0]).not.toHaveProperty("held");
  expect(cp1?.addresses[0]).not.toHaveProperty("last");
  expect(cp2).not.toHaveProperty("override");
  expect(cp2?.addresses).toMatchObject([{ held, last }]);
});

test("an override is shown without what was not said, and without what only the server knows", () => {
  const entry = { kind: "drained", origin: "kubernetes", setAtMs: 3, endpoint: "api.one.test", target: "cp1" } as const;
  expect(overrideView(entry)).toEqual({ kind: "drained", origin: "kubernetes", setAtMs: 3 });
});

test("a disabled target is shown as such", () => {
  const snapshot = snapshotOf(HEALTH, { disabled: ["cp2"] });
  const { served } = serveEndpoints(SKETCHES, snapshot);
  const targets = zoneViews(served, snapshot)[0]?.endpoints[0]?.targets;
  expect(targets?.map(({ id, disabled }) => [id, disabled])).toEqual([
    ["cp1", undefined],
    ["cp2", true],
  ]);
});

test("where targets come from, and what of it no probe confirms", () => {
  const targets = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"] };
  const snapshot = snapshotOf({ "api.k8s.example.com": targets }, { down: ["cp2", "cp3"] });
  const { served } = serveEndpoints([{ zone: "k8s.example.com", endpoints: { api: targets } }], snapshot);
  const origins = new Map([
    ["cp1", { origins: ["config", "file:t"] }],
    ["cp2", { origins: ["file:t"] }],
    ["cp3", { origins: ["file:t"], goneSinceMs: 5 }],
  ]);
  const now = { targets: [], origins, drains: new Map(), notices: [], ignored: 7, kept: [] };
  const failure = { problem: "gone", needsOperator: false };
  const source = { name: "file:t", type: "file", state: "failing", heardAtMs: 3, candidates: 3, failure } as const;
  const [endpoint] = zoneViews(served, snapshot, () => ({ sources: [source], now }))[0]?.endpoints ?? [];
  expect(endpoint?.discovery).toEqual({
    sources: [{ source: "file:t", state: "failing", heardAtMs: 3, candidates: 3, problem: "gone" }],
    unconfirmed: ["cp2"],
    ignored: 7,
  });
  expect(endpoint?.targets.map(({ origins, goneSinceMs }) => [origins, goneSinceMs])).toEqual([
    [["config", "file:t"], undefined],
    [["file:t"], undefined],
    [["file:t"], 5],
  ]);
});

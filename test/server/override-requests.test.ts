import { pino } from "pino";
import { describe, expect, test } from "vitest";
import type { Override, Suppression } from "../../src/health/health.js";
import { OverrideStore } from "../../src/health/overrides.js";
import { OverrideRequests } from "../../src/server/override-requests.js";
import { serveEndpoints, snapshotOf } from "./served.js";

const FQDN = "api.k8s.example.test";
const TARGETS = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"] };
const CP1 = { endpoint: FQDN, target: "cp1" };
const EVE = { author: "eve" };

/** Requests on one endpoint whose answers follow every override, nothing kept on disk. */
function setUp({ held = {}, save }: { held?: Record<string, Suppression>; save?: () => Promise<void> } = {}) {
  const inForce = new Map<string, Override>();
  const snapshot = () => snapshotOf({ [FQDN]: TARGETS }, { overrides: Object.fromEntries(inForce), held });
  const { served, clock } = serveEndpoints([{ endpoints: { api: TARGETS } }], snapshot());
  const log = pino({ level: "silent" });
  const forgiven: string[] = [];
  const overrides = new OverrideStore({
    clock,
    initial: [],
    look(fqdn) {
      const health = snapshot().endpoints.get(fqdn);
      const endpoint = served.endpoints.get(fqdn);
      return health && endpoint && { health, policy: endpoint.config, lastHealthy: endpoint.lastHealthy };
    },
    ...(save && { save }),
    onChange({ action, entry }) {
      if (action === "set") inForce.set(entry.target, entry);
      else inForce.delete(entry.target);
      served.follow(entry.endpoint, snapshot());
    },
    onSaveError: () => {},
  });
  const clearFlaps = (endpoint: string, target: string) => void forgiven.push(`${endpoint} ${target}`);
  const requests = new OverrideRequests({ clock, log, served, overrides, snapshot, clearFlaps });
  const answered = () => served.endpoints.get(FQDN)?.answerable.addresses.map(({ target }) => target);
  return { requests, clock, answered, forgiven };
}

describe("a drain", () => {
  test("takes the target out, says who asked, and from when on it can be stopped", async () => {
    const { requests, clock, answered } = setUp();
    const drained = await requests.drain(CP1, { ...EVE, reason: "disk" });
    expect(answered()).toEqual(["cp2", "cp3"]);
    // The TTL of 5 s, and a second for replies under way.
    expect(drained).toMatchObject({
      changed: true,
      persisted: false,
      failsOpen: false,
      answeredAgain: [],
      safeAtMs: clock.wallMs() + 6_000,
      target: { id: "cp1", override: { kind: "drained", author: "eve", reason: "disk", origin: "operator" } },
    });
  });

  test("keeps its reason when it is asked for again without one", async () => {
    const { requests } = setUp();
    await requests.drain(CP1, { ...EVE, reason: "disk" });
    const again = await requests.drain(CP1, { author: "bob", forMs: 60_000 });
    expect(again.target.override).toMatchObject({ reason: "disk", author: "bob" });
    const anew = await requests.drain(CP1, { author: "bob", reason: "memory" });
    expect(anew.target.override).toMatchObject({ reason: "memory" });
  });

  test("does not take over the reason of another kind of override", async () => {
    const { requests } = setUp();
    await requests.force(CP1, "down", { ...EVE, reason: "disk" });
    expect((await requests.drain(CP1, EVE)).target.override).not.toHaveProperty("reason");
  });

  test.each([
    { name: "shorter than caches keep the address", waitMs: 0, drained: false, forMs: 5_999, is: "DRAIN_TOO_SHORT" },
    { name: "as long as caches keep the address", waitMs: 0, drained: false, forMs: 6_000, is: "done" },
    { name: "shorter than what is left of that", waitMs: 2_000, drained: true, forMs: 3_999, is: "DRAIN_TOO_SHORT" },
    { name: "as long as what is left of that", waitMs: 2_000, drained: true, forMs: 4_000, is: "done" },
    { name: "short, of a target that caches have forgotten", waitMs: 60_000, drained: true, forMs: 1, is: "done" },
  ])("$name: $is", async ({ waitMs, drained, forMs, is }) => {
    const { requests, clock } = setUp();
    if (drained) await requests.drain(CP1, EVE);
    await clock.advance(waitMs);
    const outcome = await requests.drain(CP1, { ...EVE, forMs }).then(
      () => "done",
      ({ code }: { code: string }) => code,
    );
    expect(outcome).toBe(is);
  });

  test("of the last target that answers is refused, unless it is forced", async () => {
    const { requests, answered } = setUp();
    for (const target of ["cp1", "cp2"]) await requests.drain({ endpoint: FQDN, target }, EVE);
    const cp3 = { endpoint: FQDN, target: "cp3" };
    await expect(requests.drain(cp3, EVE)).rejects.toMatchObject({ code: "LAST_ANSWERABLE" });
    expect(answered()).toEqual(["cp3"]);
    expect(await requests.drain(cp3, { ...EVE, force: true })).toMatchObject({ failsOpen: true });
  });

  test("that cannot be kept does not hold", async () => {
    const { requests, answered } = setUp({ save: () => Promise.reject(new Error("disk full")) });
    await expect(requests.drain(CP1, EVE)).rejects.toThrow("disk full");
    expect(answered()).toEqual(["cp1", "cp2", "cp3"]);
  });
});

describe("the end of an override", () => {
  test("is that of its own kind: undrain leaves a forced target alone, unforce a drained one", async () => {
    const { requests, answered } = setUp();
    await requests.force(CP1, "down", EVE);
    expect(await requests.undrain(CP1, EVE)).toMatchObject({ changed: false });
    expect(answered()).toEqual(["cp2", "cp3"]);
    expect(await requests.unforce(CP1, EVE)).toMatchObject({ changed: true });
    expect(answered()).toEqual(["cp1", "cp2", "cp3"]);
    await requests.drain(CP1, EVE);
    expect(await requests.unforce(CP1, EVE)).toMatchObject({ changed: false });
    expect(await requests.undrain(CP1, EVE)).toMatchObject({ changed: true });
  });

  test.each(["up", "down"] as const)("unforce ends forced-%s", async (health) => {
    const { requests } = setUp();
    const forced = await requests.force(CP1, health, EVE);
    expect(forced.target.override?.kind).toBe(`forced-${health}`);
    expect((await requests.unforce(CP1, EVE)).target).not.toHaveProperty("override");
  });
});

describe("unsuppress", () => {
  test.each([
    { name: "a target that flaps", held: { cp1: { untilMs: 1, changes: 6 } }, changed: true },
    { name: "one that does not", held: {}, changed: false },
  ])("forgives $name: $changed", async ({ held, changed }) => {
    const { requests, forgiven } = setUp({ held });
    expect(await requests.unsuppress(CP1, EVE)).toMatchObject({ changed });
    expect(forgiven).toEqual(changed ? [`${FQDN} cp1`] : []);
  });

  test("is not carried out for a client that has gone", async () => {
    const { requests, forgiven } = setUp({ held: { cp1: { untilMs: 1, changes: 6 } } });
    const gone = requests.unsuppress(CP1, { ...EVE, signal: AbortSignal.abort() });
    await expect(gone).rejects.toMatchObject({ code: "CLIENT_GONE" });
    expect(forgiven).toEqual([]);
  });
});

test.each([
  { name: "endpoint", endpoint: "other.k8s.example.test", target: "cp1", code: "NO_SUCH_ENDPOINT" },
  { name: "target", endpoint: FQDN, target: "cp9", code: "NO_SUCH_TARGET" },
])("every request of an unknown $name is refused", async ({ endpoint, target, code }) => {
  const { requests } = setUp();
  const name = { endpoint, target };
  const asked = [
    () => requests.drain(name, EVE),
    () => requests.drain(name, { ...EVE, forMs: 60_000 }),
    () => requests.undrain(name, EVE),
    () => requests.force(name, "up", EVE),
    () => requests.unforce(name, EVE),
    () => requests.unsuppress(name, EVE),
  ];
  for (const ask of asked) await expect(ask()).rejects.toMatchObject({ code });
});

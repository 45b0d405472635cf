import { pino } from "pino";
import { describe, expect, test, vi } from "vitest";
import type { ProbeConfig } from "../../src/config/config.js";
import type { LastKnown } from "../../src/health/persisted-state.js";
import { ServerEvents } from "../../src/server/events.js";
import { buildHealthParts } from "../../src/server/health-parts.js";
import { knownBefore } from "../../src/server/persistence.js";
import { readSavedState, type SavedState } from "../../src/server/saved-state.js";
import { createSighted } from "../../src/server/sighted.js";
import type { ServerState } from "../../src/server/state.js";
import { SERIAL, sketchZone } from "../answers/serve.js";
import { loadRight } from "../config/folder.js";
import { HTTPS } from "../health/monitor-harness.js";
import { createFakeClock } from "../support/fake-clock.js";
import { seededRandom } from "../support/random.js";

const FQDN = "api.k8s.example.test";
const ADDRESSES = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"] };
const NO_PROBE = { type: "none", intervalMs: 2_000, timeoutMs: 2_000, recheckMs: 1_000, rise: 2, fall: 3 } as const;
const OPERATOR = { author: "eve", origin: "operator" } as const;
const CP1 = { endpoint: FQDN, target: "cp1" };
const DRAIN = { ...CP1, ...OPERATOR, kind: "drained" } as const;

/** Files of the state folder in memory. `failure` is what their writes fail with, once it is there. */
function memoryFiles() {
  const kept = { last: [] as LastKnown[], overrides: [] as unknown[], failure: undefined as Error | undefined };
  const write = <T>(to: T[]) => ({
    read: async () => undefined,
    async write(content: T) {
      if (kept.failure !== undefined) throw kept.failure;
      to.push(content);
    },
  });
  return { kept, files: { last: write(kept.last), overrides: write(kept.overrides) } };
}

/** The parts of a server whose one endpoint is not probed: its targets are up, but for what the process before knew. */
async function setUp(
  before: { readonly known?: LastKnown; readonly siblings?: string; readonly probe?: ProbeConfig } = {},
) {
  const clock = createFakeClock();
  const events = new ServerEvents(clock, pino({ level: "silent" }));
  const seen: string[] = [];
  const errors: unknown[] = [];
  const { kept, files } = memoryFiles();
  const nothing = await readSavedState(undefined, clock, events);
  const known = before.known && knownBefore(before.known, clock.wallMs());
  const saved: SavedState = { ...nothing, files, ...(known && { known }) };
  const { config } = loadRight();
  const siblings = before.siblings === undefined ? {} : { siblings: { name: before.siblings } };
  // Of the siblings, these parts read the name of this server.
  const started = { ...config, ...siblings } as ServerState["started"];
  const beginning = { isReady: true, isStopping: false, listensLater: false };
  const state: ServerState = { startedMs: 0, started, config, ...beginning, lastReload: { atMs: 0, ok: true } };
  const watcher = { onZoneAdded: () => {}, onZoneRemoved: () => {}, onChange: () => {} };
  const sighted = createSighted({ clock, state, events, watcher, before: saved.known });
  const parts = buildHealthParts({ clock, random: seededRandom(1), events, saved, state, ...sighted });
  sighted.connect(parts.monitor);
  const targets = Object.entries(ADDRESSES).map(([id, addresses]) => ({ id, addresses }));
  parts.monitor.configure([{ fqdn: FQDN, probe: before.probe ?? NO_PROBE, targets }]);
  sighted.served.replaceZones([sketchZone({ endpoints: { api: ADDRESSES } })], parts.monitor.snapshot());
  const answered = () => sighted.served.endpoints.get(FQDN)?.answerable.addresses.map(({ target }) => target);
  events.subscribe("test", {
    "override-changed": ({ change }) => void seen.push(`${change.action}: ${answered()}`),
    "state-not-saved": ({ error }) => void errors.push(error),
  });
  const forgiven = vi.spyOn(parts.monitor, "clearFlaps");
  return { ...parts, clock, kept, seen, errors, forgiven, answered };
}

describe("an override", () => {
  test("is shown by health and followed by the answers before anybody is told", async () => {
    const { overrides, monitor, seen } = await setUp();
    await overrides.set(DRAIN);
    expect(monitor.snapshot().endpoints.get(FQDN)?.targets[0]?.override).toMatchObject({ kind: "drained" });
    await overrides.clear(CP1, OPERATOR);
    expect(monitor.snapshot().endpoints.get(FQDN)?.targets[0]).not.toHaveProperty("override");
    expect(seen).toEqual(["set: cp2", "cleared: cp1,cp2"]);
  });

  test("forgives a target its flapping when somebody clears it", async () => {
    const { overrides, forgiven } = await setUp();
    await overrides.set(DRAIN);
    expect(forgiven).not.toHaveBeenCalled();
    await overrides.clear(CP1, OPERATOR);
    expect(forgiven.mock.calls).toEqual([[FQDN, "cp1"]]);
  });

  test("forgives nothing when it expires", async () => {
    const { overrides, forgiven, clock, seen } = await setUp();
    await overrides.set({ ...DRAIN, forMs: 60_000 });
    await clock.advance(60_000);
    expect(seen).toEqual(["set: cp2", "expired: cp1,cp2"]);
    expect(forgiven).not.toHaveBeenCalled();
  });

  test("of the last target beside one that is about to be taken out is refused", async () => {
    const { overrides, reservations } = await setUp();
    reservations.keep({ endpoint: FQDN, target: "cp2" });
    await expect(overrides.set(DRAIN)).rejects.toMatchObject({ code: "LAST_ANSWERABLE" });
    reservations.release({ endpoint: FQDN, target: "cp2" });
    expect(await overrides.set(DRAIN)).toMatchObject({ isKept: true });
  });

  test("of an endpoint that is not served is refused", async () => {
    const { overrides, look } = await setUp();
    expect(look("other.k8s.example.test")).toBeUndefined();
    const other = { ...DRAIN, endpoint: "other.k8s.example.test" };
    await expect(overrides.set(other)).rejects.toMatchObject({ code: "NO_SUCH_ENDPOINT" });
  });

  test.each([
    { name: "among siblings", siblings: "ns1", stamp: { by: "ns1" } },
    { name: "alone", stamp: undefined },
  ])("of a server $name has the stamp $stamp", async ({ stamp, ...before }) => {
    const { overrides, kept } = await setUp(before);
    const { entry } = await overrides.set(DRAIN);
    if (stamp === undefined) expect(entry).not.toHaveProperty("stamp");
    else expect(entry).toMatchObject({ stamp });
    expect(kept.overrides).toEqual([[entry]]);
  });
});

describe("what is kept for the next process", () => {
  test("is the health of every address, what was answered last while enough were up, and the serial", async () => {
    const { persistence, kept, clock, overrides } = await setUp();
    const sinceMs = clock.wallMs();
    await clock.advance(5_000);
    await overrides.set(DRAIN);
    await persistence.stop();
    expect(kept.last).toMatchObject([
      {
        savedAtMs: sinceMs + 5_000,
        endpoints: [
          {
            fqdn: FQDN,
            addresses: [
              { target: "cp1", address: "192.0.2.11", health: "up", sinceMs },
              { target: "cp2", address: "192.0.2.12", health: "up", sinceMs },
            ],
            lastHealthy: [{ target: "cp2", address: "192.0.2.12" }],
          },
        ],
        zones: [{ zone: "k8s.example.test", serial: expect.any(Number) }],
      },
    ]);
    expect(kept.last[0]?.zones[0]?.serial).toBeGreaterThan(SERIAL);
  });

  test("is what health begins with there, until a probe says otherwise", async () => {
    const before = await setUp();
    await before.persistence.stop();
    const [last] = before.kept.last;
    const addresses = last?.endpoints[0]?.addresses.map((one) => ({ ...one, health: "down" as const, sinceMs: 5 }));
    const known = { ...last, endpoints: [{ fqdn: FQDN, addresses, lastHealthy: [] }] } as LastKnown;
    const { monitor } = await setUp({ known, probe: HTTPS });
    const targets = monitor.snapshot().endpoints.get(FQDN)?.targets;
    expect(targets?.map((target) => target.addresses[0])).toMatchObject([
      { health: "down", sinceMs: 5 },
      { health: "down", sinceMs: 5 },
    ]);
  });
});

describe("state that cannot be written", () => {
  test("is told of when it is health", async () => {
    const { persistence, kept, errors } = await setUp();
    kept.failure = new Error("disk full");
    await persistence.stop();
    expect(errors).toEqual([kept.failure]);
  });

  test("is told of when it is the end of an override, which holds all the same", async () => {
    const { overrides, kept, errors, clock, answered } = await setUp();
    await overrides.set({ ...DRAIN, forMs: 60_000 });
    kept.failure = new Error("disk full");
    await clock.advance(60_000);
    expect(errors).toEqual([kept.failure]);
    expect(answered()).toEqual(["cp1", "cp2"]);
  });

  test("is told to who asks for an override, which does not hold", async () => {
    const { overrides, kept, errors, answered } = await setUp();
    kept.failure = new Error("disk full");
    await expect(overrides.set(DRAIN)).rejects.toBe(kept.failure);
    expect(errors).toEqual([]);
    expect(answered()).toEqual(["cp1", "cp2"]);
  });
});

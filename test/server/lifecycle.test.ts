import { describe, expect, test } from "vitest";
import type { Config } from "../../src/config/config.js";
import { becomeReady, type LifecycleParts, logStart, openSockets, stopServer } from "../../src/server/lifecycle.js";
import { createFakeClock } from "../support/fake-clock.js";

interface Setting {
  readonly hasInherited?: boolean;
  /** There is a server to take over from. */
  readonly hasPredecessor?: boolean;
  /** Milliseconds until each of these is done; default at once. */
  readonly firstRoundMs?: number;
  readonly discoveredMs?: number;
  readonly serialsMs?: number;
  readonly known?: { readonly isFresh: boolean; readonly ageMs?: number };
}

/** The parts of a server that only note what is asked of them. */
function setUp(setting: Setting = {}) {
  const clock = createFakeClock();
  const calls: string[] = [];
  const lines: [object, string][] = [];
  const note = (name: string) => () => void calls.push(name);
  const noteAsync = (name: string) => async () => void calls.push(name);
  const after = (ms = 0) =>
    ms === 0 ? Promise.resolve() : new Promise<void>((resolve) => void clock.after(ms, resolve));
  const config = {
    listen: [{ address: "192.0.2.53", port: 53 }],
    freebind: false,
    admin: { socket: "admin.sock" },
    zones: [{}, {}],
  } as unknown as Config;
  const state = { config, isReady: false, isStopping: false, listensLater: true } as LifecycleParts["state"];
  const published: object[] = [];
  const parts = {
    clock,
    log: { info: (fields: object, text: string) => lines.push([fields, text]) },
    state,
    pool: {
      hasInherited: setting.hasInherited ?? false,
      addresses: [],
      threads: 2,
      listen: async (_at: unknown, { isShared = false }) =>
        void calls.push(isShared ? "pool listens beside" : "pool listens"),
      setReady: note("pool answers"),
      settle: note("pool settles"),
      stop: async (ms: number) => void calls.push(`pool stops in ${ms}`),
    },
    listeners: {
      http: { address: "127.0.0.1", port: 8080 },
      open: noteAsync("admin opens"),
      openPatiently: noteAsync("admin opens patiently"),
      stop: async (ms: number) => void calls.push(`admin stops in ${ms}`),
    },
    events: { publish: (event: object) => published.push(event) },
    served: { endpoints: new Map([["api.k8s.example.com", { fqdn: "api.k8s.example.com" }]]) },
    monitor: { start: note("monitor starts"), stop: note("monitor stops"), firstRound: after(setting.firstRoundMs) },
    discovery: {
      start: note("discovery starts"),
      stop: noteAsync("discovery stops"),
      answered: () => after(setting.discoveredMs),
    },
    overrides: { stop: noteAsync("overrides stop"), adopt: noteAsync("overrides adopt") },
    persistence: { start: note("persistence starts"), stop: noteAsync("persistence stops") },
    watch: { stop: note("watch stops") },
    serials: {
      saved: () => after(setting.serialsMs),
      stop: async (hasLeft: boolean) => void calls.push(`serials stop${hasLeft ? ", left" : ""}`),
    },
    notifier: { stop: note("notifier stops") },
    exchange: { stop: note("exchange stops"), close: note("exchange stops") },
    sight: { stop: note("sight stops") },
    siblings: {
      start: noteAsync("siblings start"),
      startPatiently: note("siblings start patiently"),
      stop: noteAsync("siblings stop"),
    },
    known: setting.known ?? { isFresh: false },
    ...(setting.hasPredecessor === true && {
      predecessor: {
        async leave(threads: number) {
          calls.push(`predecessor leaves to ${threads}`);
          return 4;
        },
      },
      savedOverrides: async () => [],
    }),
  } as unknown as LifecycleParts;
  return { parts, clock, calls, state, published, lines };
}

describe("what is opened before queries are answered", () => {
  test.each([
    { name: "sockets and admin listeners", setting: {}, opened: ["pool listens", "admin opens", "siblings start"] },
    {
      name: "no socket that was inherited: queries wait there",
      setting: { hasInherited: true },
      opened: ["admin opens", "siblings start"],
    },
    {
      name: "nothing that a predecessor has still",
      setting: { hasPredecessor: true },
      opened: ["siblings start patiently"],
    },
  ])("$name", async ({ setting, opened }) => {
    const { parts, calls, state } = setUp(setting);
    await openSockets(parts);
    expect(calls).toEqual(opened);
    expect(state.listensLater).toBe(!calls.includes("pool listens"));
  });
});

describe("queries are answered", () => {
  test.each([
    { name: "at once, if nothing is awaited", setting: {}, atMs: 0, isComplete: true },
    { name: "with the last first result", setting: { firstRoundMs: 700 }, atMs: 700, isComplete: true },
    {
      name: "when discovery has something",
      setting: { discoveredMs: 900, firstRoundMs: 700 },
      atMs: 900,
      isComplete: true,
    },
    { name: "after 3 s whatever is missing", setting: { firstRoundMs: 60_000 }, atMs: 3_000, isComplete: false },
    { name: "not before serials are kept", setting: { serialsMs: 400 }, atMs: 400, isComplete: true },
    { name: "although the disk hangs", setting: { serialsMs: 60_000 }, atMs: 3_000, isComplete: true },
  ])("$name", async ({ setting, atMs, isComplete }) => {
    const { parts, clock, state, published, calls } = setUp(setting);
    const ready = becomeReady(parts);
    if (atMs > 0) {
      await clock.advance(atMs - 1);
      expect(state.isReady).toBe(false);
    }
    await clock.advance(1);
    await ready;
    expect(state.isReady).toBe(true);
    expect(calls).toEqual(["persistence starts", "monitor starts", "discovery starts", "pool answers"]);
    expect(published).toEqual([{ type: "ready", isComplete, endpoints: [{ fqdn: "api.k8s.example.com" }] }]);
  });

  test("on inherited sockets once there is an answer", async () => {
    const { parts, calls } = setUp({ hasInherited: true });
    await becomeReady(parts);
    expect(calls.slice(-2)).toEqual(["pool answers", "pool listens"]);
  });

  test("beside a predecessor, which then leaves", async () => {
    const { parts, calls } = setUp({ hasPredecessor: true });
    await becomeReady(parts);
    expect(calls.slice(3)).toEqual([
      "pool answers",
      "pool listens beside",
      "predecessor leaves to 2",
      "pool settles",
      "overrides adopt",
      "admin opens patiently",
    ]);
  });

  test("not any more, if it was stopped meanwhile", async () => {
    const { parts, clock, state, calls, published } = setUp({ firstRoundMs: 500 });
    const ready = becomeReady(parts);
    state.isStopping = true;
    await clock.advance(500);
    await ready;
    expect([state.isReady, calls.includes("pool answers"), published]).toEqual([false, false, []]);
  });
});

test("a stop ends what acts first, keeps what there is to keep, and closes last, in less than 5 s", async () => {
  const { parts, calls, state, lines } = setUp();
  await stopServer(parts);
  expect(state.isStopping).toBe(true);
  const order = [
    "watch stops",
    "discovery stops",
    "monitor stops",
    "overrides stop",
    "persistence stops",
    "serials stop",
  ];
  expect(calls.filter((call) => order.includes(call))).toEqual(order);
  expect(calls.slice(-2)).toEqual(["pool stops in 3000", "admin stops in 3000"]);
  expect(lines).toEqual([[{}, "server stopped"]]);
});

test("a server that has left its port keeps its serials for the successor", async () => {
  const { parts, calls, state } = setUp();
  state.hasLeft = true;
  await stopServer(parts);
  expect(calls).toContain("serials stop, left");
});

describe("the log at a start", () => {
  test("tells what was started", () => {
    const { parts, lines } = setUp();
    logStart(parts);
    expect(lines).toEqual([
      [
        expect.objectContaining({
          listen: ["192.0.2.53:53"],
          http: "127.0.0.1:8080",
          socket: "admin.sock",
          zones: 2,
          endpoints: 1,
        }),
        "server started",
      ],
    ]);
  });

  test.each([
    { isFresh: true, says: "last health serves" },
    { isFresh: false, says: "last health is too old" },
  ])("and whether what was known serves: $isFresh", ({ isFresh, says }) => {
    const { parts, lines } = setUp({ known: { isFresh, ageMs: 1234.5 } });
    logStart(parts);
    expect(lines[1]).toEqual([{ ageMs: 1235, isFresh }, says]);
  });
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProbeConfig } from "../../src/config/config.js";
import type { ProbeResult, ResultClass, Snapshot, Transition } from "../../src/health/health.js";
import type { MonitoredEndpoint, ProbeReport } from "../../src/health/health-monitor.js";
import { createHealthMonitor } from "../../src/health/monitor.js";
import type { RunProbe } from "../../src/health/probes/probe.js";
import { createFakeClock, type FakeClock } from "../support/fake-clock.js";

const SCHEDULE = { intervalMs: 2000, timeoutMs: 2000, recheckMs: 1000, rise: 2, fall: 3 };
const HTTPS: ProbeConfig = {
  ...SCHEDULE,
  type: "https",
  path: "/readyz",
  expectStatus: [200],
  serverName: "api.k8s.example.com",
  port: 6443,
  insecureSkipVerify: false,
};

/** What an address answers to a probe that starts now. */
type Behaviour = { readonly class: ResultClass; readonly tookMs: number };
const OK: Behaviour = { class: "ok", tookMs: 5 };
const REFUSED: Behaviour = { class: "refused", tookMs: 1 };
const NOT_READY: Behaviour = { class: "not-ready", tookMs: 5 };
const HANG: Behaviour = { class: "timeout", tookMs: 2000 };

/** An endpoint whose targets have one address each, or those after a colon. */
function endpoint(fqdn: string, targets: readonly string[], probe: ProbeConfig = HTTPS): MonitoredEndpoint {
  return {
    fqdn,
    probe,
    targets: targets.map((text) => {
      const [id = "", addresses] = text.split(":");
      return { id, addresses: addresses?.split(",") ?? [`${id}-address`] };
    }),
  };
}

/** Numbers between 0 and 1 that look random and are the same each time. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Probe {
  readonly address: string;
  readonly config: ProbeConfig;
  readonly startedMs: number;
  endedMs?: number;
  aborted?: boolean;
}

function harness(options: { random?: () => number; clock?: FakeClock; maxFirstProbes?: number } = {}) {
  const clock = options.clock ?? createFakeClock();
  const behaviours = new Map<string, Behaviour>();
  const probes: Probe[] = [];
  const batches: { atMs: number; transitions: readonly Transition[]; snapshot: Snapshot }[] = [];
  const reports: ProbeReport[] = [];
  const runProbe: RunProbe = ({ address }, config, signal) =>
    new Promise((resolve) => {
      const probe: Probe = { address, config, startedMs: clock.monotonicMs() };
      probes.push(probe);
      const { class: resultClass, tookMs } = behaviours.get(address) ?? OK;
      const result: ProbeResult = { class: resultClass, reason: resultClass, durationMs: tookMs };
      const timer = clock.after(tookMs, () => {
        probe.endedMs = clock.monotonicMs();
        resolve(result);
      });
      signal?.addEventListener("abort", () => {
        timer.cancel();
        probe.aborted = true;
        resolve({ class: "timeout", reason: "stopped", durationMs: 0 });
      });
    });
  const monitor = createHealthMonitor({
    clock,
    random: options.random ?? seeded(1),
    runProbe,
    onTransition: (transitions, snapshot) => batches.push({ atMs: clock.monotonicMs(), transitions, snapshot }),
    onResult: (report) => reports.push(report),
    ...(options.maxFirstProbes === undefined ? {} : { maxFirstProbes: options.maxFirstProbes }),
  });
  return {
    clock,
    monitor,
    probes,
    batches,
    reports,
    behave: (address: string, behaviour: Behaviour) => behaviours.set(address, behaviour),
    /** `cp1:up cp2:down`: the picture of an endpoint, one word for each address. */
    picture(fqdn = "api"): string {
      const targets = monitor.snapshot().endpoints.get(fqdn)?.targets ?? [];
      return targets.flatMap(({ id, addresses }) => addresses.map(({ health }) => `${id}:${health}`)).join(" ");
    },
    transitions: () => batches.flatMap(({ transitions }) => transitions),
  };
}

async function isDone(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

describe("the first round", () => {
  test("probes every address at once, and each first result decides", async () => {
    const { monitor, clock, behave, probes, picture, batches } = harness();
    behave("cp2-address", REFUSED);
    monitor.configure([endpoint("api", ["cp1", "cp2", "cp3:a,b"])]);
    expect(probes).toEqual([]);
    expect(picture()).toBe("cp1:unknown cp2:unknown cp3:unknown cp3:unknown");
    monitor.start();
    await clock.advance(5);
    expect(probes.map(({ startedMs }) => startedMs)).toEqual([0, 0, 0, 0]);
    expect(picture()).toBe("cp1:up cp2:down cp3:up cp3:up");
    expect(batches[0]?.transitions).toEqual([
      {
        fqdn: "api",
        target: "cp2",
        address: "cp2-address",
        from: "unknown",
        to: "down",
        result: { class: "refused", reason: "refused", durationMs: 1 },
        afterMs: 1,
      },
    ]);
  });

  test("is over when the slowest has a result, not before", async () => {
    const { monitor, clock, behave } = harness();
    behave("cp2-address", HANG);
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    expect(await isDone(monitor.firstRound)).toBe(false);
    monitor.start();
    await clock.advance(1999);
    expect(await isDone(monitor.firstRound)).toBe(false);
    await clock.advance(1);
    expect(await isDone(monitor.firstRound)).toBe(true);
  });

  test("does not wait for an address that a reload removed", async () => {
    const { monitor, clock, behave } = harness();
    behave("cp2-address", HANG);
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    monitor.start();
    await clock.advance(100);
    monitor.configure([endpoint("api", ["cp1"])]);
    expect(await isDone(monitor.firstRound)).toBe(true);
  });

  test.each([
    ["nothing to watch", []],
    ["nothing that is probed", [endpoint("api", ["cp1"], { ...SCHEDULE, type: "none" })]],
  ])("is over at the start with %s", async (_name, endpoints) => {
    const { monitor } = harness();
    monitor.configure(endpoints);
    expect(await isDone(monitor.firstRound)).toBe(false);
    monitor.start();
    expect(await isDone(monitor.firstRound)).toBe(true);
  });

  test("keeps to its limit of first probes under way", async () => {
    const { monitor, clock, probes, behave } = harness({ maxFirstProbes: 10 });
    const ids = Array.from({ length: 35 }, (_, index) => `t${index}`);
    for (const id of ids) behave(`${id}-address`, { class: "ok", tookMs: 100 });
    monitor.configure([endpoint("api", ids)]);
    monitor.start();
    await clock.advance(350);
    const first = new Map(probes.toReversed().map(({ address, startedMs }) => [address, startedMs]));
    const starts = [...first.values()].sort((a, b) => a - b);
    expect(starts.filter((ms) => ms === 0)).toHaveLength(10);
    expect([starts[10], starts[20], starts[34]]).toEqual([100, 200, 300]);
  });
});

describe("the schedule", () => {
  test("keeps every interval within 10 % once the second probe is placed", async () => {
    const { monitor, clock, probes } = harness();
    monitor.configure([endpoint("api", ["cp1", "cp2", "cp3"])]);
    monitor.start();
    await clock.advance(60_000);
    for (const id of ["cp1", "cp2", "cp3"]) {
      const starts = probes.filter(({ address }) => address === `${id}-address`).map(({ startedMs }) => startedMs);
      const gaps = starts.slice(1).map((ms, index) => ms - starts[index]!);
      expect(gaps[0]).toBeLessThanOrEqual(2000);
      expect(Math.min(...gaps.slice(1))).toBeGreaterThanOrEqual(1800);
      expect(Math.max(...gaps)).toBeLessThanOrEqual(2200);
      expect(new Set(gaps).size).toBeGreaterThan(10);
    }
  });

  test("spreads what started together over the interval", async () => {
    const { monitor, clock, probes } = harness();
    monitor.configure([
      endpoint(
        "api",
        Array.from({ length: 400 }, (_, index) => `t${index}`),
      ),
    ]);
    monitor.start();
    await clock.advance(10_000);
    const perTenth = new Array<number>(10).fill(0);
    for (const { startedMs } of probes) {
      if (startedMs >= 4000 && startedMs < 6000) perTenth[Math.floor((startedMs - 4000) / 200)]! += 1;
    }
    // 40 each when spread evenly; all 400 in two of them when not spread at all.
    expect(Math.max(...perTenth)).toBeLessThan(80);
  });

  test("never has two probes of one address under way", async () => {
    const { monitor, clock, probes, behave } = harness();
    behave("cp1-address", HANG);
    monitor.configure([endpoint("api", ["cp1"], { ...HTTPS, intervalMs: 2000 })]);
    monitor.start();
    await clock.advance(30_000);
    expect(probes.length).toBeGreaterThan(10);
    probes.slice(1).forEach((probe, index) => {
      expect(probe.startedMs).toBeGreaterThanOrEqual(probes[index]!.endedMs!);
    });
  });

  test("tells how late a probe began", async () => {
    const { monitor, clock, reports } = harness({ maxFirstProbes: 1 });
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    monitor.start();
    await clock.advance(10);
    expect(reports.map(({ lagMs }) => lagMs)).toEqual([0, 5]);
  });
});

describe("a failure is noticed", () => {
  // The failure comes at any moment, whatever the dice of the schedule say.
  const worst = (behaviour: Behaviour, boundMs: number) =>
    fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 10_000, max: 20_000 }), async (seed, failsAtMs) => {
        const { monitor, clock, behave, transitions, batches } = harness({ random: seeded(seed) });
        monitor.configure([endpoint("api", ["cp1"])]);
        monitor.start();
        await clock.advance(failsAtMs);
        behave("cp1-address", behaviour);
        await clock.advance(boundMs);
        expect(transitions().map(({ to }) => to)).toEqual(["up", "down"]);
        expect(batches[1]?.atMs).toBeGreaterThan(failsAtMs);
        monitor.stop();
      }),
      { numRuns: 200 },
    );

  test("within interval + 0.5 s when it refuses", () => worst(REFUSED, 2500));
  test("within interval + 0.5 s when it says that it is not ready", () => worst(NOT_READY, 2500));
  test("within interval + fall x timeout + 0.5 s when it hangs", () => worst(HANG, 8500));
  test("within interval + 2 rechecks + 0.5 s when it fails otherwise", () =>
    worst({ class: "tls-untrusted", tookMs: 10 }, 4500));
  test("within interval + recheck + 0.5 s when its certificate has expired", () =>
    worst({ class: "tls-expired", tookMs: 10 }, 3500));

  test("no sooner than the rules allow", async () => {
    const { monitor, clock, behave, batches } = harness();
    monitor.configure([endpoint("api", ["cp1"])]);
    monitor.start();
    await clock.advance(10_000);
    behave("cp1-address", HANG);
    await clock.advance(10_000);
    const [transition] = batches[1]!.transitions;
    expect(transition).toMatchObject({ from: "up", to: "down", afterMs: 4000 });
  });

  test("and its return within interval + recheck", async () => {
    const { monitor, clock, behave, picture } = harness();
    behave("cp1-address", REFUSED);
    monitor.configure([endpoint("api", ["cp1"])]);
    monitor.start();
    await clock.advance(10_000);
    expect(picture()).toBe("cp1:down");
    behave("cp1-address", OK);
    await clock.advance(2200 + 5 + 1000 + 5);
    expect(picture()).toBe("cp1:up");
  });
});

test("thirty minutes of answers that alternate below the thresholds change nothing", async () => {
  const { monitor, clock, behave, transitions, probes } = harness();
  monitor.configure([endpoint("api", ["cp1", "cp2"])]);
  monitor.start();
  await clock.advance(1000);
  for (let round = 0; round < 1800; round += 1) {
    behave("cp1-address", round % 2 === 0 ? OK : { class: "unexpected-status", tookMs: 5 });
    behave("cp2-address", { class: "ok", tookMs: 1900 });
    await clock.advance(1000);
  }
  expect(probes.length).toBeGreaterThan(1500);
  expect(transitions().map(({ to }) => to)).toEqual(["up", "up"]);
});

describe("a reload", () => {
  test("lets what stays keep its health, its moment and its schedule", async () => {
    const { monitor, clock, behave, probes, picture } = harness();
    behave("cp2-address", REFUSED);
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    monitor.start();
    await clock.advance(5000);
    const before = monitor.snapshot();
    const made = probes.length;
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    expect(monitor.snapshot().endpoints.get("api")).toBe(before.endpoints.get("api"));
    expect(picture()).toBe("cp1:up cp2:down");
    await clock.advance(0);
    expect(probes).toHaveLength(made);
  });

  test("withholds a target that joins until it has passed `rise` times", async () => {
    const { monitor, clock, picture, probes } = harness();
    monitor.configure([endpoint("api", ["cp1"])]);
    monitor.start();
    await clock.advance(5000);
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    await clock.advance(5);
    expect(probes.filter(({ address }) => address === "cp2-address")).toMatchObject([{ startedMs: 5000 }]);
    expect(picture()).toBe("cp1:up cp2:unknown");
    await clock.advance(1004);
    expect(picture()).toBe("cp1:up cp2:unknown");
    await clock.advance(1);
    expect(picture()).toBe("cp1:up cp2:up");
  });

  test("lets the first result decide for an endpoint that is new", async () => {
    const { monitor, clock, picture } = harness();
    monitor.configure([endpoint("api", ["cp1"])]);
    monitor.start();
    await clock.advance(5000);
    monitor.configure([endpoint("api", ["cp1"]), endpoint("other", ["x"])]);
    await clock.advance(5);
    expect(picture("other")).toBe("x:up");
  });

  test("stops the probe of what goes at once, and hears no more of it", async () => {
    const { monitor, clock, behave, probes, reports, picture } = harness();
    behave("cp2-address", HANG);
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    monitor.start();
    await clock.advance(1000);
    monitor.configure([endpoint("api", ["cp1"])]);
    expect(probes.find(({ address }) => address === "cp2-address")?.aborted).toBe(true);
    const made = probes.filter(({ address }) => address === "cp2-address").length;
    await clock.advance(20_000);
    expect(probes.filter(({ address }) => address === "cp2-address")).toHaveLength(made);
    expect(reports.some(({ address }) => address === "cp2-address")).toBe(false);
    expect(picture()).toBe("cp1:up");
  });

  test("starts afresh for an address that comes back while its old probe ends", async () => {
    const { monitor, clock, behave, picture, reports } = harness();
    behave("cp2-address", HANG);
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    monitor.start();
    await clock.advance(1000);
    monitor.configure([endpoint("api", ["cp1"])]);
    behave("cp2-address", OK);
    monitor.configure([endpoint("api", ["cp1", "cp2"])]);
    await clock.advance(1010);
    expect(picture()).toBe("cp1:up cp2:up");
    expect(reports.filter(({ address, result }) => address === "cp2-address" && result.class !== "ok")).toEqual([]);
  });

  test("applies changed settings from the next probe, without a probe in between", async () => {
    const { monitor, clock, probes, picture } = harness();
    monitor.configure([endpoint("api", ["cp1"])]);
    monitor.start();
    await clock.advance(5000);
    const made = probes.length;
    monitor.configure([endpoint("api", ["cp1"], { ...HTTPS, path: "/livez", intervalMs: 10_000 })]);
    expect(picture()).toBe("cp1:up");
    await clock.advance(0);
    expect(probes).toHaveLength(made);
    await clock.advance(2200);
    expect(probes.slice(made).map(({ config }) => "path" in config && config.path)).toEqual(["/livez"]);
    await clock.advance(8000);
    expect(probes).toHaveLength(made + 1);
  });

  test("stops a probe whose settings changed, and makes the new one at once", async () => {
    const { monitor, clock, probes, behave, picture } = harness();
    behave("cp1-address", HANG);
    monitor.configure([endpoint("api", ["cp1"])]);
    monitor.start();
    await clock.advance(1000);
    behave("cp1-address", OK);
    monitor.configure([endpoint("api", ["cp1"], { ...HTTPS, port: 443 })]);
    await clock.advance(5);
    expect(probes).toMatchObject([{ aborted: true }, { startedMs: 1000 }]);
    expect(picture()).toBe("cp1:up");
  });

  test("to no probe makes it up, and back lets probes decide from there", async () => {
    const { monitor, clock, behave, picture, probes } = harness();
    behave("cp1-address", REFUSED);
    monitor.configure([endpoint("api", ["cp1"])]);
    monitor.start();
    await clock.advance(5000);
    monitor.configure([endpoint("api", ["cp1"], { ...SCHEDULE, type: "none" })]);
    expect(picture()).toBe("cp1:up");
    const made = probes.length;
    await clock.advance(20_000);
    expect(probes).toHaveLength(made);
    monitor.configure([endpoint("api", ["cp1"])]);
    expect(picture()).toBe("cp1:up");
    await clock.advance(300);
    expect(picture()).toBe("cp1:down");
  });
});

describe("a shared probe", () => {
  test("is made once for all endpoints that want the same", async () => {
    const { monitor, clock, probes, batches, reports, behave } = harness();
    monitor.configure([endpoint("api", ["cp1:a"]), endpoint("alias", ["m1:a"], { ...HTTPS, fall: 2, rise: 1 })]);
    monitor.start();
    await clock.advance(20_000);
    expect(probes.length).toBeLessThanOrEqual(12);
    expect(batches).toHaveLength(1);
    expect(batches[0]?.transitions.map(({ fqdn, target }) => `${fqdn}/${target}`)).toEqual(["api/cp1", "alias/m1"]);
    expect(reports[0]?.targets).toEqual([
      { fqdn: "api", target: "cp1" },
      { fqdn: "alias", target: "m1" },
    ]);
    behave("a", { class: "reset", tookMs: 5 });
    await clock.advance(5000);
    // Each endpoint by its own thresholds: fall 2 first, fall 3 a recheck later.
    expect(batches.slice(1).map(({ transitions }) => transitions.map(({ fqdn }) => fqdn))).toEqual([
      ["alias"],
      ["api"],
    ]);
    expect(batches[2]!.atMs - batches[1]!.atMs).toBe(1000);
  });

  test("is not shared by requests that differ", async () => {
    const { monitor, clock, probes } = harness();
    monitor.configure([
      endpoint("one", ["cp1:a"]),
      endpoint("two", ["cp1:a"], { ...HTTPS, serverName: "two.example.com" }),
      endpoint("three", ["cp1:a"], { ...HTTPS, timeoutMs: 500 }),
      endpoint("four", ["cp1:a"], { ...SCHEDULE, type: "tcp", port: 6443 }),
    ]);
    monitor.start();
    await clock.advance(5);
    expect(probes).toHaveLength(4);
  });

  test("runs at the pace of the most hurried, and keeps the promise of the others", async () => {
    const { monitor, clock, probes, batches, behave } = harness();
    const patient = { ...HTTPS, intervalMs: 10_000, recheckMs: 5000 };
    monitor.configure([endpoint("hurried", ["cp1:a"]), endpoint("patient", ["cp1:a"], patient)]);
    monitor.start();
    await clock.advance(30_000);
    expect(probes.length).toBeGreaterThanOrEqual(14);
    expect(probes.length).toBeLessThanOrEqual(18);
    behave("a", { class: "reset", tookMs: 5 });
    await clock.advance(20_000);
    const [, first, second] = batches;
    expect(first?.transitions).toMatchObject([{ fqdn: "hurried", to: "down", afterMs: 2005 }]);
    expect(second?.transitions).toMatchObject([{ fqdn: "patient", to: "down" }]);
    expect(second!.transitions[0]!.afterMs).toBeGreaterThanOrEqual(10_005);
  });

  test("goes on for one endpoint when the other goes", async () => {
    const { monitor, clock, probes } = harness();
    monitor.configure([endpoint("api", ["cp1:a"]), endpoint("alias", ["m1:a"])]);
    monitor.start();
    await clock.advance(5000);
    monitor.configure([endpoint("alias", ["m1:a"])]);
    const made = probes.length;
    await clock.advance(4400);
    expect(probes.length - made).toBeGreaterThanOrEqual(2);
    expect(probes.some(({ aborted }) => aborted)).toBe(false);
  });

  test("of an endpoint that joins is made at once", async () => {
    const { monitor, clock, probes, picture } = harness();
    const slow = { ...HTTPS, intervalMs: 60_000 };
    monitor.configure([endpoint("api", ["cp1:a"], slow)]);
    monitor.start();
    await clock.advance(200_000);
    const made = probes.length;
    monitor.configure([endpoint("api", ["cp1:a"], slow), endpoint("alias", ["m1:a"], slow)]);
    await clock.advance(5);
    expect(probes).toHaveLength(made + 1);
    expect(picture("alias")).toBe("m1:up");
  });
});

describe("the snapshot", () => {
  test("never changes once made, and shares what did not change", async () => {
    const { monitor, clock, behave, batches } = harness();
    monitor.configure([endpoint("api", ["cp1", "cp2"]), endpoint("quiet", ["q"], { ...SCHEDULE, type: "none" })]);
    monitor.start();
    await clock.advance(10_000);
    const before = monitor.snapshot();
    const copy = structuredClone(before);
    behave("cp1-address", REFUSED);
    await clock.advance(5000);
    const after = batches.at(-1)!.snapshot;
    expect(before).toEqual(copy);
    expect(after.endpoints.get("quiet")).toBe(before.endpoints.get("quiet"));
    expect(after.endpoints.get("api")).not.toBe(before.endpoints.get("api"));
    expect(after.endpoints.get("api")?.targets[0]?.addresses[0]).toMatchObject({
      address: "cp1-address",
      health: "down",
      last: { class: "refused" },
    });
    expect(monitor.snapshot()).toBe(monitor.snapshot());
  });

  test("dates a change by the wall clock, and decides by the other", async () => {
    const { monitor, clock, behave, picture, transitions } = harness();
    monitor.configure([endpoint("api", ["cp1"])]);
    monitor.start();
    await clock.advance(10_000);
    clock.stepWall(-3_600_000);
    await clock.advance(10_000);
    clock.stepWall(7_200_000);
    await clock.advance(10_000);
    expect(picture()).toBe("cp1:up");
    expect(transitions()).toHaveLength(1);
    behave("cp1-address", REFUSED);
    await clock.advance(2500);
    const address = monitor.snapshot().endpoints.get("api")!.targets[0]!.addresses[0]!;
    expect(address.health).toBe("down");
    expect(clock.wallMs() - address.sinceMs).toBeLessThanOrEqual(2500);
  });

  test("follows the order of the configuration", async () => {
    const { monitor, picture } = harness();
    monitor.configure([endpoint("api", ["b", "a", "c"])]);
    expect(picture()).toBe("b:unknown a:unknown c:unknown");
    monitor.configure([endpoint("api", ["c", "b"])]);
    expect(picture()).toBe("c:unknown b:unknown");
    monitor.configure([]);
    expect(monitor.snapshot().endpoints.size).toBe(0);
  });
});

test("stop ends every probe and leaves no timer", async () => {
  const { monitor, clock, probes, behave, batches } = harness();
  behave("cp2-address", HANG);
  monitor.configure([endpoint("api", ["cp1", "cp2"])]);
  monitor.start();
  await clock.advance(500);
  monitor.stop();
  await clock.advance(0);
  expect(clock.pendingTimers).toBe(0);
  const before = [probes.length, batches.length];
  monitor.configure([endpoint("api", ["cp1", "cp3"])]);
  monitor.start();
  await clock.advance(60_000);
  expect([probes.length, batches.length]).toEqual(before);
});

test("a probe that breaks its promise and rejects is no evidence, and is tried again", async () => {
  const clock = createFakeClock();
  let calls = 0;
  const transitions: Transition[] = [];
  const monitor = createHealthMonitor({
    clock,
    random: () => 0.5,
    runProbe: async () => {
      calls += 1;
      if (calls % 2 === 0) throw new Error("a defect");
      return { class: "ok", reason: "ok", durationMs: 0 };
    },
    onTransition: (changes) => transitions.push(...changes),
  });
  monitor.configure([endpoint("api", ["cp1"])]);
  monitor.start();
  await clock.advance(9000);
  expect(calls).toBeGreaterThanOrEqual(5);
  expect(transitions.map(({ to }) => to)).toEqual(["up"]);
});

test("ten thousand targets are all probed in every interval", async () => {
  const { monitor, clock, probes } = harness({ maxFirstProbes: 20_000 });
  const probe = { ...HTTPS, intervalMs: 10_000 };
  const endpoints = Array.from({ length: 100 }, (_, e) =>
    endpoint(
      `e${e}`,
      Array.from({ length: 100 }, (_, t) => `t${e}-${t}`),
      probe,
    ),
  );
  monitor.configure(endpoints);
  monitor.start();
  await clock.advance(10);
  expect(await isDone(monitor.firstRound)).toBe(true);
  await clock.advance(10_990);
  expect(new Set(probes.filter(({ startedMs }) => startedMs > 0).map(({ address }) => address)).size).toBe(10_000);
  expect(clock.pendingTimers).toBeLessThanOrEqual(20_000);
  monitor.stop();
});

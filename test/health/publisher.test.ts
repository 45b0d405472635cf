import { describe, expect, test } from "vitest";
import { NarrowingGuard } from "../../src/health/narrowing-guard.js";
import { Publisher } from "../../src/health/publisher.js";
import { Registry } from "../../src/health/registry.js";
import { createFakeClock } from "../support/fake-clock.js";
import { type Behaviour, endpoints, HTTPS, monitorHarness, NO_ROUTE, OK, REFUSED } from "./monitor-harness.js";

const THREE = { api: ["cp1", "cp2", "cp3"] };
const NOT_READY: Behaviour = { class: "not-ready", tookMs: 5 };
const PROBE = { ...HTTPS, timeoutMs: 3000 };

async function started(targets: Record<string, string[]> = THREE, probe = PROBE) {
  const harness = monitorHarness();
  harness.monitor.configure(endpoints(targets, probe));
  harness.monitor.start();
  await harness.advance(10_000);
  return { ...harness, seen: await widths(harness) };
}

/** Lets time pass in steps of 10 ms, and takes the number of targets that are up after each. */
async function widths({ advance, picture }: ReturnType<typeof monitorHarness>) {
  return async (ms: number): Promise<readonly number[]> => {
    const counts: number[] = [];
    for (let passed = 0; passed < ms; passed += 10) {
      await advance(10);
      counts.push((picture().match(/:up/g) ?? []).length);
    }
    return counts;
  };
}

async function waitForDown(
  advance: (ms: number) => Promise<void>,
  transitions: readonly { readonly target: string; readonly to: string }[],
  target: string,
): Promise<void> {
  for (let waited = 0; waited < 5_000; waited += 10) {
    const last = transitions.at(-1);
    if (last?.target === target && last.to === "down") return;
    await advance(10);
  }
}

describe("when all share one cause", () => {
  test("the answer goes from two or more to none, without one alone", async () => {
    const { behave, seen } = await started();
    behave(NOT_READY, "cp1", "cp2", "cp3");
    const counts = await seen(5000);
    expect(counts).not.toContain(1);
    expect(counts.at(-1)).toBe(0);
  });

  test("also when each fails at a moment of its own", async () => {
    const { behave, advance, seen } = await started();
    behave(NOT_READY, "cp1");
    await advance(600);
    behave(NOT_READY, "cp2");
    const before = await seen(400);
    behave(NOT_READY, "cp3");
    const counts = [...before, ...(await seen(8000))];
    expect(counts).not.toContain(1);
    expect(counts.at(-1)).toBe(0);
  });

  test("one that was withdrawn first is answered again with those that follow", async () => {
    const { behave, advance, transitions, picture } = await started();
    behave(NOT_READY, "cp1");
    await waitForDown(advance, transitions, "cp1");
    behave(NOT_READY, "cp2");
    await advance(1000);
    expect(picture()).toBe("cp1:up cp2:up cp3:up");
    expect(transitions.at(-1)).toMatchObject({ target: "cp1", from: "down", to: "up", result: { class: "not-ready" } });
    expect(transitions.at(-1)?.result.reason).toMatch(/; others fail as well$/);
    // The third passes all the time: the others do not share its health.
    await advance(3000);
    expect(picture()).toBe("cp1:down cp2:down cp3:up");
  });

  test("those that fail at once are not withdrawn one by one", async () => {
    const { behave, advance, transitions, picture } = await started();
    const before = transitions.length;
    behave(NOT_READY, "cp1", "cp2");
    await advance(2200 + 205 + 500);
    behave(OK, "cp1", "cp2");
    await advance(5000);
    expect(picture()).toBe("cp1:up cp2:up cp3:up");
    expect(transitions.slice(before)).toEqual([]);
  });

  test("also when each answer takes two seconds", async () => {
    const { behave, seen } = await started();
    behave({ class: "not-ready", tookMs: 2000 }, "cp1", "cp2", "cp3");
    const counts = await seen(15_000);
    expect(counts).not.toContain(1);
    expect(counts.at(-1)).toBe(0);
  });

  test("and on the way back", async () => {
    const { behave, seen } = await started();
    behave(NOT_READY, "cp1", "cp2", "cp3");
    await seen(6000);
    behave(OK, "cp1");
    const before = await seen(500);
    behave(OK, "cp2", "cp3");
    const counts = [...before, ...(await seen(8000))];
    expect(counts).not.toContain(1);
    expect(counts.at(-1)).toBe(3);
  });
});

describe("when each has a cause of its own", () => {
  test("a second crash is delayed by a probe of the third", async () => {
    const { behave, advance, trip, clock, transitions } = await started();
    behave(REFUSED, "cp1");
    trip("cp1");
    await advance(5000);
    behave(REFUSED, "cp2");
    const diedMs = clock.monotonicMs();
    trip("cp2");
    await advance(1000);
    expect(transitions.at(-1)).toMatchObject({ target: "cp2", to: "down" });
    expect(transitions.at(-1)!.atMs - diedMs).toBeLessThanOrEqual(20 + 1 + 200 + 1 + OK.tookMs);
  });

  test("by 100 ms at most if that does not answer", async () => {
    const { behave, advance, trip, clock, transitions } = await started();
    behave(REFUSED, "cp1");
    trip("cp1");
    await advance(5000);
    behave(REFUSED, "cp2");
    behave({ class: "ok", tookMs: 1500 }, "cp3");
    const diedMs = clock.monotonicMs();
    trip("cp2");
    await advance(1000);
    expect(transitions.at(-1)).toMatchObject({ target: "cp2", to: "down" });
    expect(transitions.at(-1)!.atMs - diedMs).toBeLessThanOrEqual(20 + 1 + 200 + 1 + 100 + 1);
  });

  test("the first that returns is answered at once if the others are dead", async () => {
    const { behave, advance, picture } = await started();
    behave(REFUSED, "cp1", "cp2", "cp3");
    await advance(6000);
    behave(OK, "cp1");
    await advance(2200 + 5 + 1000 + 5 + 100);
    expect(picture()).toBe("cp1:up cp2:down cp3:down");
  });

  test("what comes back while it is held back leaves no trace", async () => {
    const { behave, advance, transitions, picture, seen } = await started();
    behave(NOT_READY, "cp1");
    await advance(5000);
    const before = transitions.length;
    behave(NOT_READY, "cp2");
    // Held back for 1.5 s at least; it comes back before.
    await advance(2500);
    behave(OK, "cp2");
    await seen(10_000);
    expect(picture()).toBe("cp1:down cp2:up cp3:up");
    expect(transitions.slice(before).every(({ target }) => target === "cp2")).toBe(true);
  });

  test("a prober that is cut off keeps them all", async () => {
    const { behave, advance, picture } = await started();
    behave(NO_ROUTE, "cp1", "cp2", "cp3");
    await advance(60_000);
    expect(picture()).toBe("cp1:up cp2:up cp3:up");
  });
});

test("an endpoint that is not monitored has nothing to publish, and holds nothing back", () => {
  const clock = createFakeClock();
  const parts = { clock, ask: () => {}, onDue: () => {} };
  const guard = new NarrowingGuard({ ...parts, targetsOf: () => [] });
  expect(guard.review("api", false)).toBe("publish");
  const publisher = new Publisher({ ...parts, registry: new Registry(), update: () => {} });
  expect(publisher.publish(["api"], false)).toEqual([]);
  publisher.drop("api");
  publisher.stop();
  expect(clock.pendingTimers).toBe(0);
});

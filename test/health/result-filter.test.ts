import { describe, expect, test } from "vitest";
import type { ProbeConfig } from "../../src/config/config.js";
import type { ResultClass } from "../../src/health/health.js";
import { type FilteredJob, type Ignored, ResultFilter } from "../../src/health/result-filter.js";
import type { Clock } from "../../src/lib/clock.js";
import { createFakeClock } from "../support/fake-clock.js";

const CONFIG = { type: "tcp", port: 6443, intervalMs: 2_000, timeoutMs: 2_000 } as unknown as ProbeConfig;

/** A filter on a clock that can stand still, with jobs by name. */
function setUp(names: string, knowsBetter = () => false) {
  const fake = createFakeClock();
  let stoodStillMs = 0;
  const clock: Clock = { ...fake, monotonicMs: () => fake.monotonicMs() + stoodStillMs };
  const jobs = new Map([...names].map((name): [string, FilteredJob] => [name, { cutOff: false }]));
  const isolations: boolean[] = [];
  const stalls: number[] = [];
  const filter = new ResultFilter({
    clock,
    knowsBetter,
    onStall: (ms) => stalls.push(ms),
    onIsolation: (isolated) => isolations.push(isolated),
  });
  filter.start();
  const jobOf = (name: string) => jobs.get(name) as FilteredJob;
  return {
    filter,
    isolations,
    stalls,
    pendingTimers: () => fake.pendingTimers,
    advance: (ms: number) => fake.advance(ms),
    nowMs: () => clock.monotonicMs(),
    standStill(ms: number) {
      stoodStillMs += ms;
    },
    /** A probe ends now, and began so long ago. */
    ends: (name: string, resultClass: ResultClass, tookMs = 1): Ignored | undefined =>
      filter.judge(jobOf(name), {
        config: CONFIG,
        result: { class: resultClass, reason: "r", durationMs: tookMs },
        startedMs: clock.monotonicMs() - tookMs,
        endedMs: clock.monotonicMs(),
        addresses: jobs.size,
      }),
    hangs: (name: string) => filter.noteUnconnected(jobOf(name), CONFIG.intervalMs, jobs.size),
    forget(name: string) {
      filter.forget(jobOf(name));
      jobs.delete(name);
    },
  };
}

describe("a process that stood still", () => {
  test.each<{ readonly found: ResultClass; readonly stalledMs: number; readonly says: Ignored | undefined }>([
    // A quarter of the timeout of 2 s is too much. The watchdog looks each 200 ms, so what is late counts from there.
    { found: "timeout", stalledMs: 500, says: "stalled" },
    { found: "timeout", stalledMs: 499, says: undefined },
    { found: "unreachable", stalledMs: 500, says: "stalled" },
    { found: "reset", stalledMs: 500, says: "stalled" },
    { found: "refused", stalledMs: 10_000, says: undefined },
    { found: "not-ready", stalledMs: 10_000, says: undefined },
    { found: "ok", stalledMs: 10_000, says: undefined },
  ])("for $stalledMs ms: $found is left out: $says", async ({ found, stalledMs, says }) => {
    const { advance, standStill, ends, stalls } = setUp("a");
    await advance(1_000);
    standStill(stalledMs);
    await advance(200);
    expect(stalls).toEqual([stalledMs]);
    expect(ends("a", found, 1_500)).toBe(says);
  });

  test("before the probe began counts for nothing", async () => {
    const { advance, standStill, ends } = setUp("a");
    await advance(1_000);
    standStill(5_000);
    await advance(1_000);
    expect(ends("a", "timeout", 500)).toBeUndefined();
  });

  test("leaves no timer when it is stopped", () => {
    const { filter, pendingTimers } = setUp("a");
    expect(pendingTimers()).toBeGreaterThan(0);
    filter.stop();
    expect(pendingTimers()).toBe(0);
  });
});

/** Both addresses become unreachable, for longer than an interval. */
async function cutOff(set: ReturnType<typeof setUp>): Promise<void> {
  set.ends("a", "ok");
  set.ends("b", "ok");
  for (let second = 0; second < 3; second += 1) {
    await set.advance(1_000);
    set.ends("a", "unreachable");
    set.ends("b", "unreachable");
  }
}

describe("a network that is gone", () => {
  test("is told once, and its failures count for nothing from then on", async () => {
    const set = setUp("ab");
    await cutOff(set);
    expect(set.isolations).toEqual([true]);
    expect(set.filter.isolated).toBe(true);
    expect(set.ends("a", "unreachable")).toBe("isolated");
    expect(set.filter.connectedMs).toBe(0);
  });

  test("lets other failures count, which some server must have sent", async () => {
    const set = setUp("ab");
    await cutOff(set);
    expect([set.ends("a", "refused"), set.ends("a", "not-ready")]).toEqual([undefined, undefined]);
  });

  test("is back after an interval; a failure of a probe that began before still counts for nothing", async () => {
    const set = setUp("ab");
    await cutOff(set);
    set.ends("a", "ok");
    await set.advance(2_000);
    set.ends("b", "ok");
    expect(set.isolations).toEqual([true, false]);
    expect(set.ends("a", "unreachable", 500)).toBe("isolated");
    await set.advance(1_000);
    expect(set.ends("a", "unreachable", 500)).toBeUndefined();
  });

  test("is not presumed while some address answers", async () => {
    const set = setUp("abc");
    set.ends("c", "ok");
    await cutOff(set);
    expect(set.isolations).toEqual([]);
  });

  test("is not presumed while somebody else knows better", async () => {
    const set = setUp("ab", () => true);
    await cutOff(set);
    expect(set.isolations).toEqual([]);
    expect(set.ends("a", "unreachable")).toBeUndefined();
    expect(set.filter.connectedMs).toBeUndefined();
  });

  test("is noticed by connections that hang, before they time out", async () => {
    const set = setUp("ab");
    set.ends("a", "ok");
    set.ends("b", "ok");
    await set.advance(2_500);
    set.hangs("a");
    expect(set.isolations).toEqual([]);
    set.hangs("b");
    set.hangs("b");
    expect(set.isolations).toEqual([true]);
  });

  test("forgets the result of an address that is gone", async () => {
    const set = setUp("abc");
    await cutOff(set);
    expect(set.isolations).toEqual([]);
    // `c` never had a result. Without `b` it is `a` and `c`, of which one is cut off.
    set.forget("b");
    await set.advance(1_000);
    set.ends("a", "unreachable");
    expect(set.isolations).toEqual([]);
    set.ends("c", "unreachable");
    expect(set.isolations).toEqual([true]);
  });
});

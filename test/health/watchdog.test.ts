import { describe, expect, test } from "vitest";
import { createWatchdog } from "../../src/health/watchdog.js";
import type { Clock } from "../../src/lib/clock.js";
import { createFakeClock } from "../support/fake-clock.js";

/** A clock on which the process can stand still: time passes, and timers run only afterwards. */
function harness() {
  const fake = createFakeClock();
  let stoodStillMs = 0;
  let suspendedMs = 0;
  const clock: Clock = {
    monotonicMs: () => fake.monotonicMs() + stoodStillMs,
    wallMs: () => fake.wallMs() + stoodStillMs + suspendedMs,
    bootMs: () => fake.monotonicMs() + 5_000_000 + stoodStillMs + suspendedMs,
    after: fake.after,
  };
  const stalls: number[] = [];
  const watchdog = createWatchdog(clock, (ms) => stalls.push(ms));
  watchdog.start();
  return {
    clock,
    fake,
    watchdog,
    stalls,
    standStill(ms: number) {
      stoodStillMs += ms;
    },
    suspend(ms: number) {
      suspendedMs += ms;
    },
  };
}

describe("the watchdog", () => {
  test("says nothing while the process runs", async () => {
    const { fake, stalls, watchdog } = harness();
    await fake.advance(60_000);
    expect(stalls).toEqual([]);
    expect(watchdog.longestStallMs(0)).toBe(0);
  });

  test("tells a stall once, as soon as the process runs again", async () => {
    const { fake, standStill, stalls, watchdog } = harness();
    await fake.advance(1000);
    standStill(3000);
    await fake.advance(1000);
    expect(stalls).toEqual([3000]);
    expect(watchdog.longestStallMs(0)).toBe(3000);
  });

  test("knows of it before its own timer runs", async () => {
    const { fake, standStill, watchdog, stalls } = harness();
    await fake.advance(1000);
    standStill(3000);
    expect(watchdog.longestStallMs(0)).toBe(2800);
    await fake.advance(1000);
    expect(stalls).toHaveLength(1);
  });

  test("counts a stall for what was under way when it ended, not for what came later", async () => {
    const { clock, fake, standStill, watchdog } = harness();
    await fake.advance(1000);
    standStill(700);
    await fake.advance(1000);
    expect(watchdog.longestStallMs(0)).toBe(700);
    expect(watchdog.longestStallMs(clock.monotonicMs() - 100)).toBe(0);
  });

  test("takes a suspended machine for a stall, though the monotonic clock stood still", async () => {
    const { fake, suspend, stalls } = harness();
    await fake.advance(1000);
    suspend(3_600_000);
    await fake.advance(1000);
    expect(stalls).toEqual([3_600_000]);
  });

  test("lets the wall clock be set, forward and back, again and again", async () => {
    const { fake, stalls } = harness();
    for (const step of [3000, 3000, 3000, -3_600_000, 7_200_000]) {
      fake.stepWall(step);
      await fake.advance(4000);
    }
    expect(stalls).toEqual([]);
  });

  test("notices no suspension where the machine does not tell its boot time, and none that is false", async () => {
    const fake = createFakeClock();
    const stalls: number[] = [];
    let isReadable = false;
    const clock: Clock = {
      ...fake,
      bootMs() {
        if (!isReadable) throw new Error("unreadable");
        return fake.monotonicMs() + 9_000_000;
      },
    };
    createWatchdog(clock, (ms) => stalls.push(ms)).start();
    await fake.advance(1000);
    isReadable = true;
    await fake.advance(1000);
    expect(stalls).toEqual([]);
  });

  test("does not count what every busy process has", async () => {
    const { fake, standStill, stalls } = harness();
    for (let round = 0; round < 20; round += 1) {
      standStill(90);
      await fake.advance(1000);
    }
    expect(stalls).toEqual([]);
  });

  test("remembers a bounded number of them, and leaves no timer when it is stopped", async () => {
    const { fake, standStill, stalls, watchdog } = harness();
    for (let round = 0; round < 100; round += 1) {
      standStill(200 + round);
      await fake.advance(1000);
    }
    expect(stalls).toHaveLength(100);
    expect(watchdog.longestStallMs(0)).toBe(299);
    watchdog.stop();
    expect(fake.pendingTimers).toBe(0);
  });
});

import { describe, expect, test } from "vitest";
import { compareStamps, HybridClock, MAX_STAMP_COUNT } from "../../src/lib/hybrid-clock.js";

const DAY_MS = 86_400_000;

describe("a hybrid clock", () => {
  test("follows the wall clock, and never goes back with it", () => {
    let wallMs = 1_000;
    const clock = new HybridClock({ wallMs: () => wallMs });
    expect(clock.next("a")).toEqual({ ms: 1_000, count: 0, by: "a" });
    expect(clock.next("a")).toEqual({ ms: 1_000, count: 1, by: "a" });
    wallMs = 500;
    expect(clock.next("a")).toEqual({ ms: 1_000, count: 2, by: "a" });
    wallMs = 2_000;
    expect(clock.next("a")).toEqual({ ms: 2_000, count: 0, by: "a" });
  });

  test("what was said after hearing something is later, although the clock is a day behind", () => {
    const ahead = new HybridClock({ wallMs: () => DAY_MS });
    const behind = new HybridClock({ wallMs: () => 0 });
    const first = ahead.next("b");
    behind.see(first);
    expect(compareStamps(behind.next("a"), first)).toBeGreaterThan(0);
  });

  test("goes on when it has counted as far as it can", () => {
    const clock = new HybridClock({ wallMs: () => 0 });
    clock.see({ ms: 7, count: MAX_STAMP_COUNT, by: "x" });
    expect(clock.next("a")).toEqual({ ms: 8, count: 0, by: "a" });
  });

  test.each([
    [
      { ms: 1, count: 9, by: "z" },
      { ms: 2, count: 0, by: "a" },
    ],
    [
      { ms: 1, count: 0, by: "z" },
      { ms: 1, count: 1, by: "a" },
    ],
    [
      { ms: 1, count: 1, by: "a" },
      { ms: 1, count: 1, by: "b" },
    ],
  ])("%o is before %o", (earlier, later) => {
    expect(compareStamps(earlier, later)).toBeLessThan(0);
    expect(compareStamps(later, earlier)).toBeGreaterThan(0);
    expect(compareStamps(later, { ...later })).toBe(0);
  });
});

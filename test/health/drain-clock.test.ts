import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { IN_FLIGHT_MS, newDrainClock, tick, untilSafeMs } from "../../src/health/drain-clock.js";

describe("the drain clock", () => {
  // What is answered as time goes on: [moment in seconds, TTL or undefined]; then when, and how long it still takes.
  const cases: readonly {
    name: string;
    answered: readonly (readonly [atS: number, ttl: number | undefined])[];
    atS: number;
    leftS: number | undefined;
  }[] = [
    { name: "at the start an earlier process may have answered", answered: [], atS: 2, leftS: 4 },
    { name: "what was never answered is safe in the end", answered: [], atS: 100, leftS: 0 },
    { name: "what is answered is never safe", answered: [[1, 5]], atS: 1000, leftS: undefined },
    {
      name: "withdrawn now: TTL and what is in flight",
      answered: [
        [1, 5],
        [50, undefined],
      ],
      atS: 50,
      leftS: 6,
    },
    {
      name: "the time runs down",
      answered: [
        [1, 5],
        [50, undefined],
      ],
      atS: 53,
      leftS: 3,
    },
    {
      name: "and ends",
      answered: [
        [1, 5],
        [50, undefined],
      ],
      atS: 56,
      leftS: 0,
    },
    {
      name: "that it is still withdrawn changes nothing",
      answered: [
        [1, 5],
        [50, undefined],
        [54, undefined],
      ],
      atS: 54,
      leftS: 2,
    },
    {
      name: "back and withdrawn again: anew",
      answered: [
        [1, 5],
        [50, undefined],
        [60, 5],
        [70, undefined],
      ],
      atS: 70,
      leftS: 6,
    },
    {
      name: "a longer TTL before still counts",
      answered: [
        [1, 60],
        [50, 5],
        [55, undefined],
      ],
      atS: 55,
      leftS: 56,
    },
    {
      name: "a longer TTL now counts",
      answered: [
        [1, 5],
        [50, 60],
        [55, undefined],
      ],
      atS: 55,
      leftS: 61,
    },
  ];

  test.each(cases)("$name", ({ answered, atS, leftS }) => {
    let clock = newDrainClock(5, 0);
    for (const [s, ttl] of answered) clock = tick(clock, ttl, s * 1000);
    const left = untilSafeMs(clock, atS * 1000);
    expect(left).toBe(leftS === undefined ? undefined : leftS * 1000);
  });

  test("is never safe while a cache that honours the TTL holds an answer", () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 5000 }),
      fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 0, max: 40_000 }), (steps, laterMs) => {
        let clock = newDrainClock(1, 0);
        let nowMs = 0;
        let ttl: number | undefined;
        let heldUntilMs = 0;
        for (const [pauseMs, next] of steps) {
          nowMs += pauseMs;
          // Answers are given up to the change, and reach the resolver a little later.
          if (ttl !== undefined) heldUntilMs = Math.max(heldUntilMs, nowMs + IN_FLIGHT_MS + ttl * 1000);
          ttl = next;
          clock = tick(clock, ttl, nowMs);
        }
        nowMs += laterMs;
        const left = untilSafeMs(clock, nowMs);
        if (ttl !== undefined) expect(left).toBeUndefined();
        else expect(nowMs + (left ?? -1)).toBeGreaterThanOrEqual(heldUntilMs);
      }),
    );
  });
});

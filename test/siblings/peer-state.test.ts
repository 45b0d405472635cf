import { describe, expect, test } from "vitest";
import type { SiblingEndpoint } from "../../src/siblings/messages.js";
import {
  changedAddresses,
  conditionOf,
  FRESH_MS,
  newHeard,
  noteBeat,
  verdictOf,
} from "../../src/siblings/peer-state.js";
import { BEAT } from "./beat.js";

describe("whether a sibling counts", () => {
  const cases = [
    { name: "it was never heard", beat: undefined, wasHeard: false, afterMs: 0, is: "unheard" },
    { name: "its connection ended", beat: undefined, wasHeard: true, afterMs: 0, is: "disconnected" },
    { name: "heard just now", beat: {}, wasHeard: true, afterMs: 0, is: "fresh" },
    { name: "heard two seconds ago", beat: {}, wasHeard: true, afterMs: FRESH_MS, is: "fresh" },
    { name: "heard longer ago", beat: {}, wasHeard: true, afterMs: FRESH_MS + 1, is: "silent" },
    { name: "it is cut off", beat: { isolated: true }, wasHeard: true, afterMs: 0, is: "isolated" },
    { name: "it is late", beat: { late: true, isolated: true }, wasHeard: true, afterMs: 0, is: "late" },
    { name: "it starts", beat: { starting: true, late: true }, wasHeard: true, afterMs: 0, is: "starting" },
  ] as const;

  test.each(cases)("$name: $is", ({ beat, wasHeard, afterMs, is }) => {
    const heard = newHeard("boot", 0);
    if (beat !== undefined) noteBeat(heard, { ...BEAT, ...beat }, { monotonicMs: 0, wallMs: 0 });
    expect(conditionOf(heard, wasHeard, afterMs)).toBe(is);
  });

  test("words that were held up on their way are no news", () => {
    const heard = newHeard("boot", 100_000);
    noteBeat(heard, { ...BEAT, monotonicMs: 5_000 }, { monotonicMs: 100_000, wallMs: 0 });
    // Said half a second after, heard three seconds after.
    noteBeat(heard, { ...BEAT, monotonicMs: 5_500 }, { monotonicMs: 103_000, wallMs: 0 });
    expect(conditionOf(heard, true, 103_000)).toBe("silent");
    noteBeat(heard, { ...BEAT, monotonicMs: 8_100 }, { monotonicMs: 103_100, wallMs: 0 });
    expect(conditionOf(heard, true, 103_100)).toBe("fresh");
  });

  test("clocks that drift apart for a month do not make it silent", () => {
    const heard = newHeard("boot", 0);
    const secondsOfMonth = 30 * 86_400;
    for (let second = 0; second < secondsOfMonth; second += 60) {
      const monotonicMs = second * 1_000;
      noteBeat(heard, { ...BEAT, monotonicMs: monotonicMs * 0.9999 }, { monotonicMs, wallMs: 0 });
      if (conditionOf(heard, true, monotonicMs) !== "fresh") throw new Error(`silent after ${second} s`);
    }
  });

  test("tells how far its clock is ahead", () => {
    const heard = newHeard("boot", 0);
    noteBeat(heard, { ...BEAT, wallMs: 90_000 }, { monotonicMs: 1, wallMs: 60_000 });
    expect(heard.clockDifferenceMs).toBe(30_000);
  });
});

describe("what a sibling sees", () => {
  const before: SiblingEndpoint = { endpoint: "api", answers: [], up: ["a", "b"], not: [["c", "down"]] };

  test("by address", () => {
    expect(["a", "c", "x"].map((address) => verdictOf(before, address))).toEqual(["up", "down", undefined]);
    expect(verdictOf(undefined, "a")).toBeUndefined();
  });

  test("is a change if it is another verdict, but not at its first word", () => {
    const after: SiblingEndpoint = {
      ...before,
      up: ["a"],
      not: [
        ["b", "doubt"],
        ["c", "down"],
        ["d", "unknown"],
      ],
    };
    expect(changedAddresses(before, after)).toEqual(["b", "d"]);
    expect(changedAddresses(undefined, after)).toEqual([]);
  });
});

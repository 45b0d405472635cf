import { describe, expect, test } from "vitest";
import { FIRST_HOLD_MS, type FlapState, holdMsNeeded, NO_FLAPS, withChange } from "../../src/health/suppression.js";

const SETTINGS = { limit: 3, windowMs: 600_000 };

/** A target that changed at these seconds. */
const changedAt = (seconds: readonly number[], holds = 0): FlapState => ({
  changesMs: seconds.map((second) => second * 1_000),
  holds,
});

/** At second 600. */
const HOLDS: readonly { name: string; flap: FlapState; settings?: typeof SETTINGS; holdMs: number }[] = [
  { name: "never changed", flap: NO_FLAPS, settings: SETTINGS, holdMs: 0 },
  { name: "as many changes as are allowed", flap: changedAt([500, 510, 520]), settings: SETTINGS, holdMs: 0 },
  { name: "one more", flap: changedAt([500, 510, 520, 530]), settings: SETTINGS, holdMs: FIRST_HOLD_MS },
  {
    name: "one more, of which one is older than the window",
    flap: changedAt([0, 510, 520, 530]),
    settings: SETTINGS,
    holdMs: 0,
  },
  { name: "held once before", flap: changedAt([500, 510, 520, 530], 1), settings: SETTINGS, holdMs: 2 * FIRST_HOLD_MS },
  {
    name: "held often before",
    flap: changedAt([500, 510, 520, 530], 9),
    settings: SETTINGS,
    holdMs: SETTINGS.windowMs,
  },
  { name: "one more, without damping", flap: changedAt([500, 510, 520, 530]), holdMs: 0 },
];

test.each(HOLDS)("$name: held for $holdMs ms", ({ flap, settings, holdMs }) => {
  expect(holdMsNeeded(flap, 600_000, settings)).toBe(holdMs);
});

describe("a change", () => {
  test("is remembered for the window", () => {
    expect(withChange(changedAt([0, 100], 2), 650_000, SETTINGS)).toEqual(changedAt([100, 650], 2));
  });

  test("after a window without one begins at the shortest hold again", () => {
    expect(withChange(changedAt([0, 10], 2), 650_000, SETTINGS)).toEqual(changedAt([650]));
  });

  test("is not remembered without damping", () => {
    expect(withChange(changedAt([0, 10], 2), 650_000, undefined)).toBe(NO_FLAPS);
  });
});

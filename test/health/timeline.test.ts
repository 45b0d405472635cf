import { describe, expect, test } from "vitest";
import { worstCaseReturnMs, worstCaseTimelines } from "../../src/health/timeline.js";

const DEFAULTS = { intervalMs: 2000, timeoutMs: 3000, recheckMs: 1000, rise: 2, fall: 3 };

describe("the worst case", () => {
  test("at default settings", () => {
    expect(worstCaseTimelines(DEFAULTS, 5)).toEqual([
      { kind: "hard", detectionMs: 2400, forgottenMs: 7400 },
      { kind: "hang", detectionMs: 8200, forgottenMs: 13_200 },
      { kind: "other", detectionMs: 4200, forgottenMs: 9200 },
    ]);
    expect(worstCaseReturnMs(DEFAULTS)).toBe(3200);
  });

  test("with one failure sufficient there is nothing to confirm", () => {
    expect(worstCaseTimelines({ ...DEFAULTS, fall: 1 }, 1)).toEqual([
      { kind: "hard", detectionMs: 2200, forgottenMs: 3200 },
      { kind: "hang", detectionMs: 5200, forgottenMs: 6200 },
      { kind: "other", detectionMs: 2200, forgottenMs: 3200 },
    ]);
  });

  test("a timeout shorter than the recheck leaves a pause before each but the first", () => {
    const [, hang] = worstCaseTimelines({ ...DEFAULTS, timeoutMs: 400 }, 5);
    // 2200 until the first begins, 1000 from it to the second, 400 for that; three without a route take longer.
    expect(hang?.detectionMs).toBe(2200 + 1000 + 1000);
  });

  test("follows the thresholds of single classes, the slowest of each kind", () => {
    const thresholds = { refused: 1, "not-ready": 4, timeout: 2, unreachable: 1, reset: 9 };
    expect(worstCaseTimelines({ ...DEFAULTS, thresholds }, 5)).toMatchObject([
      { kind: "hard", detectionMs: 2200 + 3 * 200 },
      { kind: "hang", detectionMs: 2200 + 2 * 3000 },
      { kind: "other", detectionMs: 2200 + 8 * 1000 },
    ]);
  });
});

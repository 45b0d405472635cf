import { describe, expect, test } from "vitest";
import { backoffMs } from "../../../src/discovery/kubernetes/backoff.js";

describe("the pause after a failure", () => {
  const rows = [
    { name: "begins at 1 to 2 s", failing: { failures: 1 }, least: 1_000, most: 2_000 },
    { name: "grows", failing: { failures: 3 }, least: 1_000, most: 8_000 },
    { name: "is 30 s at most", failing: { failures: 1_000 }, least: 1_000, most: 30_000 },
    { name: "is 5 min at most after 401", failing: { failures: 1_000, status: 401 }, least: 150_000, most: 300_000 },
    { name: "is what Retry-After says", failing: { failures: 9, retryAfterMs: 7_000 }, least: 7_000, most: 8_000 },
  ] as const;
  test.each(rows)("$name", ({ failing, least, most }) => {
    expect(backoffMs(failing, 0)).toBe(least);
    expect(backoffMs(failing, 1)).toBe(most);
  });
});

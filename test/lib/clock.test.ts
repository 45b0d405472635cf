import { expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.js";

test("the boot time, where the machine tells it, does not go back", () => {
  const before = systemClock.bootMs?.() ?? 0;
  expect(systemClock.bootMs?.() ?? 0).toBeGreaterThanOrEqual(before);
});

import { expect, test } from "vitest";
import { BatchClock, systemClock } from "../../src/lib/clock.js";

test("the boot time, where the machine tells it, does not go back", () => {
  const before = systemClock.bootMs?.() ?? 0;
  expect(systemClock.bootMs?.() ?? 0).toBeGreaterThanOrEqual(before);
});

test("the clock of a batch stands still in a batch, and only there", () => {
  let now = 1_000;
  const clock = new BatchClock({ monotonicMs: () => now, wallMs: () => 10 * now });
  const read = () => [clock.monotonicMs(), clock.wallMs()];
  expect(read()).toEqual([1_000, 10_000]);
  clock.beginBatch();
  now = 1_001;
  expect(read()).toEqual([1_001, 10_010]);
  now = 1_002;
  expect(read()).toEqual([1_001, 10_010]);
  clock.endBatch();
  expect(read()).toEqual([1_002, 10_020]);
  clock.beginBatch();
  expect(read()).toEqual([1_002, 10_020]);
});

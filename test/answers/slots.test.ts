import { expect, test } from "vitest";
import { Slots } from "../../src/answers/slots.js";

test("slots are taken singly and in runs, all zero, and given-back ones first", () => {
  const slots = new Slots(3);
  const one = slots.take(1);
  const four = slots.take(4);
  expect(four).toBe(one + 3);
  slots.words.fill(9, four, four + 12);
  slots.give(four, 4);
  expect(slots.take(1)).toBe(four + 12);
  expect(slots.take(4)).toBe(four);
  expect([...slots.words.subarray(four, four + 12)]).toEqual(Array(12).fill(0));
});

test("the array grows with what is taken", () => {
  const slots = new Slots(2);
  const all = Array.from({ length: 1_000 }, () => slots.take(1));
  expect(new Set(all).size).toBe(1_000);
  expect(slots.words.length).toBeGreaterThanOrEqual(2_000);
});

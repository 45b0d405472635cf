import { describe, expect, test } from "vitest";
import { labModule } from "./modules.js";

const { median, worst, sum, seededRandom, shuffled } = await labModule<{
  median(numbers: readonly number[]): number;
  worst(numbers: readonly number[]): number;
  sum(numbers: readonly number[]): number;
  seededRandom(seed: number): () => number;
  shuffled<T>(list: readonly T[], random: () => number): T[];
}>("statistics");

describe("statistics", () => {
  test.each([
    { numbers: [3, 1, 2], middle: 2, largest: 3, total: 6 },
    { numbers: [4, 1, 3, 2], middle: 2.5, largest: 4, total: 10 },
    { numbers: [7], middle: 7, largest: 7, total: 7 },
    { numbers: [], middle: Number.NaN, largest: Number.NaN, total: 0 },
  ])("of $numbers", ({ numbers, middle, largest, total }) => {
    expect([median(numbers), worst(numbers), sum(numbers)]).toEqual([middle, largest, total]);
  });

  test("a seed gives the same order again, and each thing once", () => {
    const list = Array.from({ length: 20 }, (_, index) => index);
    const once = shuffled(list, seededRandom(7));
    expect(shuffled(list, seededRandom(7))).toEqual(once);
    expect(once).not.toEqual(list);
    expect([...once].sort((a, b) => a - b)).toEqual(list);
    expect(shuffled(list, seededRandom(8))).not.toEqual(once);
  });
});

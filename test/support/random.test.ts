import { expect, test } from "vitest";
import { RUN_SEED, runRandom, seededRandom } from "./random.js";

const numbers = (random: () => number) => Array.from({ length: 1_000 }, random);

test("a seed makes the same numbers again, from 0 to below 1, and another seed makes others", () => {
  const made = numbers(seededRandom(7));
  expect(numbers(seededRandom(7))).toEqual(made);
  expect(numbers(seededRandom(8))).not.toEqual(made);
  expect(made.filter((number) => number < 0 || number >= 1)).toEqual([]);
});

test("the run's seed is the one that its set-up names, and its sources differ", () => {
  expect(String(RUN_SEED)).toBe(process.env.LIVEZONE_TEST_SEED);
  expect(numbers(runRandom())).toEqual(numbers(seededRandom(RUN_SEED)));
  expect(numbers(runRandom(1))).not.toEqual(numbers(runRandom()));
});

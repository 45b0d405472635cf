import { expect, test } from "vitest";
import { runRandom } from "../support/random.js";
import { tryMutated } from "./mutated-transfers.js";

/** How many requests are tried; `bench/mutated-transfers.mjs` tries a million. */
const COUNT = 10_000;

test(`of ${COUNT} mutated requests none does harm, and none gets a record that it may not have`, () => {
  const { granted, told } = tryMutated(COUNT, runRandom());
  expect(granted).toBeGreaterThan(COUNT / 1_000);
  expect(told).toBeGreaterThan(COUNT / 1_000);
});

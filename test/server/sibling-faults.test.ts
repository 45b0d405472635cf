import { expect, test } from "vitest";
import { RUN_SEED } from "../support/random.js";
import { playFaults } from "./sibling-faults.js";

test(`three siblings keep their promises whatever fails (seed ${RUN_SEED})`, { timeout: 60_000 }, async () => {
  expect(await playFaults(RUN_SEED, 3)).toBeGreaterThan(0);
});

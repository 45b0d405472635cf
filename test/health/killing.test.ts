import { expect, test } from "vitest";
import { afterThisTest } from "../support/cleanup.js";
import { seededRandom } from "../support/random.js";
import { killAtRandom } from "./killing.js";

// `killing.long.test.ts` does it ten times, `bench/kill.mjs` two hundred times.
const SEED = Number(process.env.LIVEZONE_KILL_SEED ?? Date.now() % 2 ** 32);

test(`no override is lost or invented when the server is killed at any moment (seed ${SEED})`, async () => {
  const { violations, acknowledged } = await killAtRandom(3, seededRandom(SEED), afterThisTest);
  expect(violations).toEqual([]);
  expect(acknowledged).toBeGreaterThan(0);
}, 60_000);

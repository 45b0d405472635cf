import { expect, test } from "vitest";
import { afterThisTest } from "../support/cleanup.js";
import { killAtRandom } from "./killing.js";

// `bench/kill.mjs` does it two hundred times.
test("no override is lost or invented when the server is killed at any moment", async () => {
  const { violations, acknowledged } = await killAtRandom(10, Math.random, afterThisTest);
  expect(violations).toEqual([]);
  expect(acknowledged).toBeGreaterThan(0);
}, 60_000);

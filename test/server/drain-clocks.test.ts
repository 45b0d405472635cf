import { expect, test } from "vitest";
import { IN_FLIGHT_MS } from "../../src/health/drain-clock.js";
import { type AnsweredEndpoint, DrainClocks } from "../../src/server/drain-clocks.js";
import { createFakeClock } from "../support/fake-clock.js";

const SAFE_MS = IN_FLIGHT_MS + 5_000;

function endpoint(targets: readonly string[], answered: readonly string[]): AnsweredEndpoint {
  return {
    config: { fqdn: "api.test", ttl: 5, targets: targets.map((id) => ({ id, addresses: [`192.0.2.${id}`] })) },
    answerable: { mode: "healthy", addresses: answered.map((id) => ({ address: `192.0.2.${id}` })), upTargets: 1 },
  };
}

test("a target is safe a TTL after it was named last, by any way of naming its address", async () => {
  const clock = createFakeClock();
  const clocks = new DrainClocks(clock);
  clocks.answered(endpoint(["1", "2"], ["1", "2"]));
  expect(clocks.untilSafeMs("api.test", "1")).toBeUndefined();
  await clock.advance(60_000);
  clocks.answered(endpoint(["1", "2"], ["2"]));
  expect(clocks.untilSafeMs("api.test", "1")).toBe(SAFE_MS);
  await clock.advance(SAFE_MS);
  expect(clocks.untilSafeMs("api.test", "1")).toBe(0);
});

test("a target that has gone is remembered as long as caches may hold it, and no longer", async () => {
  const clock = createFakeClock();
  const clocks = new DrainClocks(clock);
  const before = endpoint(["1", "2"], ["1", "2"]);
  clocks.answered(before);
  clocks.gone(before, new Set(["2"]));
  expect(clocks.untilSafeMs("api.test", "1")).toBe(SAFE_MS);
  expect(clocks.untilSafeMs("api.test", "2")).toBeUndefined();
  await clock.advance(SAFE_MS + 1);
  clocks.gone(endpoint([], []), new Set());
  expect(clocks.untilSafeMs("api.test", "1")).toBeUndefined();
});

test("a target that comes back is not forgotten", async () => {
  const clock = createFakeClock();
  const clocks = new DrainClocks(clock);
  const before = endpoint(["1"], ["1"]);
  clocks.answered(before);
  clocks.gone(before, new Set());
  clocks.answered(endpoint(["1"], []));
  await clock.advance(SAFE_MS + 1);
  clocks.gone(endpoint([], []), new Set());
  expect(clocks.untilSafeMs("api.test", "1")).toBe(0);
});

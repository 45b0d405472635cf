import { expect, test } from "vitest";
import { Nudging } from "../../src/siblings/nudging.js";
import { createFakeClock } from "../support/fake-clock.js";

function harness() {
  const clock = createFakeClock();
  const nudges: number[] = [];
  const seen = { isWaiting: false, givenUp: 0 };
  const nudging = new Nudging({
    clock,
    nudge: (n) => nudges.push(n),
    isWaiting: () => seen.isWaiting,
    onGivenUp: () => {
      seen.givenUp += 1;
    },
  });
  return { clock, nudges, seen, nudging };
}

test("what was said is asked after until it is confirmed", async () => {
  const { clock, nudges, nudging } = harness();
  nudging.said();
  await clock.advance(35);
  expect(nudges).toEqual([1, 1, 1]);
  nudging.heard(1);
  await clock.advance(1_000);
  expect(nudges).toEqual([1, 1, 1]);
  nudging.said();
  nudging.said();
  await clock.advance(10);
  expect(nudges.slice(3)).toEqual([3]);
});

test("a reply that is waited for is asked after, though all that was said has arrived", async () => {
  const { clock, nudges, seen, nudging } = harness();
  seen.isWaiting = true;
  nudging.said();
  nudging.heard(1);
  await clock.advance(30);
  expect(nudges).toEqual([1, 1, 1]);
  seen.isWaiting = false;
  await clock.advance(1_000);
  expect(nudges).toEqual([1, 1, 1]);
});

test("where nothing is confirmed, it becomes rare, and is given up", async () => {
  const { clock, nudges, seen, nudging } = harness();
  nudging.said();
  await clock.advance(5_000);
  expect(nudges.length).toBeLessThanOrEqual(120);
  expect(seen.givenUp).toBe(0);
  await clock.advance(500);
  expect(seen.givenUp).toBe(1);
});

test("a confirmation of what was not said, or of less than before, changes nothing", async () => {
  const { clock, nudges, nudging } = harness();
  nudging.said();
  nudging.heard(7);
  nudging.heard(0);
  await clock.advance(10);
  expect(nudges).toEqual([1]);
  nudging.stop();
  await clock.advance(1_000);
  expect(nudges).toEqual([1]);
});

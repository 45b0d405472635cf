import { afterAll, expect, test } from "vitest";
import { afterThisTest } from "./cleanup.js";

const events: string[] = [];
const waiting: (() => void)[] = [];

/** Resolves once two tests wait. */
async function bothThere(): Promise<void> {
  const met = new Promise<void>((resolve) => {
    waiting.push(resolve);
  });
  if (waiting.length === 2) for (const go of waiting) go();
  await met;
}

test.concurrent.for(["quick", "slow"])(
  "%s: what tests at the same time register is done after each of them",
  async (name) => {
    await bothThere();
    afterThisTest(() => events.push(`${name} is over`));
    if (name === "slow") {
      while (!events.includes("quick is over")) await new Promise((resolve) => setImmediate(resolve));
    }
    events.push(`${name} ends`);
  },
);

afterAll(() => {
  expect(events).toEqual(["quick ends", "quick is over", "slow ends", "slow is over"]);
});

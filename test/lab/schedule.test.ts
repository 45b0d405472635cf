import { describe, expect, test } from "vitest";
import { type Block, labModule, type Plan } from "./modules.js";

const { keyOf, schedule } = await labModule<{
  keyOf(round: { way: string; fault: string; round: number }): string;
  schedule(plan: Plan): Block[];
}>("schedule");
const { seededRandom } = await labModule<{ seededRandom(seed: number): () => number }>("statistics");

const faults = ["a", "b", "c", "d", "e", "f", "g"].map((id) => ({ id, isLast: id > "e" }));
const plan = (): Plan => ({ ways: ["x", "y", "z"], faults, rounds: 3, done: new Set(), random: seededRandom(1) });
const keysOf = (blocks: readonly Block[]) =>
  blocks.flatMap(({ way, round, faults }) => faults.map((fault) => keyOf({ way, fault, round })));

describe("the schedule", () => {
  test("has every round of every cell once", () => {
    const keys = keysOf(schedule(plan()));
    expect(keys).toHaveLength(3 * 7 * 3);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("ends a round of the whole matrix before the next begins, with the ways mixed", () => {
    const blocks = schedule(plan());
    expect(blocks.map(({ round }) => round)).toEqual(blocks.map(({ round }) => round).sort());
    const ways = blocks.filter(({ round }) => round === 0).map(({ way }) => way);
    expect(ways).not.toEqual([...ways].sort());
  });

  test("plays what a way remembers last, and once before the way is started anew", () => {
    for (const { faults } of schedule(plan())) {
      const remembered = faults.filter((id) => id > "e");
      expect(remembered.length).toBeLessThanOrEqual(1);
      if (remembered.length === 1) expect(faults.at(-1)).toBe(remembered[0]);
    }
  });

  test("leaves out what was played before: a run goes on", () => {
    const all = keysOf(schedule(plan()));
    const done = new Set(all.slice(0, 40));
    const rest = keysOf(schedule({ ...plan(), done }));
    expect(rest.sort()).toEqual(all.slice(40).sort());
    expect(schedule({ ...plan(), done: new Set(all) })).toEqual([]);
  });
});

import { describe, expect, test } from "vitest";
import { labModule, roundOf, type Summary } from "./modules.js";

const { summaryOf } = await labModule<{ summaryOf(rounds: readonly object[]): Summary }>("summary");
const { parseRounds } = await labModule<{ parseRounds(text: string): object[] }>("store");

describe("the summary", () => {
  const way = "livezone-unbound";

  test("has the median and the worst of each cell, and the sums of what went wrong", () => {
    const rounds = [1, 5, 3].map((last, round) => roundOf(way, "sigkill", round, { last, failed: last, slowed: 1 }));
    const cell = summaryOf(rounds).cells[way]?.sigkill;
    expect(cell).toMatchObject({ rounds: 3, spoilt: 0, single: { median: 3, worst: 5, failed: 9, slowed: 3 } });
    // curl, Go and Node together.
    expect(cell?.all).toMatchObject({ samples: [1, 5, 3], failed: 27 });
  });

  test("leaves out a round in which something went wrong before the fault, and says so", () => {
    const rounds = [roundOf(way, "sigkill", 0, { last: 1 }), roundOf(way, "sigkill", 1, { last: 9, before: 2 })];
    expect(summaryOf(rounds).cells[way]?.sigkill).toMatchObject({ rounds: 1, spoilt: 1, single: { worst: 1 } });
  });

  test("tells a fault that a way cannot have from one that was not played", () => {
    const { absent, cells } = summaryOf([{ way, fault: "uplink", round: 0, at: "", absent: true }]);
    expect({ absent, cells }).toEqual({ absent: { [way]: { uplink: true } }, cells: {} });
  });

  test("has the median of what a way costs", () => {
    const costs = (memoryMiB: number) => ({ packetsPerMinute: 10, memoryMiB, cpuPercent: 1, lines: 5 });
    const rounds = [30, 10, 20].map((mib, round) => ({ way, fault: "costs", round, at: "", costs: costs(mib) }));
    expect(summaryOf(rounds).costs[way]).toEqual({ rounds: 3, ...costs(20) });
  });
});

describe("the stored rounds", () => {
  test("are read without the line that a crash cut off", () => {
    expect(parseRounds('{"round":1}\n{"round":2}\n{"rou')).toEqual([{ round: 1 }, { round: 2 }]);
  });
});

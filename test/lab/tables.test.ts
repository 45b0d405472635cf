import { describe, expect, test } from "vitest";
import { labModule, roundOf, type Summary, type Verdict } from "./modules.js";

const { cellTable, roundsTable, seconds, shortTable } = await labModule<{
  cellTable(summary: Summary, faults: readonly string[], client?: string): string;
  roundsTable(summary: Summary, faults: readonly string[]): string;
  seconds(value: number): string;
  shortTable(summary: Summary): string;
}>("tables");
const { verdictsOf, thinCells } = await labModule<{
  verdictsOf(summary: Summary): Verdict[];
  thinCells(summary: Summary): [string, string, number][];
}>("bars");
const { summaryOf } = await labModule<{ summaryOf(rounds: readonly object[]): Summary }>("summary");

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

describe("the tables", () => {
  const summary = summaryOf([
    roundOf("livezone-unbound", "sigkill", 0, { last: 2, failed: 1 }),
    roundOf("livezone-unbound", "sigkill", 1, { last: 4, slowed: 3 }),
    roundOf("livezone-unbound", "graceful", 0),
    { way: "round-robin", fault: "uplink", round: 0, at: "", absent: true },
    roundOf("round-robin", "sigkill", 0, { last: 45 }),
  ]);

  test("show the median, the worst and what went wrong in a round", () => {
    expect(cellTable(summary, ["sigkill", "graceful", "uplink"], "single").split("\n").slice(2)).toEqual([
      "| livezone, through Unbound | 3.00 / 4.00; 0.5 + 1.5 | none |  |",
      "| round-robin DNS (TTL 300) | none |  | – |",
    ]);
  });

  test("say in short which way is best, and when it is not livezone", () => {
    const rounds = [
      roundOf("livezone-unbound", "sigstop", 0, { last: 8, failed: 9 }),
      roundOf("livezone-direct", "sigstop", 0, { last: 6, failed: 9 }),
      roundOf("round-robin", "sigstop", 0, { last: 45, failed: 99 }),
      roundOf("nginx-node", "sigstop", 0, { last: 2, failed: 1 }),
    ];
    expect(shortTable(summaryOf(rounds)).split("\n").slice(2)).toEqual([
      "| SIGSTOP (hangs) | 8.00 s | 6.00 s (livezone, asked directly) | 2.00 s (nginx on the node (kubespray's)) | the other |",
    ]);
  });

  test("show how often each cell was played", () => {
    expect(roundsTable(summary, ["sigkill", "uplink"])).toContain("| livezone, through Unbound | 2 | 0 |");
  });

  test.each([
    [0.5, "0.50"],
    [12.34, "12.3"],
    [44.9, "> 38"],
    [Number.NaN, ""],
  ])("%d s is shown as %j", (value, shown) => {
    expect(seconds(value)).toBe(shown);
  });
});

describe("the bars", () => {
  const verdict = (rounds: readonly object[], name: string) =>
    verdictsOf(summaryOf(rounds)).find((one) => one.name.startsWith(name));

  test.each([
    { mine: 2, theirs: 5, isMet: true },
    { mine: 5, theirs: 5, isMet: false },
    { mine: 6, theirs: 5, isMet: false },
  ])("a crash: $mine s against $theirs s", ({ mine, theirs, isMet }) => {
    const rounds = times(10, (round) => [
      roundOf("livezone-unbound", "sigkill", round, { last: mine }),
      roundOf("round-robin-fast", "sigkill", round, { last: theirs }),
    ]).flat();
    expect(verdict(rounds, "crash, first address only: a lower median than round-robin DNS (TTL 5)")?.isMet).toBe(
      isMet,
    );
  });

  test("one failed request of any client misses the bar of a graceful stop", () => {
    const rounds = times(10, (round) =>
      roundOf("livezone-unbound", "graceful", round, { failed: round === 7 ? 1 : 0 }),
    );
    const name = "graceful stop, 20 s delay: no failed request, livezone, through Unbound";
    expect(verdict(rounds, name)?.isMet).toBe(false);
    expect(verdict(rounds.slice(0, 7), name)?.isMet).toBe(true);
    expect(verdict([], name)?.isMet).toBeUndefined();
  });

  test("a false withdrawal misses its bar", () => {
    const rounds = [{ ...roundOf("livezone-direct", "uplink", 0), withdrawals: 1 }];
    expect(verdict(rounds, "no false withdrawal, livezone, asked directly")?.isMet).toBe(false);
  });

  test("cells with fewer than ten rounds are named", () => {
    const rounds = times(10, (round) => roundOf("livezone-unbound", "sigkill", round));
    const named = thinCells(summaryOf(rounds));
    expect(named).not.toContainEqual(["livezone-unbound", "sigkill", 10]);
    expect(named).toContainEqual(["livezone-unbound", "sigstop", 0]);
  });
});

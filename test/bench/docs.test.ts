import { describe, expect, test } from "vitest";
import { projectFiles, root, textOf } from "../house-rules/source.js";

interface Case {
  readonly bar?: number;
  readonly lanes: readonly string[];
  readonly group: string;
}

/** What the benchmark's scripts export, as far as it is used here. */
const { CASES, GROUPS, verdictOf } = (await import(`${root}bench/cases.mjs`)) as {
  CASES: Readonly<Record<string, Case>>;
  GROUPS: Readonly<Record<string, { readonly lanes: Readonly<Record<string, { readonly queries: string }>> }>>;
  verdictOf(limits: object, value: number | null): string;
};
const { withTables } = (await import(`${root}bench/report.mjs`)) as {
  withTables(text: string, summary: unknown): string;
};

/** Cases with a bar that were added since the figures in `bench/results/` were measured. The next run of all cases empties this list. */
const NOT_MEASURED_YET: readonly string[] = [];

describe("the benchmark", () => {
  test("docs/performance.md has the figures of bench/results/, of every case with a bar", () => {
    const summary = JSON.parse(textOf("bench/results/summary.json")) as { cases: readonly { case: string }[] };
    const text = textOf("docs/performance.md");
    expect(withTables(text, summary)).toBe(text);
    const measured = new Set(summary.cases.map((one) => one.case));
    const missing = Object.keys(CASES).filter((name) => CASES[name]?.bar !== undefined && !measured.has(name));
    expect(missing.sort()).toEqual([...NOT_MEASURED_YET].sort());
    expect(projectFiles()).toContain("bench/results/chart.svg");
  });

  test("every case is drawn from lanes that its group has", () => {
    const without = Object.entries(CASES).filter(([, { group, lanes }]) =>
      lanes.some((lane) => GROUPS[group]?.lanes[lane] === undefined),
    );
    expect(without).toEqual([]);
  });

  test.each([
    { better: "higher", value: 1.05, verdict: "goal" },
    { better: "higher", value: 0.9, verdict: "pass" },
    { better: "higher", value: 0.899, verdict: "fail" },
    { better: "lower", value: 0.9, verdict: "goal" },
    { better: "lower", value: 1.05, verdict: "fail" },
    { better: "lower", value: null, verdict: "missing" },
  ])("$value where $better is better: $verdict", ({ better, value, verdict }) => {
    const limits = better === "higher" ? { bar: 0.9, goal: 1.05 } : { bar: 1, goal: 0.9 };
    expect(verdictOf({ better, ...limits }, value)).toBe(verdict);
  });
});

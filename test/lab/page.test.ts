import { describe, expect, test } from "vitest";
import { projectFiles, textOf } from "../house-rules/source.js";
import { labModule, roundOf, type Summary } from "./modules.js";

const { withParts, partsOf, chartOf } = await labModule<{
  withParts(text: string, parts: Readonly<Record<string, string>>): string;
  partsOf(summary: Summary): Record<string, string>;
  chartOf(summary: Summary): string;
}>("page");
const { summaryOf } = await labModule<{ summaryOf(rounds: readonly object[]): Summary }>("summary");

describe("docs/failover.md", () => {
  test("has the figures of lab/results/summary.json", () => {
    const summary = JSON.parse(textOf("lab/results/summary.json")) as Summary;
    const text = textOf("docs/failover.md");
    expect(withParts(text, partsOf(summary))).toBe(text);
    expect(projectFiles()).toContain("docs/images/failover.svg");
  });

  test("keeps what stands outside the marks", () => {
    const text = "a\n<!-- lab: one -->\nold\n<!-- lab: end -->\nb\n";
    const once = withParts(text, { one: "new" });
    expect(once).toBe("a\n<!-- lab: one -->\n\nnew\n\n<!-- lab: end -->\nb\n");
    expect(withParts(once, { one: "new" })).toBe(once);
    expect(() => withParts(text, {})).toThrow("one");
  });

  test("has a chart with a bar for each way, the fastest first", () => {
    const rounds = [
      roundOf("round-robin", "sigkill", 0, { last: 9 }),
      roundOf("livezone-unbound", "sigkill", 0, { last: 3 }),
    ];
    const chart = chartOf(summaryOf(rounds));
    expect([...chart.matchAll(/text-anchor="end">([^<]+)</g)].map(([, name]) => name)).toEqual([
      "livezone, through Unbound",
      "round-robin DNS (TTL 300)",
    ]);
  });
});

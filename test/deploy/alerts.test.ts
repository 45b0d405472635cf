import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { root, textOf } from "../house-rules/source.js";
import { describeWith, requireProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { metricNamesIn, metricsOfLivezone } from "./metric-names.js";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

/** A file of cases, as far as its tests name alerts. */
interface Cases {
  readonly tests: readonly { readonly alert_rule_test: readonly { readonly alertname: string }[] }[];
}

/** Cases, apart by how often rules are evaluated: a day in steps of 10 s takes promtool as long as all else. */
const CASES = ["test/deploy/alerts.cases.yaml", "test/deploy/alerts.days.cases.yaml"];

const rules: readonly Rule[] = parse(textOf("deploy/alerts.yaml")).groups.flatMap(
  ({ rules: of }: { rules: readonly Rule[] }) => of,
);

describe("deploy/alerts.yaml", () => {
  test("uses metrics that livezone has", async () => {
    const known = await metricsOfLivezone();
    for (const { alert, expr } of rules) {
      const used = metricNamesIn(expr).filter((name) => name !== "up");
      expect({ alert, unknown: used.filter((name) => !known.has(name)) }).toEqual({ alert, unknown: [] });
    }
  });

  test("says of every alert how bad it is, what it means, and in docs/operations.md what to do", () => {
    const manual = textOf("docs/operations.md");
    for (const { alert, labels, annotations } of rules) {
      expect(["info", "warning", "critical"]).toContain(labels.severity);
      expect(annotations.summary).toContain("{{");
      expect(annotations.description).toMatch(/\.$/);
      expect(manual).toContain(`### ${alert}\n`);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });
});

describeWith(["promtool"], "promtool", () => {
  const run = (...args: readonly string[]) =>
    spawnSync(requireProgram("promtool"), args, { cwd: root, encoding: "utf8" });

  test("takes the rules", () => {
    const { status, stdout, stderr } = run("check", "rules", "--lint-fatal", "deploy/alerts.yaml");
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: "" });
  });

  test("finds that each rule fires when it should, and not before", () => {
    const { status, stdout, stderr } = run("test", "rules", ...CASES);
    expect({ status, output: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
    const names = CASES.flatMap((file) => (parse(textOf(file)) as Cases).tests)
      .flatMap(({ alert_rule_test: cases }) => cases)
      .map(({ alertname }) => alertname);
    expect(rules.map(({ alert }) => alert).filter((alert) => !names.includes(alert))).toEqual([]);
  });

  test("can tell when one does not", () => {
    const cases = textOf("test/deploy/alerts.cases.yaml")
      .replace("../../deploy/alerts.yaml", `${root}deploy/alerts.yaml`)
      .replace("values: 1 1 1 0x60", "values: 1x63");
    const file = join(temporaryFolder(), "cases.yaml");
    writeFileSync(file, cases);
    expect(run("test", "rules", file).status).not.toBe(0);
  });
});

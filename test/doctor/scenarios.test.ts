import { beforeAll, expect, test } from "vitest";
import type { DoctorReport } from "../../src/doctor/doctor.js";
import { mapLimited } from "../../src/doctor/pace.js";
import { doctorReportSchema } from "../../src/doctor/report.js";
import { afterAllTests } from "../support/cleanup.js";
import { describeWith, findProgram } from "../support/programs.js";
import { loadScenarios, programOf } from "./scenario.js";
import { startWorld } from "./world.js";

const all = loadScenarios();
const isMissing = (program: string | undefined) => program !== undefined && findProgram(program) === undefined;
/** Validating resolvers need a signed zone as well. */
const scenarios = all.filter((one) => {
  const program = programOf(one);
  return program === undefined || ![program, "knotd"].some(isMissing);
});

describeWith(["named", "unbound", "dnsmasq"], "doctor", () => {
  const cleanup = afterAllTests();
  const reports = new Map<string, DoctorReport>();

  // All at once: most of the time is spent waiting for caches to run out.
  beforeAll(async () => {
    const world = await startWorld(scenarios, cleanup);
    await mapLimited(scenarios, 25, async (scenario) => {
      reports.set(scenario.name, await world.examine(scenario));
    });
  }, 60_000);

  test.each(scenarios.map((scenario) => ({ ...scenario, title: `${scenario.name}: ${scenario.about}` })))(
    "$title",
    ({ name, expect: expected }) => {
      const report = reports.get(name) as DoctorReport;
      expect(doctorReportSchema.parse(report)).toEqual(report);
      const sorted = <T extends { id: string; severity: string }>(findings: readonly T[]) =>
        findings.map(({ id, severity }) => `${severity} ${id}`).sort();
      expect(sorted(report.findings), JSON.stringify(report.findings, undefined, 2)).toEqual(sorted(expected));
      for (const { id, subject = "", evidence = "", remedy } of expected) {
        const matching = report.findings.filter((finding) => finding.id === id);
        expect(matching).toContainEqual(
          expect.objectContaining({
            subject: expect.stringMatching(new RegExp(subject)),
            evidence: expect.stringMatching(new RegExp(evidence)),
            remedy: expect.stringMatching(new RegExp(remedy)),
          }),
        );
      }
      expect(report.healthy).toBe(!expected.some(({ severity }) => severity === "error"));
    },
  );

  test.skip.each(all.filter((one) => !scenarios.includes(one)))("$name: a program is not installed", () => {});
});

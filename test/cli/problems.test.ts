import { describe, expect, test } from "vitest";
import { printProblems, refusingProblems } from "../../src/cli/problems.js";
import type { Problem } from "../../src/lib/errors.js";
import { ConfigurationError } from "../../src/server/load-zones.js";
import { capturing } from "./in-process.js";

const PROBLEMS: readonly Problem[] = [
  { file: "b.yaml", line: 3, column: 1, message: "b is wrong.", remedy: "Mend b.", code: "B", severity: "warning" },
  { file: "a.yaml", line: 1, column: 2, message: "a is wrong.", remedy: "Mend a.", code: "A" },
];

const PRINTED = "b.yaml:3:1: warning: b is wrong.\nMend b. [B]\na.yaml:1:2: a is wrong.\nMend a. [A]\n";

test("problems are printed in the order given, two lines each", async () => {
  const outcome = await capturing(async () => {
    printProblems(PROBLEMS);
    return null;
  });
  expect(outcome).toEqual({ code: null, stdout: "", stderr: PRINTED });
});

describe("a command that needs a configuration", () => {
  test("ends as it says when there is nothing to refuse", async () => {
    expect(await capturing(() => refusingProblems(() => 7))).toEqual({ code: 7, stdout: "", stderr: "" });
    expect(await capturing(() => refusingProblems(async () => 0, true))).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("prints what is wrong with a faulty one, and ends with 1", async () => {
    const run = () => Promise.reject(new ConfigurationError(PROBLEMS));
    expect(await capturing(() => refusingProblems(run))).toEqual({ code: 1, stdout: "", stderr: PRINTED });
  });

  test("tells programs the same on standard output", async () => {
    const { code, stdout, stderr } = await capturing(() =>
      refusingProblems(() => {
        throw new ConfigurationError(PROBLEMS.slice(1));
      }, true),
    );
    expect({ code, stderr }).toEqual({ code: 1, stderr: "a.yaml:1:2: a is wrong.\nMend a. [A]\n" });
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: "CONFIG_REFUSED",
        message: "the configuration has 1 problem",
        problems: ["a.yaml:1:2: a is wrong.\nMend a. [A]"],
      },
    });
  });

  test("leaves any other error to whoever runs it", async () => {
    await expect(refusingProblems(() => Promise.reject(new Error("a defect")))).rejects.toThrow("a defect");
  });
});

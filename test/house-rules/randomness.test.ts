import { describe, expect, test } from "vitest";
import { lineAt, projectFiles, textOf } from "./source.js";

/** The source of seeded numbers, and this rule: both name what nobody else may. */
const EXEMPT = ["test/support/random.ts", "test/house-rules/randomness.test.ts"];

/** Where a file names `Math.random`, in templates and comments too: `file:line`. */
function unseeded(file: string, text: string): string[] {
  return [...text.matchAll(/\bMath\s*\.\s*random\b/g)].map(({ index }) => `${file}:${lineAt(text, index)}`);
}

describe("a test that failed can be repeated", () => {
  test("none uses Math.random: test/support/random.ts makes numbers from a seed that the run prints", () => {
    const files = projectFiles().filter((file) => /^test\/.*\.[cm]?[jt]s$/.test(file) && !EXEMPT.includes(file));
    expect(files.length).toBeGreaterThan(100);
    expect(files.flatMap((file) => unseeded(file, textOf(file)))).toEqual([]);
  });

  test.each([
    "const n = Math.random();",
    "run({ random: Math.random });",
    "const name = `peer-$" + "{Math.random()}`;",
    "const n = Math\n  .random();",
  ])("finds %j", (text) => {
    expect(unseeded("a.test.ts", text)).toEqual(["a.test.ts:1"]);
  });

  test("passes numbers from a seed", () => {
    expect(unseeded("a.test.ts", "const random = runRandom(); const n = Math.floor(random() * 6);")).toEqual([]);
  });
});

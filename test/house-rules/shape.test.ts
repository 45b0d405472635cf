import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { IN_A_CIRCLE, LONG_FILES, LONG_FUNCTIONS, WITHOUT_A_TEST } from "./exceptions.js";
import { decides, hasMirrorTest, importCircles, importedFiles, MAX_FILE_LINES, MAX_FUNCTION_LINES } from "./shape.js";
import { projectFiles, root, sourceFiles, textOf } from "./source.js";

/** Files with a function of more lines than admitted, as Biome counts them (without comments and empty lines). */
function filesWithLongFunctions(folder: string, maxLines: number): string[] {
  const rule = { level: "error", options: { maxLines, skipBlankLines: true } };
  const configuration = mkdtempSync(join(tmpdir(), "livezone-shape-"));
  try {
    const rules = { complexity: { noExcessiveLinesPerFunction: rule } };
    writeFileSync(join(configuration, "biome.json"), JSON.stringify({ root: true, linter: { rules } }));
    const biome = `${root}node_modules/@biomejs/biome/bin/biome`;
    const only = "--only=complexity/noExcessiveLinesPerFunction";
    const reporting = ["--reporter=github", "--max-diagnostics=none"];
    const args = [biome, "lint", `--config-path=${configuration}`, only, ...reporting, folder];
    const { stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    const found = [...stdout.matchAll(/^::error .*?\bfile=([^,]+),/gm)].map(
      ([, file]) => file?.replace(root, "") ?? "",
    );
    return [...new Set(found)].sort();
  } finally {
    rmSync(configuration, { recursive: true });
  }
}

/** Files that break a rule and are not listed, and files that are listed and keep it: both lists are empty when all is well. */
function compared(found: readonly string[], exceptions: readonly string[]) {
  return {
    mend: found.filter((file) => !exceptions.includes(file)),
    "delete from exceptions.ts": exceptions.filter((file) => !found.includes(file)),
  };
}
const NOTHING = { mend: [], "delete from exceptions.ts": [] };

describe("the shape of the code", () => {
  test(`no function has more than ${MAX_FUNCTION_LINES} lines`, () => {
    expect(compared(filesWithLongFunctions("src", MAX_FUNCTION_LINES), LONG_FUNCTIONS)).toEqual(NOTHING);
  });

  test("the lab keeps both rules, and each of its pure files has its test", () => {
    const files = projectFiles().filter((file) => /^lab\/.*\.mjs$/.test(file));
    expect(files.length).toBeGreaterThan(10);
    expect(filesWithLongFunctions("lab", MAX_FUNCTION_LINES)).toEqual([]);
    expect(files.filter((file) => textOf(file).trimEnd().split("\n").length > MAX_FILE_LINES)).toEqual([]);
    const tests = projectFiles()
      .filter((file) => /^test\/lab\/.*\.test\.ts$/.test(file))
      .map(textOf)
      .join("\n");
    const pure = files.filter((file) => /^\/\*\*[^\n]* Pure\. \*\/$/m.test(textOf(file)));
    expect(pure.length).toBeGreaterThan(5);
    expect(pure.filter((file) => !tests.includes(`("${file.slice("lab/".length, -".mjs".length)}")`))).toEqual([]);
  });

  test("the rule on functions can tell", () => {
    expect(filesWithLongFunctions("test/house-rules/shape.ts", 2)).toEqual(["test/house-rules/shape.ts"]);
  });

  test(`no file has more than ${MAX_FILE_LINES} lines`, () => {
    const long = sourceFiles().filter((file) => textOf(file).trimEnd().split("\n").length > MAX_FILE_LINES);
    expect(compared(long, LONG_FILES)).toEqual(NOTHING);
  });

  test("no file imports itself through others", () => {
    const imports = new Map(sourceFiles().map((file) => [file, importedFiles(file, textOf(file))]));
    expect(compared(importCircles(imports), IN_A_CIRCLE)).toEqual(NOTHING);
  });

  test("each file that decides something has its test in the mirror tree", () => {
    const tests = projectFiles().filter((file) => /^test\/.*\.test\.ts$/.test(file));
    const imports = new Map(tests.map((file) => [file, importedFiles(file, textOf(file))]));
    const without = sourceFiles().filter((file) => decides(textOf(file)) && !hasMirrorTest(file, imports));
    expect(compared(without, WITHOUT_A_TEST)).toEqual(NOTHING);
  });
});

describe("the rules can tell", () => {
  test.each([
    { name: "no circle", imports: { a: ["b", "c"], b: ["c"], c: [] }, circles: [] },
    { name: "two files", imports: { a: ["b"], b: ["a"] }, circles: ["a > b > a"] },
    {
      name: "two that share files",
      imports: { a: ["b"], b: ["a", "c"], c: ["a"] },
      circles: ["a > b > a", "c > a > b > c"],
    },
    { name: "a file that only leads to a circle", imports: { a: ["b"], b: ["c"], c: ["b"] }, circles: ["b > c > b"] },
    { name: "two circles", imports: { a: ["b"], b: ["a"], c: ["d"], d: ["c"] }, circles: ["a > b > a", "c > d > c"] },
  ])("circles: $name", ({ imports, circles }) => {
    expect(importCircles(new Map(Object.entries(imports)))).toEqual(circles);
  });

  test.each([
    ["export const A = 1;", false],
    ["export interface A {\n  /** If (x) */\n  readonly b?: number;\n}", false],
    ["export type A = B | C;", false],
    ["if (a) b();", true],
    ["const a = b ? c : d;", true],
    ["const a = b ?? c;", true],
    ["for (const a of b) c(a);", true],
  ])("deciding: %j", (source, expected) => {
    expect(decides(source)).toBe(expected);
  });

  test.each([
    { test: "test/zone/build.test.ts", imported: [], expected: true },
    { test: "test/zone/build-records.test.ts", imported: [], expected: true },
    { test: "test/zone/other.test.ts", imported: ["src/zone/build.ts"], expected: true },
    { test: "test/zone/builder.test.ts", imported: [], expected: false },
    { test: "test/config/build.test.ts", imported: ["src/zone/build.ts"], expected: false },
  ])("a test in the mirror tree: $test", ({ test, imported, expected }) => {
    expect(hasMirrorTest("src/zone/build.ts", new Map([[test, imported]]))).toBe(expected);
  });
});

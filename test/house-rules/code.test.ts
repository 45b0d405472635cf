import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { codeOnly, lineAt, projectFiles, root, sourceFiles, textOf } from "./source.js";

/** Classes that inherit from something that is no Error, as `line: text`. */
function inheritance(source: string): string[] {
  const code = codeOnly(source);
  return [...code.matchAll(/\bclass\b[^{]*?\bextends\s+([\w.]+)/g)]
    .filter(([, parent]) => !/(?:^|\.)\w*Error$/.test(parent ?? ""))
    .map((match) => `${lineAt(code, match.index)}: extends ${match[1]}`);
}

/** Comments that silence a tool without saying why, as `line: text`. */
function bareSuppressions(source: string): string[] {
  return source.split("\n").flatMap((line, index) => {
    const bare =
      /\/[/*]\s*(?:@ts-(?:ignore|nocheck)\b|@ts-expect-error[\s:.*/-]*$|(?:v8|c8|istanbul) ignore\b|eslint-disable)/.test(
        line,
      ) || /\/[/*]\s*biome-ignore(?:-\w+)?\s+[^:]*(?::[\s.*/-]*)?$/.test(line);
    return bare ? [`${index + 1}: ${line.trim()}`] : [];
  });
}

/** Samples that Biome, as configured here, must refuse: one file each, named after the rule. */
const REFUSED_SAMPLES: Readonly<Record<string, string>> = {
  noExplicitAny: "export const a = (b: any): unknown => b;",
  noDefaultExport: "export default 1;",
  noEnum: "export enum A {\n  B = 0,\n}",
  noBarrelFile: 'export { a } from "./a.js";\nexport { b } from "./b.js";',
  noReExportAll: 'export * from "./a.js";',
  noNonNullAssertion: "export const a = (b?: string): string => b!;",
  useImportType: 'import { A } from "./a.js";\nexport const a = (b: A): A => b;',
  noUnusedImports: 'import { a } from "./a.js";',
  unused: "// biome-ignore lint/style/noEnum: there is none below\nexport const a = 1;",
};

/** What Biome says of each sample: lines that name the file and the rule. */
function biomeComplaints(samples: Readonly<Record<string, string>>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "livezone-biome-"));
  try {
    copyFileSync(`${root}biome.json`, join(folder, "biome.json"));
    mkdirSync(join(folder, "src", "lib"), { recursive: true });
    for (const [name, source] of Object.entries(samples)) {
      writeFileSync(join(folder, "src", "lib", `${name}.ts`), `${source}\n`);
    }
    const biome = `${root}node_modules/@biomejs/biome/bin/biome`;
    const args = [biome, "lint", "--vcs-enabled=false", "--reporter=github", "src"];
    const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    return stdout.split("\n").filter((line) => line.startsWith("::"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("source code", () => {
  test("inherits from errors only", () => {
    const found = sourceFiles().flatMap((file) => inheritance(textOf(file)).map((what) => `${file}:${what}`));
    expect(found).toEqual([]);
  });

  test("the rule on inheritance can tell", () => {
    expect(inheritance("class A extends B {}")).toEqual(["1: extends B"]);
    expect(inheritance("const A = class\n  extends B {}")).toHaveLength(1);
    expect(
      inheritance('class A extends RangeError {}\nclass B { text = "class C extends D" } // class E extends F'),
    ).toEqual([]);
  });

  test("says why wherever it silences a tool", () => {
    const files = projectFiles().filter((file) => /\.[cm]?[jt]s$/.test(file) && !file.startsWith("test/house-rules/"));
    const found = files.flatMap((file) => bareSuppressions(textOf(file)).map((what) => `${file}:${what}`));
    expect(found).toEqual([]);
  });

  test.each([
    ["// @ts-ignore because of a reason", 1],
    ["// @ts-expect-error", 1],
    ["// @ts-expect-error: dns2 types this as a string", 0],
    ["// biome-ignore lint/suspicious/noExplicitAny", 1],
    ["// biome-ignore lint/suspicious/noExplicitAny:", 1],
    ["// biome-ignore lint/suspicious/noExplicitAny: the library's own signature", 0],
    ["/* v8 ignore next */", 1],
  ])("the rule on silencing can tell: %s", (line, count) => {
    expect(bareSuppressions(line)).toHaveLength(count);
  });
});

describe("Biome", () => {
  const clean = { clean: "export const a = 1;" };
  const complaints = biomeComplaints({ ...REFUSED_SAMPLES, ...clean });

  test.each(Object.keys(REFUSED_SAMPLES))("refuses %s", (rule) => {
    expect(complaints.filter((line) => line.includes(`/${rule}.ts,`)).join("\n")).toContain(rule);
  });

  test("has nothing to say of a file that is right", () => {
    expect(complaints.filter((line) => line.includes("/clean.ts,"))).toEqual([]);
  });
});

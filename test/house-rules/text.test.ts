import { describe, expect, test } from "vitest";
import { projectFiles, textOf } from "./source.js";

// Each pattern is put together from pieces, so that this file does not break its own rules.
const RULES = [
  { name: "work left undone", pattern: new RegExp(`\\b(?:${["TO" + "DO", "FIX" + "ME"].join("|")})\\b`) },
  {
    name: "a path of one machine",
    pattern: new RegExp(`(?<![\\w.~*-])/(?:wo${"rk"}|ro${"ot"}|home/\\w+|Users/\\w+)/`),
  },
  { name: "a path beside the checkout", pattern: new RegExp(`\\.\\./sha${"red"}\\b`) },
  {
    name: "a package registry",
    pattern: new RegExp(`\\b(?:registry\\.(?:npm${"js"}|yarn${"pkg"})|npm\\.pkg\\.github)\\b`),
  },
  { name: "where a package was fetched", pattern: new RegExp(`"resol${"ved"}"\\s*:\\s*"`) },
];

/** What a text says that it should not, as `line: rule`. */
function wrongIn(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line, index) =>
      RULES.filter(({ pattern }) => pattern.test(line)).map(({ name }) => `${index + 1}: ${name}`),
    );
}

describe("the project's text", () => {
  test("leaves nothing undone and names no machine and no registry", () => {
    const files = projectFiles();
    expect(files).toContain("package-lock.json");
    const found = files.flatMap((file) => {
      const text = textOf(file);
      return text.includes("\0") ? [] : wrongIn(text).map((what) => `${file}:${what}`);
    });
    expect(found).toEqual([]);
  });

  test.each([
    `// ${"TO"}DO: later`,
    `see /ro${"ot"}/notes`,
    `"/wo${"rk"}/main"`,
    `cd /ho${"me"}/someone/livezone`,
    `https://registry.npm${"js"}.org/zod`,
    `      "resol${"ved"}": "https://mirror.example/zod.tgz",`,
    `as ../sha${"red"}/notes says`,
  ])("the rules can tell: %s", (line) => {
    expect(wrongIn(line)).toHaveLength(1);
  });

  test.each(["the todo list", "/var/lib/livezone", "registry 300 IN A 192.0.2.20", "scripts/work/a", "resolved: true"])(
    "the rules admit: %s",
    (line) => {
      expect(wrongIn(line)).toEqual([]);
    },
  );
});

import { describe, expect, test } from "vitest";
import { parseSource, problemAt, problemAtKey } from "../../src/config/source.js";
import { brief, sourceOf } from "./source.js";

/** `line:column CODE` of everything that is wrong with a text. */
function wrong(text: string | Uint8Array): string[] {
  const parsed = parseSource("a.yaml", "/etc/a.yaml", Buffer.from(text));
  return "problems" in parsed ? parsed.problems.map(brief) : [];
}

describe("a text that is right", () => {
  test("becomes plain values, with the folder that relative names start from", () => {
    const source = sourceOf("a: [1, yes, 0x10, ~]\nb: { c: 'd' }\n", "/etc/livezone/main.yaml");
    expect(source.data).toEqual({ a: [1, "yes", 16, null], b: { c: "d" } });
    expect(source).toMatchObject({ file: "main.yaml", directory: "/etc/livezone" });
    expect(source.position({ line: 2, column: 3 })).toEqual({ file: "main.yaml", line: 2, column: 3 });
  });

  test.each([
    { name: "nothing", text: "", data: null },
    { name: "comments", text: "# a\n", data: null },
    { name: "a byte-order mark", text: "\ufeffa: 1\n", data: { a: 1 } },
    { name: "aliases", text: "a: &x [1]\nb: *x\n", data: { a: [1], b: [1] } },
    { name: "YAML 1.2 by name", text: "%YAML 1.2\n---\na: 1\n", data: { a: 1 } },
    { name: "keys of digits", text: "1: a\n", data: { 1: "a" } },
  ])("may hold $name", ({ text, data }) => {
    expect(wrong(text)).toEqual([]);
    expect(sourceOf(text).data).toEqual(data);
  });

  test("lets a problem stand at a value or at its key", () => {
    const source = sourceOf("a:\n  b: 1\n");
    const finding = { message: "m", remedy: "r", code: "C" };
    expect(problemAt(source, ["a", "b"], finding)).toEqual({ file: "main.yaml", line: 2, column: 6, ...finding });
    expect(problemAtKey(source, ["a", "b"], finding)).toEqual({ file: "main.yaml", line: 2, column: 3, ...finding });
  });
});

describe("a text that is wrong", () => {
  const aliases = (count: number) => `a: &x 1\nb: [${Array(count).fill("*x").join(", ")}]\n`;
  // Each list holds the one before ten times.
  const growing = `a0: &a0 [${Array(10).fill("x").join(", ")}]\n${[1, 2, 3]
    .map(
      (level) =>
        `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(", ")}]\n`,
    )
    .join("")}`;
  test.each([
    { name: "an octet that is not UTF-8", text: Uint8Array.of(0x61, 0x0a, 0x62, 0xff), is: ["2:2 CONFIG_NOT_UTF8"] },
    { name: "half a character", text: Uint8Array.of(0xc3, 0x0a), is: ["1:1 CONFIG_NOT_UTF8"] },
    { name: "half a character at the end", text: Uint8Array.of(0x61, 0xc3), is: ["1:2 CONFIG_NOT_UTF8"] },
    {
      name: "too deep a nesting",
      text: `a: ${"[".repeat(200)}`,
      is: [expect.stringMatching(/^1:\d+ CONFIG_YAML_DEPTH$/)],
    },
    { name: "an old version of YAML", text: "%YAML 1.1\n---\na: yes\n", is: ["1:1 CONFIG_YAML_VERSION"] },
    { name: "an alias of nothing", text: "a: *x\n", is: ["1:4 CONFIG_YAML_ALIAS"] },
    { name: "an alias inside its own anchor", text: "a: &x\n  b: *x\n", is: ["2:6 CONFIG_YAML_ALIAS"] },
    { name: "aliases that grow", text: growing, is: ["1:1 CONFIG_YAML_ALIAS"] },
    { name: "a key that is there twice", text: "a: 1\na: 2\n", is: ["2:1 CONFIG_YAML_DUPLICATE_KEY"] },
    { name: "a tag", text: "a: !b c\n", is: ["1:4 CONFIG_YAML_SYNTAX"] },
    { name: "unusual characters, told alone", text: "a:\u00a0x\nb: *x\n", is: [expect.stringMatching(/^1:3 /)] },
  ])("is told: $name", ({ text, is }) => {
    expect(wrong(text)).toEqual(is);
  });

  test("may repeat an anchor many times, as long as it stays small", () => {
    expect(wrong(aliases(90))).toEqual([]);
  });

  test("has its problems told from top to bottom, and at most twenty of them", () => {
    const told = wrong(`a: *x\nb: !y z\n`);
    expect(told).toEqual(["1:4 CONFIG_YAML_ALIAS", "2:4 CONFIG_YAML_SYNTAX"]);
    expect(wrong(Array.from({ length: 30 }, (_, index) => `k${index}: *x\n`).join(""))).toHaveLength(20);
  });
});

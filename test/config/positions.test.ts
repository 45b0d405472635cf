import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LineCounter, parseDocument } from "yaml";
import { positionsOf } from "../../src/config/positions.js";

function positions(text: string) {
  const counter = new LineCounter();
  return positionsOf(parseDocument(text, { lineCounter: counter, stringKeys: true }), counter, text);
}

/** `line:column` of a place in the text at `records`. */
function inRecords(text: string, line: number, column: number): string {
  const place = positions(text).inText(["records"], line, column);
  return `${place.line}:${place.column}`;
}

describe("a place in a literal block", () => {
  test.each([
    { name: "first line", text: "records: |\n  a 1\n  b 2\n", at: [1, 1], is: "2:3" },
    { name: "second line", text: "records: |\n  a 1\n  b 2\n", at: [2, 3], is: "3:5" },
    { name: "strip", text: "x: 1\nrecords: |-\n    a\n    b\n", at: [2, 1], is: "4:5" },
    { name: "keep", text: "records: |+\n a\n\n\n", at: [3, 1], is: "4:2" },
    { name: "indentation indicator", text: "records: |2\n    a\n  b\n", at: [1, 3], is: "2:5" },
    { name: "indicators in the other order", text: "records: |-3\n   a\n   b\n", at: [2, 1], is: "3:4" },
    { name: "blank lines first", text: "records: |\n\n\n  a\n", at: [3, 1], is: "4:3" },
    { name: "comment after the header", text: "records: | # the rest\n  a\n", at: [1, 1], is: "2:3" },
    { name: "anchor and tag", text: "records: &r !!str |\n  a\n", at: [1, 1], is: "2:3" },
    { name: "header on the next line", text: "records:\n  |\n  a\n", at: [1, 1], is: "3:3" },
    { name: "deeper lines", text: "records: |\n  a\n      b\n", at: [2, 5], is: "3:7" },
    { name: "carriage returns", text: "x: 1\r\nrecords: |\r\n  a\r\n  b\r\n", at: [2, 1], is: "4:3" },
    { name: "alias of a block", text: "x: &r |\n  a\n  b\nrecords: *r\n", at: [2, 1], is: "3:3" },
    { name: "no line at the end", text: "records: |\n  a", at: [1, 1], is: "2:3" },
  ] as const)("$name", ({ text, at, is }) => {
    expect(inRecords(text, at[0], at[1])).toBe(is);
  });

  test.each([
    { name: "folded", text: "records: >\n  a\n  b\n", is: "1:10" },
    { name: "double-quoted", text: 'records: "a\\nb"\n', is: "1:10" },
    { name: "plain", text: "records:\n  a b\n", is: "2:3" },
    { name: "missing", text: "other: 1\n", is: "1:1" },
  ])("of other styles the start is told: $name", ({ text, is }) => {
    expect(inRecords(text, 2, 1)).toBe(is);
  });

  test("is where the text says it is, whatever the indentation", () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(fc.option(word, { nil: "" }), { minLength: 1 }),
        fc.integer({ min: 1, max: 9 }),
        word,
        (lines, indent, last) => {
          const content = [...lines, last];
          const text = `records: |\n${content.map((line) => (line === "" ? "" : " ".repeat(indent) + line)).join("\n")}\n`;
          const source = text.split("\n");
          content.forEach((line, index) => {
            if (line === "") return;
            const place = positions(text).inText(["records"], index + 1, 1);
            expect(source[place.line - 1]?.slice(place.column - 1)).toBe(line);
          });
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("a path", () => {
  const text = 'a:\n  b: [1, {c: 2}]\n  "ü😀": { d: 3 }\n  e:\n';
  test.each([
    { path: ["a", "b"], value: "2:6", key: "2:3" },
    { path: ["a", "b", 1, "c"], value: "2:14", key: "2:11" },
    { path: ["a", "ü😀", "d"], value: "3:14", key: "3:11" },
    { path: ["a", "e"], value: "4:3", key: "4:3" },
    { path: ["a", "nowhere", "x"], value: "1:1", key: "1:1" },
    { path: ["a", "b", 7], value: "2:3", key: "2:3" },
    { path: [], value: "1:1", key: "1:1" },
  ])("$path", ({ path, value, key }) => {
    const found = positions(text);
    const show = ({ line, column }: { line: number; column: number }) => `${line}:${column}`;
    expect(show(found.value(path))).toBe(value);
    expect(show(found.key(path))).toBe(key);
  });

  test("keys keep their order", () => {
    expect(positions("b: 1\n2: 1\n1: 1\n").keys([])).toEqual(["b", "2", "1"]);
  });
});

import { expect, test } from "vitest";
import { MAX_DEPTH, tooDeepAt } from "../../src/config/yaml-depth.js";

const deep = (depth: number) => `a: ${"[".repeat(depth)}${"]".repeat(depth)}\n`;

test.each([
  ["brackets", deep],
  ["dashes", (depth: number) => `${"- ".repeat(depth)}a\n`],
])("%s may be nested as deep as the limit, and one deeper is told with its place", (_name, text) => {
  expect(tooDeepAt(text(MAX_DEPTH))).toBeUndefined();
  expect(tooDeepAt(`# first\n${text(MAX_DEPTH + 1)}`)).toMatchObject({ line: 2 });
});

test("100 000 brackets in one line are told at once", () => {
  expect(tooDeepAt("[".repeat(100_000))).toMatchObject({ line: 1 });
});

import { describe, expect, test } from "vitest";
import { projectFiles, sourceFiles, textOf } from "./source.js";
import { unusedExports } from "./unused.js";

test("src/ exports nothing that no other file needs", () => {
  const users = projectFiles().filter((file) => /^(?:test|bench|scripts)\/.*\.(?:ts|mjs)$/.test(file));
  const sources = new Map(sourceFiles().map((file) => [file, textOf(file)]));
  expect(unusedExports(sources, users.map(textOf))).toEqual([]);
});

describe("the rule can tell", () => {
  test.each([
    { name: "a function that nobody calls", source: "export function a() {}", user: "", unused: ["a"] },
    { name: "a constant that only its own file uses", source: "export const A = 1;\nA + 1;", user: "", unused: ["A"] },
    { name: "a class that only a comment names", source: "export class A {}", user: "// A", unused: ["A"] },
    { name: "a name that only begins the same", source: "export async function a() {}", user: "ab();", unused: ["a"] },
    { name: "a type that nothing names", source: "export interface A {}", user: "", unused: ["A"] },
    { name: "a function that another file calls", source: "export function a() {}", user: "a();", unused: [] },
    { name: "a function that a template calls", source: "export function a() {}", user: `\`x \${a()}\``, unused: [] },
    { name: "a type of a signature", source: "export type A = 1;\nexport const b: A = 1;", user: "b;", unused: [] },
    { name: "what is not exported", source: "function a() {}", user: "", unused: [] },
  ])("$name", ({ source, user, unused }) => {
    expect(unusedExports(new Map([["src/a.ts", source]]), [user])).toEqual(unused.map((name) => `src/a.ts: ${name}`));
  });
});

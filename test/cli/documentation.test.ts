import { expect, test } from "vitest";
import { wordsOf } from "../../src/cli/completion-scripts.js";
import { buildProgram } from "../../src/cli/program.js";
import { textOf } from "../house-rules/source.js";

const commands = wordsOf(await buildProgram({ exit() {} }));

/** The text under each command's heading of docs/cli.md, by command. */
const sections = new Map(
  textOf("docs/cli.md")
    .split(/^#{2,3} /m)
    .flatMap((section) => {
      const name = /^`livezone (\w+)/.exec(section)?.[1];
      return name === undefined ? [] : [[name, section] as const];
    }),
);

test("docs/cli.md has a section for each command, and no other", () => {
  expect([...sections.keys()].sort()).toEqual(commands.map(({ name }) => name).sort());
});

test.each(commands)("docs/cli.md names every option of $name, and no other", ({ name, options }) => {
  const told = [...(sections.get(name) ?? "").matchAll(/^- .*$/gm)].flatMap(([line]) =>
    [...line.matchAll(/`(--[a-z-]+)/g)].map(([, flag]) => flag),
  );
  const there = options.map(({ flags }) => flags[0]).filter((flag) => flag !== "--help");
  expect([...new Set(told)].sort()).toEqual(there.sort());
});

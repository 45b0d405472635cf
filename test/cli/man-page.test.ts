import { describe, expect, test } from "vitest";
import type { CommandWords, OptionWords } from "../../src/cli/completion-scripts.js";
import { manPage } from "../../src/cli/man-page.js";

const option = (more: Partial<OptionWords>): OptionWords => ({
  flags: ["--json"],
  description: "print JSON",
  choices: [],
  ...more,
});

/** The section of one command. */
function sectionOf(command: Partial<CommandWords>): string {
  const words = { name: "force", description: "take a target for up", arguments: [], options: [], ...command };
  return /\.SH COMMANDS\n([\s\S]*)\.SH EXIT STATUS/.exec(manPage("d", "1.0.0", [words]))?.[1] ?? "";
}

test("the page has a title with the version, a name, and every section that such pages have", () => {
  const page = manPage("serves names-that live", "1.2.3-rc.1", []);
  expect(page).toMatch(/^\.TH LIVEZONE 8 "" "livezone 1\.2\.3\\-rc\.1" "System administration"\n/);
  expect(page).toContain("\n.SH NAME\nlivezone \\- serves names\\-that live\n");
  expect([...page.matchAll(/^\.SH (.*)$/gm)].map(([, name]) => name)).toEqual([
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "COMMANDS",
    "EXIT STATUS",
    "FILES",
    "ENVIRONMENT",
  ]);
  expect(page.endsWith("\n")).toBe(true);
});

test("commands stand in the order given", () => {
  const words = (name: string): CommandWords => ({ name, description: name, arguments: [], options: [] });
  const page = manPage("d", "1", [words("serve"), words("check")]);
  expect([...page.matchAll(/^\.SS (.*)$/gm)].map(([, title]) => title)).toEqual(["livezone serve", "livezone check"]);
});

describe("a command", () => {
  test("has its arguments in the title, and explains those that have something to say", () => {
    const args = [
      { term: "<health>", description: "what to take it for", choices: ["up", "down"] },
      { term: "[target-id]", description: "", choices: [] },
    ];
    expect(sectionOf({ arguments: args })).toBe(`.SS livezone force <health> [target\\-id]
Take a target for up.
.TP
.I <health>
What to take it for.
`);
  });

  test.each([
    { name: "a flag", one: {}, text: "\\fB\\-\\-json\\fR\nPrint JSON." },
    {
      name: "a short name first, and a value",
      one: { flags: ["--config", "-c"], placeholder: "<file>", description: "configuration file" },
      text: "\\fB\\-c, \\-\\-config\\fR \\fI<file>\\fR\nConfiguration file.",
    },
    {
      name: "choices and a default",
      one: { choices: ["bind", "knot-dns"], fallback: "bind" },
      text: "\\fB\\-\\-json\\fR\nPrint JSON (one of bind, knot\\-dns; default: bind).",
    },
    { name: "a default alone", one: { fallback: "5s" }, text: "\\fB\\-\\-json\\fR\nPrint JSON (default: 5s)." },
  ])("has an option with $name", ({ one, text }) => {
    expect(sectionOf({ options: [option(one)] })).toBe(`.SS livezone force\nTake a target for up.\n.TP\n${text}\n`);
  });
});

describe("prose", () => {
  test.each([
    { description: "already ends.", line: "Already ends." },
    { description: "does it end?", line: "Does it end?" },
    { description: "a back\\slash", line: "A back\\eslash." },
    // A line that begins like a request would not be printed.
    { description: ".conf files", line: "\\&.conf files." },
    { description: "'quoted' word", line: "\\&'quoted' word." },
  ])("$description is set as $line", ({ description, line }) => {
    expect(sectionOf({ description })).toBe(`.SS livezone force\n${line}\n`);
  });
});

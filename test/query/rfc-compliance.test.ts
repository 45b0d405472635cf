import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The cells of every row of every table of a Markdown text, headings and rulers apart. */
function rowsOf(text: string): string[][] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\|-/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    )
    .filter((cells) => cells.at(-1) !== "test");
}

describe("docs/rfc-compliance.md", () => {
  const rows = rowsOf(readFileSync(`${root}docs/rfc-compliance.md`, "utf8"));

  test("has rows", () => {
    expect(rows.length).toBeGreaterThan(40);
  });

  test.each(rows.map((cells) => [cells.slice(0, -1).join(": ").slice(0, 80), cells.at(-1) ?? ""] as const))(
    "%s: the test that is named exists",
    (_, named) => {
      const [, file = "", title = ""] = /^`([^`]+)`: (.+)$/.exec(named) ?? [];
      expect(existsSync(root + file), `${named} names no file`).toBe(true);
      // Titles hold placeholders: the fixed words count.
      expect(readFileSync(root + file, "utf8")).toContain(title);
    },
  );
});

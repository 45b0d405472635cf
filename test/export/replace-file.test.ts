import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readIfThere, replaceFile, withBlock } from "../../src/export/replace-file.js";
import { temporaryFolder } from "../support/temp.js";

describe("replacing a file", () => {
  test("says whether its content changed, and leaves nothing beside it", () => {
    const folder = temporaryFolder();
    const file = join(folder, "servers.conf");
    expect([replaceFile(file, "a\n"), replaceFile(file, "a\n"), replaceFile(file, "b\n")]).toEqual([true, false, true]);
    expect(readFileSync(file, "utf8")).toBe("b\n");
    expect(readdirSync(folder)).toEqual(["servers.conf"]);
  });

  test("keeps its mode, and a link that leads to it", () => {
    const folder = temporaryFolder();
    const file = join(folder, "real");
    const link = join(folder, "link");
    writeFileSync(file, "a\n");
    chmodSync(file, 0o640);
    symlinkSync(file, link);
    replaceFile(link, "b\n");
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readFileSync(file, "utf8")).toBe("b\n");
  });

  test("leaves the old file when it cannot be written", () => {
    const file = join(temporaryFolder(), "no-such-folder", "file");
    expect(() => replaceFile(file, "a\n")).toThrow("ENOENT");
    expect(readIfThere(file)).toBeUndefined();
  });
});

describe("a block in a file", () => {
  const block = (lines: string) => `# livezone begin: written by "livezone export"\n${lines}# livezone end\n`;

  test.each([
    { name: "an empty file", before: "", after: block("new\n") },
    {
      name: "a file without a last newline",
      before: "127.0.0.1 localhost",
      after: `127.0.0.1 localhost\n${block("new\n")}`,
    },
    { name: "a file with a block", before: `a\n${block("old\nolder\n")}b\n`, after: `a\n${block("new\n")}b\n` },
  ])("$name: only the block changes", ({ before, after }) => {
    expect(withBlock(before, "new\n")).toBe(after);
    expect(withBlock(after, "new\n")).toBe(after);
  });
});

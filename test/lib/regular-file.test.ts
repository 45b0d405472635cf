import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readRegularFile } from "../../src/lib/regular-file.js";
import { temporaryFolder } from "../support/temp.js";

/** What is at the path that is read, and what is said of it; undefined: it is read. */
const CASES: readonly [string, (path: string) => void, string | undefined][] = [
  ["a file", (path) => writeFileSync(path, "1234"), undefined],
  ["an empty one", (path) => writeFileSync(path, ""), undefined],
  ["nothing", () => {}, "there is no such file"],
  ["a folder", (path) => mkdirSync(path), "it is a directory"],
  ["a loop of links", (path) => symlinkSync(path, path), "its symbolic links go in a circle"],
  ["a pipe, which would be waited for", (path) => execFileSync("mkfifo", [path]), "it is not a regular file"],
  ["a device that never ends", (path) => symlinkSync("/dev/zero", path), "it is not a regular file"],
  ["one octet more than allowed", (path) => writeFileSync(path, "x".repeat(1025)), "it is larger than 1 KiB"],
  [
    "1 GiB",
    (path) => {
      writeFileSync(path, "");
      truncateSync(path, 1024 ** 3);
    },
    "it is larger than 1 KiB",
  ],
];

test.each(CASES)("%s", (_name, make, why) => {
  const path = join(temporaryFolder(), "file");
  make(path);
  const read = readRegularFile(path, 1024);
  expect("why" in read ? read.why : undefined).toBe(why);
});

test("a name that no file can have", () => {
  expect(readRegularFile("x".repeat(300), 1024)).toEqual({ why: "the name is too long" });
  expect(readRegularFile("a\0b", 1024)).toEqual({ why: "the name holds a NUL character" });
});

import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
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

describe("a file", () => {
  test("is read whole, up to the limit", () => {
    const file = join(temporaryFolder(), "a");
    writeFileSync(file, "x".repeat(1024));
    expect(readRegularFile(file, 1024)).toEqual({ content: Buffer.from("x".repeat(1024)) });
    writeFileSync(file, "x".repeat(1025));
    expect(readRegularFile(file, 1024)).toEqual({ why: "it is larger than 1 KiB" });
    writeFileSync(file, "");
    expect(readRegularFile(file, 0)).toEqual({ content: Buffer.alloc(0) });
  });

  test("that cannot be had is told in words", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "file"), "");
    mkdirSync(join(folder, "folder"));
    symlinkSync("circle", join(folder, "circle"));
    symlinkSync("file", join(folder, "link"));
    const why = (file: string) => {
      const read = readRegularFile(file, 1024);
      return "why" in read ? read.why : "read";
    };
    expect(why(join(folder, "link"))).toBe("read");
    expect(why(join(folder, "absent"))).toBe("there is no such file");
    expect(why(join(folder, "file/below"))).toBe("there is no such file");
    expect(why(join(folder, "folder"))).toBe("it is a directory");
    // A device: it would never end.
    expect(why("/dev/zero")).toBe("it is not a regular file");
    expect(why(join(folder, "circle"))).toBe("its symbolic links go in a circle");
    expect(why(join(folder, "x".repeat(300)))).toBe("the name is too long");
    expect(why("a\0b")).toBe("the name holds a NUL character");
  });
});

import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createLineWriter } from "../../src/lib/line-writer.js";
import { temporaryFolder } from "../support/temp.js";

describe("a line writer", () => {
  test("writes every line in order", async () => {
    const file = join(temporaryFolder(), "log");
    const fd = openSync(file, "w");
    onTestFinished(() => closeSync(fd));
    const writer = createLineWriter(fd);
    const lines = Array.from({ length: 1_000 }, (_, i) => `line ${i}\n`);
    for (const line of lines) writer.write(line);
    await writer.flush();
    expect(readFileSync(file, "utf8")).toBe(lines.join(""));
    expect(writer.lost).toBe(0);
  });

  test("loses lines, counts them and goes on where the disk is full", async () => {
    const fd = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(fd));
    const writer = createLineWriter(fd);
    for (let round = 1; round <= 3; round += 1) {
      writer.write("a line\n");
      await writer.flush();
      expect(writer.lost).toBe(round);
    }
  });

  test("never waits for a reader that stands still, nor keeps more than its bound", async () => {
    const path = join(temporaryFolder(), "fifo");
    execFileSync("mkfifo", [path]);
    // Open for both, so that opening does not wait for the other side.
    const fd = openSync(path, "r+");
    onTestFinished(() => closeSync(fd));
    const writer = createLineWriter(fd);
    const line = `${"x".repeat(1_023)}\n`;
    for (let i = 0; i < 4_096; i += 1) writer.write(line);
    expect(writer.lost).toBeGreaterThan(2_000);
    await writer.flush();
    // What waits is bounded: the rest of it is read here, so that no write is left hanging.
    const taken = Buffer.alloc(1 << 16);
    for (let left = (4_096 - writer.lost) * line.length; left > 0; )
      left -= readSync(fd, taken, 0, Math.min(left, taken.length), null);
    await writer.flush();
    writer.write("the end\n");
    await writer.flush();
    expect(taken.toString("utf8", 0, readSync(fd, taken, 0, 8, null))).toBe("the end\n");
  });
});

import { describe, expect, test } from "vitest";
import { projectFiles, textOf } from "./source.js";

/** What a test must not read: it differs between machines, and with what else they do. */
const MEASURES = /\b(?:memoryUsage|cpuUsage|resourceUsage|VmRSS|VmHWM|heapUsed|rss)\b/;

/** A bound on time that went by on the machine's clock. Fake clocks have no such names. */
const BOUND =
  /expect\([^;\n]*(?:performance\.now\(\)|hrtime|\b(?:elapsed|took)[A-Za-z]*)[^;\n]*\)\s*\.(?:toBeLess|toBeGreater)/;

/** Lines of a test that judge speed, memory or the share of a processor: `file:line`. */
function speedAssertions(file: string, text: string): string[] {
  return text
    .split("\n")
    .flatMap((line, index) =>
      MEASURES.test(line) || BOUND.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
    );
}

describe("tests judge behaviour, not the machine they run on", () => {
  test("none bounds speed, memory or the share of a processor: that is measured in bench/", () => {
    const files = projectFiles().filter(
      (file) => /^test\/.*\.test\.ts$/.test(file) && !file.endsWith("no-speed.test.ts"),
    );
    expect(files.length).toBeGreaterThan(100);
    expect(files.flatMap((file) => speedAssertions(file, textOf(file)))).toEqual([]);
  });

  test.each([
    "expect(process.memoryUsage().rss - before).toBeLessThan(100);",
    "expect(performance.now() - startedAt).toBeLessThan(50);",
    "expect(elapsedMs).toBeLessThanOrEqual(1_000);",
    "const { user } = process.cpuUsage(before);",
  ])("finds %s", (line) => {
    expect(speedAssertions("a.test.ts", line)).toHaveLength(1);
  });

  test("passes what is counted, or told by a clock that the test moves", () => {
    expect(speedAssertions("a.test.ts", "expect(transitions[0]?.afterMs).toBeLessThanOrEqual(221);")).toEqual([]);
  });
});

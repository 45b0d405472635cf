import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const addon = path("../../build/batch.asan.node");
const exercise = path("batch-exercise.mjs");

/** The sanitizer's library as the compiler names it; without one it names no file. */
const library = spawnSync("cc", ["-print-file-name=libasan.so"], { encoding: "utf8" }).stdout?.trim() ?? "";
const available = existsSync(library);
if (!available) console.warn("sanitizer tests of the batch transport skipped: cc or its libasan is not installed");

function run(env: NodeJS.ProcessEnv) {
  return spawnSync(process.execPath, ["--expose-gc", exercise, addon], {
    encoding: "utf8",
    timeout: 60_000,
    // NODE_OPTIONS of the test runner would load its own hooks into the sanitized process.
    env: { PATH: process.env.PATH, ...env },
  });
}

describe.skipIf(!available)("the native part under AddressSanitizer and UBSan", () => {
  beforeAll(() => {
    const build = spawnSync(process.execPath, [path("../../scripts/build-native.mjs"), "--sanitize", "--strict"], {
      encoding: "utf8",
    });
    expect(build).toMatchObject({ status: 0, stderr: "" });
  });

  test("is clean through all it does", () => {
    // Leaks are not looked for: Node itself leaves memory to the end of the process.
    const { status, stdout, stderr } = run({ LD_PRELOAD: library, ASAN_OPTIONS: "detect_leaks=0" });
    expect(stderr).toBe("");
    expect({ status, stdout }).toEqual({ status: 0, stdout: "done\n" });
  });

  test("is really sanitized: it does not load without the sanitizer", () => {
    const { status, stderr } = run({});
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/ASan runtime/);
  });
});

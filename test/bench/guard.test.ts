import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { root } from "../house-rules/source.js";

// In processes of their own and from the build: a test runner rewrites the code that is to be measured.
test("the hot path is no slower than recorded, in units of a fixed loop (bench/guard.mjs)", {
  timeout: 120_000,
}, () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["bench/guard.mjs"], { cwd: root, encoding: "utf8" });
  expect(status, `${stdout}${stderr}`).toBe(0);
  expect(stdout.match(/: ok$/gm), stdout).toHaveLength(4);
});

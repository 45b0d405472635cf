import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Brings `dist/` up to date before the first test, for tests that start the real command.
 *
 * A type error is printed but does not stop a run of one test file: `npm test` and `.ci/run` refuse it, and the
 * compiler has written its output all the same.
 */
export function setup(): void {
  const { status } = spawnSync(process.execPath, ["scripts/ensure.mjs"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0) return;
  if (!existsSync(`${root}/dist/main.js`)) {
    process.stderr.write("livezone: there is no dist/main.js; tests that start the command will fail\n");
  }
}

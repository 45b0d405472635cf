import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Names the seed of the run, which a run that failed is repeated with: `LIVEZONE_TEST_SEED`. */
function nameSeed(): void {
  process.env.LIVEZONE_TEST_SEED ??= String(Date.now() % 2 ** 32);
  process.stdout.write(`LIVEZONE_TEST_SEED=${process.env.LIVEZONE_TEST_SEED}\n`);
}

/**
 * Names the seed of the run, and brings `dist/` up to date before the first test, for tests that start the real command.
 *
 * A type error is printed but does not stop a run of one test file: `npm test` and `.ci/run` refuse it, and the
 * compiler has written its output all the same.
 */
export function setup(): void {
  nameSeed();
  const { status } = spawnSync(process.execPath, ["scripts/ensure.mjs"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0) return;
  if (!existsSync(`${root}/dist/main.js`)) {
    process.stderr.write("livezone: there is no dist/main.js; tests that start the command will fail\n");
  }
}

/** The build of another commit, to be compared with this one. */
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));

/**
 * Finds the build in a folder, or checks a commit out below `folder` and builds it there.
 *
 * @returns `build`, the folder of the build; `remove` forgets what was made
 */
export function buildOf(commitOrFolder, folder) {
  if (existsSync(join(commitOrFolder, "dist/main.js"))) return { build: resolve(commitOrFolder), remove() {} };
  const build = join(folder, "build");
  const remove = () => {
    rmSync(build, { recursive: true, force: true });
    spawnSync("git", ["worktree", "prune"], { cwd: here });
  };
  try {
    run("git", ["worktree", "add", "--detach", build, commitOrFolder], here);
    run(process.execPath, ["scripts/ensure.mjs"], build);
  } catch (error) {
    remove();
    throw error;
  }
  return { build, remove };
}

function run(program, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? `${stdout}${stderr}`.trim()}`);
}

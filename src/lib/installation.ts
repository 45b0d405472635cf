import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The folder that livezone is installed in: the one with `package.json`, nearest above a file of the program.
 *
 * It is the checkout, the folder of the npm package, or `/usr/lib/livezone`. All three have `dist/`, `build/` or `prebuilds/`,
 * and `zones/demo/` in the same places, wherever a bundler has moved the code that asks.
 *
 * @param file absolute path of a file of the program
 * @throws Error if no folder above has a `package.json`
 */
export function findInstallation(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder))
      throw new Error(`no package.json above ${file}: livezone is not installed as a whole`);
  }
}

const ROOT = findInstallation(fileURLToPath(import.meta.url));

/** Absolute path of a file of the installation, given relative to its folder: `installed("dist/transport/worker.js")`. */
export function installed(path: string): string {
  return join(ROOT, path);
}

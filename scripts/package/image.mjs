#!/usr/bin/env node
/**
 * Makes the content of a container image from this machine: `node scripts/package/image.mjs FOLDER`.
 *
 * The program as it is in the packages, the Node.js that runs this with the shared libraries it needs, and nothing else: no shell, no
 * package manager. State and control socket belong to the user that the image runs as.
 */
import { chownSync, copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { bundle, licencesOf } from "./bundle.mjs";
import { put, root, run } from "./paths.mjs";

/** User and group of the image; by number, so that Kubernetes can tell that it is not root. */
const USER = 1000;

const image = resolve(process.argv[2] ?? "");
const program = join(image, "usr/lib/livezone");

/** Copies what a path leads to, to the same path in the image. */
function copyToImage(file) {
  mkdirSync(join(image, dirname(file)), { recursive: true });
  copyFileSync(file, join(image, file));
}

const dependencies = await bundle(program);
put(join(image, "usr/share/doc/livezone/LICENSES.txt"), licencesOf(dependencies));
put(join(image, "usr/share/doc/livezone/LICENSE"), readFileSync(join(root, "LICENSE")));
if (existsSync(join(root, "build/batch.node"))) {
  mkdirSync(join(program, "build"));
  copyFileSync(join(root, "build/batch.node"), join(program, "build/batch.node"));
}
mkdirSync(join(program, "bin"), { recursive: true });
copyFileSync(process.execPath, join(program, "bin/node"));
// Lines such as "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)", and the dynamic linker's own.
for (const [, library] of run("ldd", [process.execPath]).matchAll(/(?:=> |^\s)(\/\S+) \(/gm)) copyToImage(library);
put(join(image, "etc/passwd"), `livezone:x:${USER}:${USER}::/var/lib/livezone:/nonexistent\n`);
put(join(image, "etc/group"), `livezone:x:${USER}:\n`);
for (const folder of ["var/lib/livezone", "run/livezone"]) {
  mkdirSync(join(image, folder), { recursive: true });
  if (process.getuid() === 0) chownSync(join(image, folder), USER, USER);
}
mkdirSync(join(image, "tmp"), { mode: 0o1777 });

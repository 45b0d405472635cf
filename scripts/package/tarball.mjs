/** A tree as a compressed archive, and the package for npm. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { compileNative, LIBCS } from "./native.mjs";
import { ARCHITECTURES, manifest, root, run, sourceDate } from "./paths.mjs";

/** Makes `livezone-VERSION-linux-ARCH.tar.zst`: unpacked at `/`, it is what the other packages install. */
export function makeArchive(tree, out, arch) {
  const file = join(out, `livezone-${manifest.version}-linux-${ARCHITECTURES[arch].debian}.tar.zst`);
  const tar = file.replace(/\.zst$/, "");
  const owner = [
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--sort=name",
    "--format=gnu",
    `--mtime=@${sourceDate()}`,
  ];
  run("tar", [...owner, "-cf", tar, "-C", tree, "."]);
  run("zstd", ["-q", "-f", "-15", "-T1", "--rm", tar, "-o", file]);
  return file;
}

/** Makes `livezone-VERSION.tgz` for npm, with the native part for every processor and C library inside. */
export function makeNpmPackage(out) {
  const prebuilds = join(root, "prebuilds");
  try {
    for (const arch of Object.keys(ARCHITECTURES)) {
      for (const libc of LIBCS) compileNative(arch, libc, join(prebuilds, `linux-${arch}-${libc}`, "batch.node"));
    }
    mkdirSync(out, { recursive: true });
    run("npm", ["pack", "--ignore-scripts", "--pack-destination", out], { cwd: root });
  } finally {
    // A checkout compiles its own.
    rmSync(prebuilds, { recursive: true, force: true });
  }
  return join(out, `livezone-${manifest.version}.tgz`);
}

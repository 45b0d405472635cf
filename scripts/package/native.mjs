/** The native part for each processor and C library, cross-compiled with Debian's compilers. */
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fetchNode } from "./node.mjs";
import { ARCHITECTURES, cache, root, run, sha256 } from "./paths.mjs";

const SOURCE = "src/transport/batch/batch.c";

/** C libraries that Node.js is used with. */
export const LIBCS = ["glibc", "musl"];

const MUSL_DEV = "http://deb.debian.org/debian/pool/main/m/musl/musl-dev_1.2.3-1_";
const MUSL_DEV_SHA256 = {
  amd64: "7c34f29a0c1aa12f6da1d25ed6de6fe6bbd9e048ee76b3dcb88c5e51fb65507f",
  arm64: "55c2ca4bc3041c8ed8ac7dc3ef6080d9551a21650568b2fd7610b59eaf98a4f4",
};

/** Debian's `musl-dev` for a processor, unpacked, for its headers. */
function fetchMusl(arch) {
  const { debian } = ARCHITECTURES[arch];
  const folder = join(cache, `musl-1.2.3-${debian}`);
  if (!existsSync(folder)) {
    const work = `${folder}.${process.pid}`;
    mkdirSync(work, { recursive: true });
    const archive = join(work, "musl-dev.deb");
    run("curl", ["-fsSL", "-o", archive, `${MUSL_DEV}${debian}.deb`]);
    if (sha256(archive) !== MUSL_DEV_SHA256[debian]) throw new Error(`${MUSL_DEV}${debian}.deb has an unexpected hash`);
    run("dpkg-deb", ["-x", archive, work]);
    renameSync(work, folder);
  }
  return folder;
}

/**
 * What makes gcc, which is one for glibc, compile for musl: its headers before all others, and no library. The kernel's
 * headers, which musl does not bring, come last.
 */
function muslFlags(arch) {
  const { gnu, musl } = ARCHITECTURES[arch];
  const folder = fetchMusl(arch);
  const own = run(`${gnu}-gcc`, ["-print-file-name=include"]).trim();
  const kernel = arch === process.arch ? ["/usr/include", `/usr/include/${gnu}`] : [`/usr/${gnu}/include`];
  return {
    // The checking variants of functions (_FORTIFY_SOURCE) are glibc's.
    compile: [
      "-U_FORTIFY_SOURCE",
      "-nostdinc",
      ...["-isystem", join(folder, "usr/include", musl), "-isystem", own],
      ...kernel.flatMap((path) => ["-idirafter", path]),
    ],
    // No libc: Debian has the static one only, and the process has one already, which is the one to use.
    link: ["-nostdlib", "-lgcc"],
  };
}

/**
 * Compiles the native part.
 *
 * @param arch `x64` or `arm64`
 * @param libc one of {@link LIBCS}
 * @param target file to write
 */
export function compileNative(arch, libc, target) {
  const { compile, link } = libc === "musl" ? muslFlags(arch) : { compile: ["-D_FORTIFY_SOURCE=2"], link: [] };
  mkdirSync(dirname(target), { recursive: true });
  run(
    `${ARCHITECTURES[arch].gnu}-gcc`,
    [
      ...["-std=c11", "-O2", "-fPIC", "-shared", "-fstack-protector-strong", "-Wall", "-Wextra"],
      ...["-Wl,-z,relro,-z,now", "-Wl,--build-id=none", "-s", `-ffile-prefix-map=${root}=.`],
      ...compile,
      ...["-isystem", join(fetchNode(arch), "include/node"), SOURCE, "-o", target],
      ...link,
    ],
    { cwd: root },
  );
}

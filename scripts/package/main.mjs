#!/usr/bin/env node
/**
 * Makes the packages: `npm run package [-- --arch x64] [--only deb,rpm,tar,npm] [--out FOLDER]`.
 *
 * `--layout FOLDER` makes nothing but the installed files that are the same for all processors, for the tests.
 * Needs Debian with gcc-x86-64-linux-gnu, gcc-aarch64-linux-gnu, dpkg-dev, rpm, zstd, xz-utils and curl, and downloads Node.js from
 * the npm registry once. Two builds of one commit make the same octets. Default: all kinds, both processors, into `packages/`.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeDeb } from "./deb.mjs";
import { ARCHITECTURES, root, run, sha256 } from "./paths.mjs";
import { makeRpm } from "./rpm.mjs";
import { makeArchive, makeNpmPackage } from "./tarball.mjs";
import { layOut, makeTree } from "./tree.mjs";

const { values } = parseArgs({
  options: {
    arch: { type: "string", default: "x64,arm64" },
    only: { type: "string", default: "deb,rpm,tar,npm" },
    out: { type: "string", default: "packages" },
    layout: { type: "string" },
  },
});
const out = resolve(values.out);
const kinds = values.only.split(",");

function report(file) {
  process.stdout.write(`${sha256(file)}  ${(statSync(file).size / 1e6).toFixed(1)} MB  ${file}\n`);
}

async function packagesFor(arch) {
  const work = mkdtempSync(join(tmpdir(), "livezone-package-"));
  try {
    const tree = join(work, "tree");
    mkdirSync(tree);
    await makeTree(tree, arch);
    if (kinds.includes("deb")) report(makeDeb(tree, work, out, arch));
    if (kinds.includes("rpm")) report(makeRpm(tree, work, out, arch));
    if (kinds.includes("tar")) report(makeArchive(tree, out, arch));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (values.layout !== undefined) {
  await layOut(resolve(values.layout));
  process.exit();
}
mkdirSync(out, { recursive: true });
run(process.execPath, [join(root, "scripts/ensure.mjs")]);
for (const arch of values.arch.split(",")) {
  if (ARCHITECTURES[arch] === undefined) throw new Error(`--arch ${arch}: there is x64 and arm64`);
  if (kinds.some((kind) => kind !== "npm")) await packagesFor(arch);
}
if (kinds.includes("npm")) report(makeNpmPackage(out));

/** A tree as a Debian package. */
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ARCHITECTURES, filesBelow, manifest, normalise, put, root, run, sourceDate } from "./paths.mjs";
import { CONFIGURATION } from "./tree.mjs";

const packaging = (name) => readFileSync(join(root, "packaging/debian", name), "utf8");
const squeeze = (text) => gzipSync(text, { level: 9 });

/** RFC 5322's date, as deb-changelog(5) wants it. */
const changelogDate = (seconds) => new Date(seconds * 1000).toUTCString().replace("GMT", "+0000");

function control(folder, arch) {
  const kilobytes = Number(run("du", ["-k", "-s", "--apparent-size", "--exclude=DEBIAN", folder]).split("\t")[0]);
  return packaging("control")
    .replace("@VERSION@", `${manifest.version}-1`)
    .replace("@ARCHITECTURE@", ARCHITECTURES[arch].debian)
    .replace("@SIZE@", String(kilobytes));
}

function controlFiles(folder, arch) {
  const debian = join(folder, "DEBIAN");
  const hashes = filesBelow(folder).filter((path) => !CONFIGURATION.includes(path));
  put(join(debian, "md5sums"), run("md5sum", hashes, { cwd: folder }));
  put(join(debian, "conffiles"), `${CONFIGURATION.map((path) => `/${path}`).join("\n")}\n`);
  put(join(debian, "control"), control(folder, arch));
  for (const name of ["postinst", "prerm", "postrm"]) put(join(debian, name), packaging(name), 0o755);
}

/**
 * Makes `livezone_VERSION-1_ARCH.deb`.
 *
 * @param tree as `makeTree` leaves it; stays as it is
 * @param work a folder for what is made on the way
 * @param out folder of the package
 * @returns the file
 */
export function makeDeb(tree, work, out, arch) {
  const folder = join(work, "deb");
  mkdirSync(folder, { recursive: true });
  cpSync(tree, folder, { recursive: true });
  const docs = join(folder, "usr/share/doc/livezone");
  put(
    join(docs, "changelog.Debian.gz"),
    squeeze(
      packaging("changelog")
        .replace("@VERSION@", `${manifest.version}-1`)
        .replace("@DATE@", changelogDate(sourceDate())),
    ),
  );
  rmSync(join(docs, "CHANGELOG.md"));
  put(join(docs, "changelog.gz"), squeeze(readFileSync(join(root, "CHANGELOG.md"))));
  put(join(folder, "usr/share/lintian/overrides/livezone"), packaging("lintian-overrides"));
  controlFiles(folder, arch);
  normalise(folder, sourceDate());
  const file = join(out, `livezone_${manifest.version}-1_${ARCHITECTURES[arch].debian}.deb`);
  run("dpkg-deb", ["--root-owner-group", "-Zxz", "-z6", "--threads-max=1", "--build", folder, file], {
    env: { SOURCE_DATE_EPOCH: String(sourceDate()) },
  });
  return file;
}

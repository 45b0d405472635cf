/** A tree as a package for rpm. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ARCHITECTURES, filesBelow, manifest, put, root, run, sourceDate } from "./paths.mjs";
import { CONFIGURATION } from "./tree.mjs";

/** One line for each file, as `%files` wants it; folders that are ours alone go with their last file. */
function fileList(tree) {
  const place = (path) => `/${path.replace("usr/share/zsh/vendor-completions", "usr/share/zsh/site-functions")}`;
  const own = ["/usr/lib/livezone", "/usr/share/doc/livezone", "/etc/livezone", "/etc/livezone/zones"];
  return [
    ...own.map((folder) => `%dir ${folder}`),
    ...filesBelow(tree).map((path) =>
      CONFIGURATION.includes(path) ? `%config(noreplace) ${place(path)}` : place(path),
    ),
  ].join("\n");
}

/**
 * Makes `livezone-VERSION-1.ARCH.rpm`.
 *
 * @param tree as `makeTree` leaves it; stays as it is
 * @param work a folder for what is made on the way
 * @param out folder of the package
 * @returns the file
 */
export function makeRpm(tree, work, out, arch) {
  const spec = join(work, "livezone.spec");
  put(
    spec,
    readFileSync(join(root, "packaging/rpm/livezone.spec"), "utf8")
      .replace("@VERSION@", manifest.version.replace("-", "~"))
      .replaceAll("@TREE@", tree)
      .replace("@FILES@", fileList(tree)),
  );
  const { rpm } = ARCHITECTURES[arch];
  const define = (name, value) => ["--define", `${name} ${value}`];
  run(
    "rpmbuild",
    [
      ...["-bb", "--target", `${rpm}-linux`],
      ...define("_topdir", join(work, "rpm")),
      ...define("_rpmdir", out),
      ...define("_build_name_fmt", "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"),
      ...define("_buildhost", "localhost"),
      ...define("use_source_date_epoch_as_buildtime", "1"),
      ...define("clamp_mtime_to_source_date_epoch", "1"),
      ...define("_build_id_links", "none"),
      ...define("__os_install_post", "%{nil}"),
      ...define("_binary_payload", "w19.zstdio"),
      spec,
    ],
    { env: { SOURCE_DATE_EPOCH: String(sourceDate()) } },
  );
  return join(out, `livezone-${manifest.version.replace("-", "~")}-1.${rpm}.rpm`);
}

/** The files of an installed package, in the places where they are installed. The same for .deb, .rpm and .tar.zst. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundle, licencesOf } from "./bundle.mjs";
import { compileNative } from "./native.mjs";
import { fetchNode, NODE_VERSION } from "./node.mjs";
import { copy, manifest, normalise, put, root, run, sourceDate } from "./paths.mjs";

const PROGRAM = "usr/lib/livezone";
const source = (path) => readFileSync(join(root, path), "utf8");

/** Replaces text that must be there, so that a change of the original is noticed. */
function replaced(text, pairs) {
  let result = text;
  for (const [from, to] of pairs) {
    if (!result.includes(from)) throw new Error(`deploy/livezone.service has no line "${from}"`);
    result = result.replace(from, to);
  }
  return result;
}

/** `deploy/livezone.service` without the head that tells how to install it, as the user that the package makes. */
export function serviceUnit() {
  const text = source("deploy/livezone.service");
  return replaced(text.slice(text.indexOf("[Unit]")), [
    ["[Unit]\n", "[Unit]\nDocumentation=man:livezone(8)\n"],
    ["/usr/bin/env livezone serve", "/usr/bin/livezone serve --takeover-if-any"],
    ["DynamicUser=yes\n", "User=livezone\nGroup=livezone\n"],
    // The service and its hand-over share the folder, and so the control socket.
    ["RuntimeDirectoryMode=0755\n", "RuntimeDirectoryMode=0755\nRuntimeDirectoryPreserve=yes\n"],
  ]);
}

/** The unit that answers while an upgrade replaces the service: see `packaging/upgrade`. */
export function handoverUnit() {
  const service = serviceUnit();
  return replaced(service.slice(0, service.indexOf("[Install]")), [
    ["Description=livezone, ", "Description=livezone while it is upgraded, "],
    ["--takeover-if-any", "--takeover"],
    ["Restart=on-failure\n", "Restart=no\n"],
  ]);
}

/** Man page and completions, as the program prints them. */
function generated(folder) {
  const main = join(folder, PROGRAM, "dist/main.js");
  const ask = (...args) => run(process.execPath, [main, ...args]);
  const squeeze = (text) => gzipSync(text, { level: 9 });
  put(join(folder, "usr/share/man/man8/livezone.8.gz"), squeeze(ask("man")));
  put(join(folder, "usr/share/bash-completion/completions/livezone"), ask("completion", "bash"));
  put(join(folder, "usr/share/zsh/vendor-completions/_livezone"), ask("completion", "zsh"));
  put(join(folder, "usr/share/fish/vendor_completions.d/livezone.fish"), ask("completion", "fish"));
}

/** Configuration files, which an upgrade leaves as the operator has them. */
export const CONFIGURATION = ["etc/livezone/livezone.yaml", "etc/livezone/zones/k8s.example.com.yaml"];

/**
 * Makes the tree, all but the binaries: what the tests of the layout look at.
 *
 * @param folder an empty folder
 */
export async function layOut(folder) {
  const program = join(folder, PROGRAM);
  const dependencies = await bundle(program);
  put(join(folder, "usr/bin/livezone"), source("packaging/livezone"), 0o755);
  put(join(program, "upgrade"), source("packaging/upgrade"), 0o755);
  put(join(folder, "usr/lib/systemd/system/livezone.service"), serviceUnit());
  put(join(folder, "usr/lib/systemd/system/livezone-handover.service"), handoverUnit());
  put(join(folder, "usr/lib/systemd/system/livezone.socket"), source("deploy/livezone.socket"));
  put(join(folder, "usr/lib/sysusers.d/livezone.conf"), source("packaging/sysusers.conf"));
  for (const path of CONFIGURATION) put(join(folder, path), source(path.replace("etc/livezone", "packaging/etc")));
  const docs = join(folder, "usr/share/doc/livezone");
  copy(join(root, "docs"), join(docs, "docs"));
  copy(join(root, "zones/example"), join(docs, "examples/zones/example"));
  for (const file of ["alerts.yaml", "grafana-dashboard.json"])
    copy(join(root, "deploy", file), join(docs, "examples", file));
  put(join(docs, "README.md"), source("README.md"));
  put(join(docs, "CHANGELOG.md"), source("CHANGELOG.md"));
  put(join(docs, "copyright"), source("packaging/copyright"));
  put(join(docs, "LICENSES.txt.gz"), gzipSync(licencesOf(dependencies), { level: 9 }));
  generated(folder);
}

/** Adds what differs between processors: Node.js and the native part. */
function addBinaries(folder, arch) {
  const node = fetchNode(arch);
  copy(join(node, "bin/node"), join(folder, PROGRAM, "bin/node"));
  put(
    join(folder, "usr/share/doc/livezone/LICENSE.node.gz"),
    gzipSync(readFileSync(join(node, "LICENSE")), { level: 9 }),
  );
  compileNative(arch, "glibc", join(folder, PROGRAM, "build/batch.node"));
}

/** Makes the whole tree for one processor; what is inside, in words for people. */
export async function makeTree(folder, arch) {
  await layOut(folder);
  addBinaries(folder, arch);
  normalise(folder, sourceDate());
  return `livezone ${manifest.version} with Node.js ${NODE_VERSION}`;
}

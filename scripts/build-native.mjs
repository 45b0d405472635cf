/**
 * Builds the native part (src/transport/batch/batch.c) with the system's compiler into build/batch.node.
 *
 *   node scripts/build-native.mjs [--sanitize] [--strict] [--force]
 *
 * Runs at install. It touches no network, and a failure is one line and exit code 0: livezone then uses `dgram`.
 * --strict exits with 1 instead, --sanitize builds build/batch.asan.node (AddressSanitizer, UBSan),
 * --force builds even when nothing changed. CC and CFLAGS are honoured.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const options = new Set(process.argv.slice(2));
const sanitize = options.has("--sanitize");
const source = join(root, "src/transport/batch/batch.c");
const target = join(root, "build", sanitize ? "batch.asan.node" : "batch.node");
const stamp = `${target}.hash`;

function giveUp(reason) {
  // An addon of an older source must not be mistaken for this one.
  rmSync(target, { force: true });
  rmSync(stamp, { force: true });
  console.error(`livezone: native UDP transport not built (${reason}); the slower dgram transport will be used.`);
  process.exit(options.has("--strict") ? 1 : 0);
}

/** Where node_api.h may be: beside this Node, where npm was told, or where distributions put it. */
function findHeaders() {
  const { nodedir, node_prefix: prefix } = process.config.variables;
  const candidates = [
    process.env.npm_config_nodedir && join(process.env.npm_config_nodedir, "include/node"),
    nodedir && join(nodedir, "include/node"),
    join(dirname(process.execPath), "../include/node"),
    prefix && join(prefix, "include/node"),
    "/usr/include/node",
    "/usr/include/nodejs/src",
    "/usr/local/include/node",
  ];
  return candidates.find((folder) => folder && existsSync(join(folder, "node_api.h")));
}

if (process.platform !== "linux") giveUp(`it needs Linux, this is ${process.platform}`);
const headers = findHeaders();
if (!headers) giveUp("node_api.h was not found: install the headers of Node.js, on Debian libnode-dev");

const words = (text) => (text ?? "").split(/\s+/).filter(Boolean);
const [compiler = "cc", ...compilerFlags] = words(process.env.CC);
const flags = [
  ...compilerFlags,
  "-std=c11",
  "-fPIC",
  "-shared",
  "-Wall",
  "-Wextra",
  "-fstack-protector-strong",
  "-Wl,-z,relro,-z,now",
  ...(sanitize
    ? ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    : ["-O2", "-D_FORTIFY_SOURCE=2"]),
  // The headers are not ours to be warned about.
  "-isystem",
  headers,
  ...words(process.env.CFLAGS),
];
const hash = createHash("sha256")
  .update(readFileSync(source))
  .update(JSON.stringify([compiler, flags, process.versions.modules, process.arch]))
  .digest("hex");
if (!options.has("--force") && existsSync(target) && existsSync(stamp) && readFileSync(stamp, "utf8") === hash) {
  process.exit(0);
}

try {
  mkdirSync(dirname(target), { recursive: true });
} catch (error) {
  giveUp(`cannot write to ${dirname(target)}: ${error.code}`);
}
// Renamed into place, so that a running livezone keeps the file it has mapped.
const temporary = `${target}.${process.pid}.tmp`;
const built = spawnSync(compiler, [...flags, source, "-o", temporary], { encoding: "utf8", timeout: 120_000 });
if (built.status !== 0) {
  rmSync(temporary, { force: true });
  const firstError = (built.stderr ?? "").split("\n").find((line) => /error/i.test(line)) ?? "it failed";
  giveUp(built.error ? `no compiler: ${built.error.message}` : `${compiler}: ${firstError}`);
}
if (built.stderr) process.stderr.write(built.stderr);
renameSync(temporary, target);
writeFileSync(stamp, hash);

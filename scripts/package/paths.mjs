/** Places and the few tools that the steps of `npm run package` share. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
/** What is downloaded and compiled once, so that a second build is quick. */
export const cache = join(root, "node_modules/.cache/livezone-package");
export const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Names of one processor, in the words of Node.js, Debian, rpm and GNU. */
export const ARCHITECTURES = {
  x64: { debian: "amd64", rpm: "x86_64", gnu: "x86_64-linux-gnu", musl: "x86_64-linux-musl" },
  arm64: { debian: "arm64", rpm: "aarch64", gnu: "aarch64-linux-gnu", musl: "aarch64-linux-musl" },
};

/**
 * The one moment that every file and package carries: that of the last commit, or SOURCE_DATE_EPOCH.
 *
 * Seconds since 1970. https://reproducible-builds.org/specs/source-date-epoch/
 */
export function sourceDate() {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return Number(process.env.SOURCE_DATE_EPOCH);
  const { status, stdout } = spawnSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error("no git history here: set SOURCE_DATE_EPOCH to the moment of the release");
  return Number(stdout);
}

/** Runs a program; its standard output. Throws with what it said when it fails. */
export function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: "utf8",
    maxBuffer: 1 << 26,
    ...options,
    env: { ...process.env, LC_ALL: "C", TZ: "UTC", ...options.env },
  });
  if (error !== undefined) throw new Error(`cannot run ${command}: ${error.message}`);
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

/** Writes a file, and the folders above it. */
export function put(file, content, mode = 0o644) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, { mode });
}

/** Copies a file or folder, and makes the folders above it. */
export function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true });
}

/** Regular files below a folder, relative to it, sorted. */
export function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Gives everything below a folder, and the folder, the same time and the modes of a package: 755, or 644 for what does not run. */
export function normalise(folder, seconds) {
  for (const path of [...readdirSync(folder, { recursive: true }), "."]) {
    const file = join(folder, String(path));
    const isOpen = statSync(file).isDirectory() || (statSync(file).mode & 0o100) !== 0;
    run("chmod", [isOpen ? "755" : "644", file]);
    utimesSync(file, seconds, seconds);
  }
}

export const sha256 = (file) => createHash("sha256").update(readFileSync(file)).digest("hex");

#!/usr/bin/env node
/**
 * Sets up whatever a checkout lacks before livezone runs from it: dependencies, then the compiled `dist/`, then the
 * optional native transport in `build/`. Does nothing, fast, when nothing changed.
 *
 *     node scripts/ensure.mjs            whatever is missing or stale
 *     node scripts/ensure.mjs --force    build again, stale or not (`npm run build`)
 *     node scripts/ensure.mjs --native   the native transport only; never fails (npm's `install` hook)
 *
 * Plain Node.js without dependencies, because it runs before there are any. Everything it and its children say
 * goes to standard error, so that the output of the command that follows stays clean.
 *
 * Exit code: 0 ready; that of the step that failed, whose own message stands above; 128 + n when signal n ended it.
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { argv, env, execPath, exit, kill, pid, stderr } from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const at = (...parts) => join(root, ...parts);
const say = (text) => stderr.write(`livezone: ${text}\n`);
const read = (path) => (existsSync(path) ? readFileSync(path, "utf8") : undefined);

/** How long to wait for another `ensure` in the same folder: a full installation over a slow line. */
const LOCK_PATIENCE_MS = 300_000;

/** Regular files below a folder, sorted, so that a hash over them is stable. */
function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** One hash over names and contents; a file that is absent counts as such. Node's version, because builds depend on it. */
function stampOf(files) {
  const hash = createHash("sha256").update(process.version);
  for (const file of files) {
    hash.update(`\0${relative(root, file)}\0`).update(existsSync(file) ? readFileSync(file) : "absent");
  }
  return hash.digest("hex");
}

/**
 * Whether `node_modules` lacks something that the lock file asks for, development dependencies included.
 *
 * npm records what it installed in a lock file of its own inside `node_modules`; comparing the two also recognises
 * what a person installed by hand, and what `--omit=dev` or NODE_ENV=production left out.
 */
function dependenciesAreStale() {
  const installed = read(at("node_modules", ".package-lock.json"));
  if (installed === undefined) return true;
  const have = JSON.parse(installed).packages;
  const want = JSON.parse(readFileSync(at("package-lock.json"), "utf8")).packages;
  return Object.entries(want).some(([path, entry]) => {
    if (path === "") return false;
    const there = have[path];
    // An optional package for another platform is rightly absent.
    if (there === undefined) return entry.optional !== true;
    return there.version !== entry.version || there.integrity !== entry.integrity;
  });
}

/** Runs a command, its output on our standard error. Resolves with the exit code; a signal that ends us ends it too. */
function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", 2, 2], env });
    const pass = (signal) => {
      child.kill(signal);
      child.once("close", () => {
        releaseLock();
        exit(128 + constants.signals[signal]);
      });
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
    for (const signal of signals) process.once(signal, pass);
    const done = (code) => {
      for (const signal of signals) process.removeListener(signal, pass);
      resolve(code);
    };
    child.once("error", (error) => {
      say(`cannot run ${command}: ${error.message}`);
      done(127);
    });
    child.once("exit", (code, signal) => done(signal === null ? code : 128 + constants.signals[signal]));
  });
}

const lock = at(".ensure.lock");
let holdingLock = false;

/** Whether the process that wrote the lock is still there. A lock without a readable number has just been made. */
function lockIsHeld() {
  const owner = Number(read(join(lock, "pid")) ?? pid);
  try {
    return kill(owner, 0);
  } catch {
    return false;
  }
}

/** Two of us at once (`npm start` beside `npm test`) would compile into one folder: the second waits for the first. */
async function takeLock() {
  for (let waited = 0; waited < LOCK_PATIENCE_MS; waited += 100) {
    try {
      mkdirSync(lock);
      writeFileSync(join(lock, "pid"), String(pid));
      holdingLock = true;
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (lockIsHeld()) await delay(100);
    else rmSync(lock, { recursive: true, force: true });
  }
  say(`another build has held ${relative(root, lock)} for ${LOCK_PATIENCE_MS / 1000} s; remove it if none is running`);
  exit(1);
}

function releaseLock() {
  if (holdingLock) rmSync(lock, { recursive: true, force: true });
  holdingLock = false;
}

async function installDependencies() {
  say("installing dependencies (npm ci) …");
  // The npm that started us, where there is one: a second version would disagree about the lock file.
  const ours = env.npm_execpath !== undefined && basename(env.npm_execpath) === "npm-cli.js";
  const [command, before] = ours ? [execPath, [env.npm_execpath]] : ["npm", []];
  // `--include=dev`: the compiler is one, and NODE_ENV=production would leave it out.
  // `--ignore-scripts`: none of the dependencies needs one, and our own hook is the last step here.
  return run(command, [
    ...before,
    "ci",
    "--include=dev",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ]);
}

/** Deletes compiled files whose source is gone, so that nothing imports what no longer exists. */
function pruneDist() {
  for (const file of filesBelow(at("dist"))) {
    const source = relative(at("dist"), file).replace(/\.(js|js\.map|d\.ts)$/, ".ts");
    if (source.endsWith(".ts") && !existsSync(at("src", source))) rmSync(file);
  }
}

function compile() {
  say("compiling (tsc) …");
  return run(execPath, [at("node_modules", "typescript", "bin", "tsc"), "-p", at("tsconfig.json")]);
}

/** The native transport makes livezone faster, never possible: whatever goes wrong here is said and left. */
async function buildNative() {
  const script = at("scripts", "build-native.mjs");
  if (!existsSync(script)) return;
  const code = await run(execPath, [script]);
  if (code !== 0) say("the native transport was not built; livezone runs without it");
}

const typescriptSources = () => filesBelow(at("src")).filter((file) => file.endsWith(".ts"));
const compileStamp = () => stampOf([...typescriptSources(), at("tsconfig.json"), at("package-lock.json")]);
const nativeStamp = () =>
  stampOf([
    ...filesBelow(at("src", "transport", "batch")).filter((file) => /\.[ch]$/.test(file)),
    at("scripts", "build-native.mjs"),
  ]);

/** A stamp lives in the folder it vouches for: whoever deletes the folder deletes the stamp with it. */
const stampFile = (step) => at(step === "native" ? "build" : "dist", `.${step}.stamp`);

/** Runs one build step unless its inputs are those of its last success. Exits with the step's code when it fails. */
async function step(name, stamp, force, work) {
  if (!force && read(stampFile(name)) === stamp) return;
  const code = await work();
  if (code) finish(code);
  mkdirSync(dirname(stampFile(name)), { recursive: true });
  writeFileSync(stampFile(name), stamp);
}

function finish(code) {
  releaseLock();
  exit(code);
}

async function ensure(force) {
  const fresh =
    !force &&
    !dependenciesAreStale() &&
    read(stampFile("compile")) === compileStamp() &&
    read(stampFile("native")) === nativeStamp();
  if (fresh) return;

  await takeLock();
  if (dependenciesAreStale()) {
    const code = await installDependencies();
    if (code !== 0) {
      say("dependencies could not be installed; npm's reason stands above");
      finish(code);
    }
  }
  await step("compile", compileStamp(), force, async () => {
    const code = await compile();
    if (code === 0) pruneDist();
    else say("the sources do not compile; the compiler's reasons stand above");
    return code;
  });
  await step("native", nativeStamp(), force, buildNative);
  finish(0);
}

// The package for npm brings the native part along, compiled; where it does not fit, the program says so and goes on.
const isPrebuilt = existsSync(at("prebuilds", `linux-${process.arch}-glibc`));
if (argv.includes("--native")) await (isPrebuilt ? undefined : buildNative());
else await ensure(argv.includes("--force"));

/** A program that runs in a namespace, and can be killed and started again. */
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const READY_WITHIN_MS = 20_000;
const END_WITHIN_MS = 4_000;

/** Services that run: none outlives the lab. */
const running = new Set();

export function killAllServices() {
  for (const service of running) service.signal("SIGKILL");
}

/** Waits for a condition. @param what is said when it does not come true in time */
export async function until(what, condition, timeoutMs = READY_WITHIN_MS) {
  const endMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`in vain: ${typeof what === "function" ? what() : what}`);
    await sleep(30);
  }
}

/**
 * @typedef {object} ServiceOptions
 * @property {string} name used for its log file
 * @property {string} namespace name of the network namespace
 * @property {string} folder where it runs, and where its log goes
 * @property {string} program
 * @property {string[]} args
 * @property {RegExp | (() => boolean | Promise<boolean>)} [ready] a pattern of its output, or a condition
 * @property {Record<string, string>} [files] files of `/etc` that it is to see, by the file that stands in for them
 * @property {(line: string) => void} [onLine] gets each line of its standard output
 */
export class Service {
  #options;
  #child;
  #ended = Promise.resolve();
  #log;

  /** @param {ServiceOptions} options */
  constructor(options) {
    this.#options = options;
    this.#log = path.join(options.folder, `${options.name}.log`);
  }

  get pid() {
    return this.#child?.pid;
  }

  get isRunning() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it wrote, standard output left out where `onLine` takes it. */
  output() {
    return readFileSync(this.#log, "utf8");
  }

  /** Starts it, and waits until it is ready. */
  async start() {
    const { namespace, folder, program, args, onLine, ready } = this.#options;
    const log = openSync(this.#log, "w");
    const command = inNamespace(namespace, this.#options.files ?? {}, program, args);
    // A process group of its own: a kill takes the workers along.
    const stdio = ["pipe", onLine === undefined ? log : "pipe", log];
    const child = spawn("nsenter", command, { cwd: folder, detached: true, stdio });
    closeSync(log);
    this.#child = child;
    child.stdin.on("error", () => {});
    if (onLine !== undefined) eachLine(child.stdout, onLine);
    running.add(this);
    this.#ended = new Promise((resolve) => {
      child.once("error", resolve);
      child.once(onLine === undefined ? "exit" : "close", resolve);
    }).then(() => {
      if (this.#child === child) running.delete(this);
    });
    if (ready === undefined) return this;
    const isReady = ready instanceof RegExp ? () => ready.test(this.output()) : ready;
    const said = () => `${this.#options.name} is ready; it wrote: ${this.output().slice(-2_000)}`;
    await until(said, async () => {
      if (!this.isRunning) throw new Error(`${this.#options.name} ended; it wrote: ${this.output().slice(-2_000)}`);
      return isReady();
    });
    return this;
  }

  /** An order over its standard input. */
  write(line) {
    this.#child?.stdin.write(`${line}\n`);
  }

  /** To the whole process group. */
  signal(signal) {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // It has ended.
    }
  }

  /** SIGKILL; resolves when it is gone. */
  async kill() {
    this.signal("SIGKILL");
    await this.#ended;
  }

  /** SIGTERM, and SIGKILL if that is not enough. */
  async stop(withinMs = END_WITHIN_MS) {
    this.signal("SIGTERM");
    const force = setTimeout(() => this.signal("SIGKILL"), withinMs);
    await this.#ended;
    clearTimeout(force);
    this.signal("SIGKILL");
  }

  /** Resolves when it has ended. */
  get ended() {
    return this.#ended;
  }
}

/** Arguments of `nsenter`. With files to replace, it gets a mount namespace of its own as well. */
function inNamespace(namespace, files, program, args) {
  const enter = `--net=/run/netns/${namespace}`;
  const mounts = Object.entries(files);
  if (mounts.length === 0) return [enter, program, ...args];
  const script = `${mounts.map(([file, standIn]) => `mount --bind '${standIn}' '${file}'`).join(" && ")} && exec "$0" "$@"`;
  return [enter, "unshare", "--mount", "sh", "-c", script, program, ...args];
}

function eachLine(stream, onLine) {
  let rest = "";
  stream.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}

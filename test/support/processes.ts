import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterThisTest, type Cleanup } from "./cleanup.js";
import { waitUntil } from "./wait.js";

/** How to start a process and when it counts as started. */
export interface ProcessOptions {
  /** A pattern that a line of its output matches, or a condition. Absent: ready as soon as it runs. */
  readonly readyWhen?: RegExp | (() => boolean | Promise<boolean>);
  /** Milliseconds it may take to become ready. Default 30 000. */
  readonly readyWithinMs?: number;
  readonly cwd?: string;
  /** Added to our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Descriptors of ours that become 3 and up of the child. */
  readonly inherit?: readonly number[];
  /** Called with each complete line of either stream. */
  readonly onLine?: (line: string, stream: "stdout" | "stderr") => void;
  readonly cleanup?: Cleanup;
}

/** How a process ended: one of the two is null. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of a test. It is ended by its id when the test (or what `cleanup` stands for) is over. */
export interface RunningProcess {
  readonly pid: number;
  /** The last 1 MiB of its output. */
  stdout(): string;
  stderr(): string;
  /** Settles when it has ended and its output is complete. */
  readonly ended: Promise<ProcessEnd>;
  /** Does nothing once it has ended. */
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM, and SIGKILL if that has not ended it after 5 s. */
  stop(): Promise<ProcessEnd>;
}

const OUTPUT_CHARACTERS = 1 << 20;
const STOP_WITHIN_MS = 5_000;

/** Children that have not ended, so that none outlives us, whatever ends us. */
const alive = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

/** Runs a program without a shell; resolves once it is ready, rejects with its output if it is not in time. */
export async function startProcess(
  program: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<RunningProcess> {
  const { readyWhen, readyWithinMs = 30_000, onLine, cleanup = afterThisTest } = options;
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe", ...(options.inherit ?? [])],
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  await once(child, "spawn");
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${program} has no process id`);
  alive.add(child);

  let end: ProcessEnd | undefined;
  void ended.then((how) => {
    end = how;
    alive.delete(child);
  });

  const output = { stdout: "", stderr: "" };
  let matched = false;
  for (const stream of ["stdout", "stderr"] as const) {
    const input = child[stream];
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      output[stream] = `${output[stream]}${line}\n`.slice(-OUTPUT_CHARACTERS);
      if (readyWhen instanceof RegExp && readyWhen.test(line)) matched = true;
      onLine?.(line, stream);
    });
  }

  const running: RunningProcess = {
    pid,
    ended,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    signal(signal) {
      if (end === undefined) child.kill(signal);
    },
    async stop() {
      if (end === undefined) {
        child.kill("SIGTERM");
        const force = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
        await ended;
        clearTimeout(force);
      }
      return ended;
    },
  };
  cleanup(() => running.stop());

  if (readyWhen !== undefined) {
    const condition = readyWhen instanceof RegExp ? () => matched : readyWhen;
    await waitUntil(async () => end !== undefined || (await condition()), {
      timeoutMs: readyWithinMs,
      describe: () => `${program} to be ready; it wrote:\n${output.stdout}${output.stderr}`,
    });
    if (end !== undefined) {
      throw new Error(`${program} ended (${describeEnd(end)}); it wrote:\n${output.stdout}${output.stderr}`);
    }
  }
  return running;
}

function describeEnd({ code, signal }: ProcessEnd): string {
  return signal === null ? `exit code ${code}` : signal;
}

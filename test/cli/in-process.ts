import { vi } from "vitest";
import { runProgram } from "../../src/cli/program.js";
import type { Outcome, RunOptions } from "./run.js";

/**
 * Runs `livezone` in this process, in its working directory: much faster than a process of its own. For commands that end by
 * themselves and take no signals.
 */
export async function runHere(...args: readonly string[]): Promise<Outcome> {
  return capturing(() => runProgram(["node", "livezone", ...args]));
}

/** As {@link runHere}, in a folder; one at a time, since a process has one working directory. */
export async function runIn(args: readonly string[], { cwd }: Pick<RunOptions, "cwd">): Promise<Outcome> {
  const before = process.cwd();
  process.chdir(cwd);
  try {
    return await runHere(...args);
  } finally {
    process.chdir(before);
  }
}

/** Runs what prints, and returns what it printed and its exit code. */
export async function capturing(run: () => Promise<number | null>): Promise<Outcome> {
  const printed = { stdout: "", stderr: "" };
  const take = (name: "stdout" | "stderr") => (text: string | Uint8Array) => {
    printed[name] += text.toString();
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(take("stdout")),
    vi.spyOn(process.stderr, "write").mockImplementation(take("stderr")),
  ];
  // A command listens for a reader that has gone; here, one would be added by each run.
  const listeners = [process.stdout, process.stderr].map((stream) => ({ stream, before: stream.listeners("error") }));
  try {
    const code = await run();
    return { code, ...printed };
  } finally {
    for (const spy of spies) spy.mockRestore();
    for (const { stream, before } of listeners) {
      for (const listener of stream.listeners("error")) {
        if (!before.includes(listener)) stream.off("error", listener as () => void);
      }
    }
  }
}

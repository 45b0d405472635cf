/** Programs that a benchmark starts. They end with it, and what each writes is kept in its `output`. */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts a program in a folder. `env`: what is to be different in its environment. */
export function startChild(program, args, cwd, env = {}) {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  child.output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (child.output += data));
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

/** Waits until a condition holds. @throws Error after `timeoutMs` */
export async function until(what, condition, timeoutMs = 30_000) {
  for (const end = Date.now() + timeoutMs; !(await condition()); await sleep(20)) {
    if (Date.now() > end) throw new Error(`in vain: ${what}`);
  }
}

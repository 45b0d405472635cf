/** Runs a benchmark in a network namespace of its own. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";

const INSIDE = "LIVEZONE_BENCH_INSIDE";

/** Whether this process runs in a namespace of its own. */
export const isInNamespace = process.env[INSIDE] !== undefined;

/** Whether this user may make one. */
export function mayMakeNamespace() {
  return spawnSync("unshare", ["--net", "true"]).status === 0;
}

/** Runs the program again, inside, and ends with its exit code; inside, it does nothing. */
export async function enterNamespace(program, ...args) {
  if (isInNamespace) return;
  const inside = ["--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"', process.execPath];
  const child = spawn("unshare", [...inside, program, ...args], {
    stdio: "inherit",
    env: { ...process.env, [INSIDE]: "yes" },
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, "exit");
  process.exit(code ?? 1);
}

/** Changes the packet filter of the namespace. */
export function nft(...args) {
  const { status, stderr } = spawnSync("nft", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`nft ${args.join(" ")}: ${stderr}`);
}

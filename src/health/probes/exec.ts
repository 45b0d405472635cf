import { type ChildProcess, spawn } from "node:child_process";
import type { ExecProbeConfig, ProbeSchedule } from "../../config/config.js";
import { messageOf } from "../../lib/errors.js";
import type { Attempt } from "./attempt.js";
import type { ProbeTarget } from "./target.js";

/** Most octets of a program's output that are kept; the rest is read and thrown away. */
const MAX_OUTPUT_OCTETS = 4 * 1024;

/** What of our own environment a program sees: enough to run, nothing that is livezone's own business. */
const INHERITED = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"] as const;

/**
 * Runs a program, without a shell, as the leader of a process group of its own. It is told its target in the
 * environment. Exit code 0 passes; 1 says that the target is not ready, with the last line of the output as the
 * reason; anything else is `malformed-response`. When the attempt ends, what is left of the group is killed.
 */
export function probeExec(target: ProbeTarget, config: ExecProbeConfig & ProbeSchedule, attempt: Attempt): void {
  const [program = "", ...args] = config.command;
  attempt.waitFor("response", `end of ${program}`);
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    cwd: "/",
    env: environment(target, config),
  });
  let output = "";
  const keep = (chunk: Buffer) => {
    output = `${output}${chunk.toString("latin1")}`.slice(-MAX_OUTPUT_OCTETS);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  // A program that could not be started says nothing of the target.
  child.on("error", (error) => attempt.end("unreachable", `the program could not be run: ${messageOf(error)}`));
  // Its output may be held open by a process it left behind, which must not matter.
  child.on("exit", (code, signal) => {
    setImmediate(() => {
      const line = output.trimEnd().split("\n").at(-1)?.trim() ?? "";
      const said = line === "" ? "" : `: ${line}`;
      if (code === 0) attempt.end("ok", `exit code 0${said}`);
      else if (code === 1) attempt.end("not-ready", `exit code 1${said}`);
      else attempt.end("malformed-response", `${code === null ? `ended by ${signal}` : `exit code ${code}`}${said}`);
    });
  });
  attempt.onEnd(() => {
    killGroup(child);
    child.stdout.destroy();
    child.stderr.destroy();
  });
}

/** Ends the group, also when its leader has gone: what the program started ends with the probe. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing is left of it.
  }
}

function environment(
  { address, fqdn = "", target = "" }: ProbeTarget,
  config: ExecProbeConfig & ProbeSchedule,
): NodeJS.ProcessEnv {
  const inherited = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return {
    ...Object.fromEntries(inherited),
    LIVEZONE_ENDPOINT: fqdn,
    LIVEZONE_TARGET: target,
    LIVEZONE_ADDRESS: address,
    LIVEZONE_PORT: String(config.port),
    LIVEZONE_TIMEOUT_MS: String(config.timeoutMs),
  };
}

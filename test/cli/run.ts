import { afterThisTest, type Cleanup } from "../support/cleanup.js";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { startProcess } from "../support/processes.js";

/** How a command ended and what it wrote. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a command runs and by whom. */
export interface RunOptions {
  /** The working directory. */
  readonly cwd: string;
  /** Words to put before the command, such as another program that runs it. */
  readonly through?: readonly string[];
  readonly cleanup?: Cleanup;
}

/** Runs `livezone` with these arguments to its end. */
export async function runLivezone(args: readonly string[], options: RunOptions): Promise<Outcome> {
  const { cwd, through = [], cleanup = afterThisTest } = options;
  const [program = "", ...rest] = [...through, process.execPath, LIVEZONE_MAIN, ...args];
  const running = await startProcess(program, rest, { cwd, cleanup });
  const { code } = await running.ended;
  return { code, stdout: running.stdout(), stderr: running.stderr() };
}

/** A small configuration that is good: nothing is probed. */
export const GOOD_ZONE = `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    targets: { cp1: 127.0.0.11, cp2: 127.0.0.12 }
    probe: { type: none }
`;

/** Files of a configuration that listens there and serves {@link GOOD_ZONE}. */
export function configurationFiles(listen: string): Readonly<Record<string, string>> {
  return { "livezone.yaml": `listen: ["${listen}"]\nzones: [zones/*.yaml]\n`, "zones/k8s.yaml": GOOD_ZONE };
}

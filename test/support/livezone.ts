import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterThisTest, type Cleanup } from "./cleanup.js";
import { type RunningProcess, startProcess } from "./processes.js";
import { temporaryFolder } from "./temp.js";
import { waitUntil } from "./wait.js";

/** One line of livezone's log. */
export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** What to run livezone with. */
export interface LivezoneOptions {
  /**
   * Files by their path in the server's own folder, `livezone.yaml` among them. Paths inside a configuration are
   * relative to the file they stand in, so a certificate given here as `ca.crt` is `../ca.crt` in `zones/a.yaml`.
   */
  readonly files: Readonly<Record<string, string>>;
  /** Added to `serve --config livezone.yaml`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Return once the line `ready` is in the log. Default true. */
  readonly awaitReady?: boolean;
  readonly cleanup?: Cleanup;
}

/** A livezone server in a process of its own. */
export interface RunningLivezone extends RunningProcess {
  /** Where its files are. */
  readonly folder: string;
  /** Every line of the log so far, or those of one event. */
  logs(msg?: string): LogLine[];
  /** The first line of an event that satisfies `matches`, those already written included. Waits up to 20 s. */
  waitForLog(msg: string, matches?: (line: LogLine) => boolean, timeoutMs?: number): Promise<LogLine>;
  /** Writes a file in its folder; the server looks at it after {@link RunningProcess.signal}`("SIGHUP")`. */
  write(path: string, text: string): void;
}

/** The built program; the tests' global set-up builds it. */
export const LIVEZONE_MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));

/** Writes the files into a new folder and runs `livezone serve` there. */
export async function startLivezone(options: LivezoneOptions): Promise<RunningLivezone> {
  if (!existsSync(LIVEZONE_MAIN)) throw new Error("dist/main.js is missing: run the build first");
  const { files, args = [], env = {}, awaitReady = true, cleanup = afterThisTest } = options;
  const folder = temporaryFolder(cleanup);
  const write = (path: string, text: string) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    // As secrets should be: a token that others may read is warned of.
    writeFileSync(file, text, { mode: 0o600 });
  };
  for (const [path, text] of Object.entries(files)) write(path, text);

  const lines: LogLine[] = [];
  const logs = (msg?: string) => (msg === undefined ? [...lines] : lines.filter((line) => line.msg === msg));
  const running = await startProcess(process.execPath, [LIVEZONE_MAIN, "serve", "--config", "livezone.yaml", ...args], {
    cwd: folder,
    env,
    cleanup,
    onLine(line) {
      const parsed = parseLogLine(line);
      if (parsed !== undefined) lines.push(parsed);
    },
    ...(awaitReady ? { readyWhen: () => logs("ready").length > 0 } : {}),
  });
  return {
    ...running,
    folder,
    write,
    logs,
    waitForLog: (msg, matches = () => true, timeoutMs = 20_000) =>
      waitUntil(() => logs(msg).find(matches), {
        timeoutMs,
        describe: () => `a line "${msg}" in livezone's log; it wrote:\n${running.stdout()}${running.stderr()}`,
      }),
  };
}

/** A line of JSON with a `msg`; undefined for anything else a process may print. */
export function parseLogLine(line: string): LogLine | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const parsed: unknown = JSON.parse(line);
    return isLogLine(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isLogLine(value: unknown): value is LogLine {
  return typeof value === "object" && value !== null && "msg" in value && typeof value.msg === "string";
}

import type { Command } from "commander";
import { type AppOptions, startApp } from "../app.js";
import { systemClock } from "../lib/clock.js";
import { codeOf, messageOf, UserError } from "../lib/errors.js";
import { createLogger, flushLogger, type Logger } from "../lib/logger.js";
import { giveBackMemory } from "../lib/memory.js";
import { prepare } from "../server/load-zones.js";
import type { Predecessor } from "../server/takeover.js";
import { logUnexpectedErrors } from "../server/unexpected-errors.js";
import { CONFIG_OPTION, findConfigFile } from "./config-file.js";
import { type CommandContext, EXIT } from "./exit.js";
import { refusingProblems } from "./problems.js";
import { debuggerUrl, holdSignals } from "./signals.js";

/** Milliseconds a server may take to leave: it drains each thread, and gives TCP clients 3 s. */
const LEAVE_WITHIN_MS = 30_000;

/** Milliseconds after which a stopped server ends, whatever is still under way. */
const EXIT_WITHIN_MS = 100;

interface ServeOptions {
  readonly config?: string;
  readonly takeover?: boolean;
  readonly takeoverIfAny?: boolean;
}

/** `livezone serve`: answers until SIGTERM or SIGINT; SIGHUP reloads. */
export function addServe(program: Command, context: CommandContext): void {
  program
    .command("serve")
    .description("answer queries until SIGTERM; SIGHUP reloads the configuration")
    .option(...CONFIG_OPTION)
    .option("--takeover", "take over from the server that runs on the configured control socket, losing no query")
    .option("--takeover-if-any", "the same, but start as usual where no control socket is configured")
    .action(async (options: ServeOptions) => {
      const file = findConfigFile(options.config);
      context.exit(await refusingProblems(() => serve(file, options)));
    });
}

async function serve(file: string, options: ServeOptions): Promise<number> {
  const signals = holdSignals();
  const first = prepare(file);
  const { config } = first;
  const log = createLogger({ level: config.log.level });
  logUnexpectedErrors(process, log, systemClock);
  signals.onIgnored((signal) => log.info({ signal }, "signal ignored"));
  const url = debuggerUrl();
  if (url !== undefined) log.warn({ url, nodeOptions: process.env.NODE_OPTIONS }, "Node's debugger is open");
  const isTakeover = options.takeover === true || (options.takeoverIfAny === true && config.admin.socket !== undefined);
  const asked = isTakeover ? findPredecessor(config.admin.socket, log) : undefined;
  const isEarlyEnd = signals.ended.then((): "ended" => "ended");
  const predecessor = await Promise.race([asked, isEarlyEnd]);
  if (predecessor === "ended") {
    exitSoon();
    return EXIT.success;
  }
  // A predecessor may have been waited for, and the file been changed meanwhile: then it is read again.
  const appOptions: AppOptions = { file, log, ...(predecessor === undefined ? { first } : { predecessor }) };
  const app = await startApp(appOptions);
  signals.onReload(() => void app.reload());
  const failed = new Promise<never>((_, reject) => {
    app.ready.then(giveBackMemory).catch(reject);
  });
  try {
    const signal = await Promise.race([signals.ended, app.left.then(() => "left"), failed]);
    log.info(signal === "left" ? {} : { signal }, "stopping");
    return EXIT.success;
  } finally {
    await app.stop();
    await flushLogger(log);
    exitSoon();
  }
}

/** Ends the process although something may keep it alive: a line that nobody reads, a question without a reply. */
function exitSoon(): void {
  setTimeout(() => process.exit(), EXIT_WITHIN_MS).unref();
}

/** The server on the control socket; undefined, with a line in the log, if none is there. @throws UserError */
async function findPredecessor(socket: string | undefined, log: Logger): Promise<Predecessor | undefined> {
  if (socket === undefined) {
    throw new UserError(
      "--takeover needs admin.socket in the configuration: that is how the other server is asked to leave",
      "TAKEOVER_NO_SOCKET",
    );
  }
  const { createAdminClient } = await import("../client/admin.js");
  const { askAdmin, author } = await import("./admin.js");
  const { leaveSchema, statusSchema } = await import("../admin/schemas.js");
  const client = createAdminClient({ kind: "socket", path: socket }, { timeoutMs: LEAVE_WITHIN_MS });
  async function isReachable(): Promise<boolean> {
    try {
      await askAdmin(client, statusSchema, "GET", "/api/v1/status");
      return true;
    } catch (error) {
      if (codeOf(error) !== "ADMIN_UNREACHABLE") throw error;
      return false;
    }
  }
  if (!(await isReachable())) {
    log.info({ socket }, "nobody to take over from");
    return undefined;
  }
  return {
    async leave(threads) {
      try {
        const said = await askAdmin(client, leaveSchema, "POST", "/api/v1/leave", { threads, author: author() });
        return said.threads;
      } catch (error) {
        if (await isReachable()) throw error;
        log.warn({ error: messageOf(error) }, "the server before is gone without saying");
        return undefined;
      }
    },
  };
}

import type { Command } from "commander";
import { type AppOptions, type Predecessor, startApp } from "../app.js";
import { codeOf, messageOf, UserError } from "../lib/errors.js";
import { createLogger, type Logger } from "../lib/logger.js";
import { prepare } from "../prepare.js";
import { CONFIG_OPTION, findConfigFile } from "./config-file.js";
import { type CommandContext, EXIT } from "./exit.js";
import { refusingProblems } from "./problems.js";

interface ServeOptions {
  readonly config?: string;
  readonly takeover?: boolean;
}

/** `livezone serve`: answers until SIGTERM or SIGINT; SIGHUP reloads. */
export function addServe(program: Command, context: CommandContext): void {
  program
    .command("serve")
    .description("answer queries until SIGTERM; SIGHUP reloads the configuration")
    .option(...CONFIG_OPTION)
    .option("--takeover", "take over from the server that runs on the configured control socket, losing no query")
    .action(async (options: ServeOptions) => {
      const file = findConfigFile(options.config);
      context.exit(await refusingProblems(() => serve(file, options.takeover === true)));
    });
}

async function serve(file: string, isTakeover: boolean): Promise<number> {
  const { config } = prepare(file);
  const log = createLogger({ level: config.log.level });
  const predecessor = isTakeover ? await findPredecessor(config.admin.socket, log) : undefined;
  const options: AppOptions = { file, log, ...(predecessor === undefined ? {} : { predecessor }) };
  const app = await startApp(options);
  const reload = (): void => void app.reload();
  process.on("SIGHUP", reload);
  const signalled = new Promise<string>((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, resolve);
  });
  const failed = new Promise<never>((_, reject) => {
    app.ready.catch(reject);
  });
  try {
    const signal = await Promise.race([signalled, app.left.then(() => "left"), failed]);
    log.info(signal === "left" ? {} : { signal }, "stopping");
    return EXIT.success;
  } finally {
    process.off("SIGHUP", reload);
    await app.stop();
  }
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
  const client = createAdminClient({ kind: "socket", path: socket });
  try {
    await askAdmin(client, statusSchema, "GET", "/api/v1/status");
  } catch (error) {
    if (codeOf(error) !== "ADMIN_UNREACHABLE") throw error;
    log.info({ socket, error: messageOf(error) }, "nobody to take over from");
    return undefined;
  }
  return {
    async leave(threads) {
      const { threads: before } = await askAdmin(client, leaveSchema, "POST", "/api/v1/leave", {
        threads,
        author: author(),
      });
      return before;
    },
  };
}

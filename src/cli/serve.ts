import type { Command } from "commander";
import { startApp } from "../app.js";
import { createLogger } from "../lib/logger.js";
import { prepare } from "../prepare.js";
import { CONFIG_OPTION, findConfigFile } from "./config-file.js";
import { type CommandContext, EXIT } from "./exit.js";
import { refusingProblems } from "./problems.js";

/** `livezone serve`: answers until SIGTERM or SIGINT; SIGHUP reloads. */
export function addServe(program: Command, context: CommandContext): void {
  program
    .command("serve")
    .description("answer queries until SIGTERM; SIGHUP reloads the configuration")
    .option(...CONFIG_OPTION)
    .action(async (options: { config?: string }) => {
      const file = findConfigFile(options.config);
      context.exit(await refusingProblems(() => serve(file)));
    });
}

async function serve(file: string): Promise<number> {
  const log = createLogger({ level: prepare(file).config.log.level });
  const app = await startApp({ file, log });
  const reload = (): void => void app.reload();
  process.on("SIGHUP", reload);
  const signal = await new Promise<string>((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.once(name, resolve);
  });
  log.info({ signal }, "stopping");
  process.off("SIGHUP", reload);
  await app.stop();
  return EXIT.success;
}

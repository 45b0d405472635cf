import type { Command } from "commander";
import { publishZone } from "../answers/publish.js";
import { prepare } from "../prepare.js";
import { CONFIG_OPTION, findConfigFile } from "./config-file.js";
import { printProblems, refusingProblems } from "./problems.js";
import { type CommandContext, EXIT } from "./exit.js";

/** `livezone check`: the way `serve` starts, up to the sockets. */
export function addCheck(program: Command, context: CommandContext): void {
  program
    .command("check")
    .description("say whether the configuration can be served, and how fast each endpoint lets go of a failed target")
    .option(...CONFIG_OPTION)
    .action(async (options: { config?: string }) => {
      const file = findConfigFile(options.config);
      context.exit(await refusingProblems(() => check(file)));
    });
}

function check(file: string): number {
  const { config, zones, warnings } = prepare(file);
  printProblems(warnings);
  for (const zone of zones) publishZone(zone, new Map(), Date.now()).compile();
  const endpoints = config.zones.flatMap((zone) => zone.endpoints);
  process.stdout.write(
    `${file}: ${zones.length} zone${zones.length === 1 ? "" : "s"}, ${endpoints.length} endpoint${endpoints.length === 1 ? "" : "s"}: good\n`,
  );
  return EXIT.success;
}

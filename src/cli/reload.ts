import type { Command } from "commander";
import { reloadSchema } from "../admin/schemas.js";
import { type AdminOptions, askAdmin, author, openAdmin, withAdminOptions } from "./admin.js";
import { type CommandContext, EXIT } from "./exit.js";
import { describePending, writeJson } from "./output.js";
import { asking } from "./overriding.js";

interface ReloadOptions extends AdminOptions {
  readonly json?: boolean;
}

/** `livezone reload`: makes a running server take its configuration anew, as a whole or not at all. */
export function addReload(program: Command, context: CommandContext): void {
  const command = program
    .command("reload")
    .description("make a running server take its configuration anew, as a whole or not at all")
    .option("--json", "print what came of it as JSON");
  withAdminOptions(command).action((options: ReloadOptions) =>
    asking(context, async () => {
      const said = await askAdmin(await openAdmin(options), reloadSchema, "POST", "/api/v1/reload", {
        author: author(),
      });
      const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
      if (options.json === true) writeJson(process.stdout, said);
      else {
        process.stdout.write(`reloaded: ${count(said.zones, "zone")}, ${count(said.endpoints, "endpoint")}\n`);
        for (const pending of said.needRestart ?? []) process.stdout.write(`! ${describePending(pending)}\n`);
      }
      return EXIT.success;
    }),
  );
}

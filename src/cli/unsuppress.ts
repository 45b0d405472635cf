import type { Command } from "commander";
import { changeSchema } from "../admin/schemas.js";
import { askAdmin, author, openAdmin, targetPath } from "./admin.js";
import { type CommandContext, EXIT } from "./exit.js";
import { writeJson } from "./output.js";
import { asking, describeChange, type TargetCommandOptions, withTarget } from "./overriding.js";

/** `livezone unsuppress`: forgives a target its flapping. */
export function addUnsuppress(program: Command, context: CommandContext): void {
  const command = program
    .command("unsuppress")
    .description("end the suppression of a target that flaps: it is answered again with its next good probe");
  withTarget(command).action((endpoint: string, target: string, options: TargetCommandOptions) =>
    asking(context, async () => {
      const body = { author: author() };
      const path = targetPath(endpoint, target, "unsuppress");
      const change = await askAdmin(await openAdmin(options), changeSchema, "POST", path, body);
      if (options.json === true) writeJson(process.stdout, change);
      else if (change.changed) {
        process.stdout.write(
          `${target} of ${endpoint} is not suppressed any more; its next good probe brings it back\n`,
        );
      } else process.stdout.write(describeChange(change, "", "was not suppressed"));
      return EXIT.success;
    }),
  );
}

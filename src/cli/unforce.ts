import type { Command } from "commander";
import { changeSchema } from "../admin/schemas.js";
import { askAdmin, author, openAdmin, targetPath } from "./admin.js";
import { type CommandContext, EXIT } from "./exit.js";
import { writeJson } from "./output.js";
import { asking, describeChange, type TargetCommandOptions, withLocal, withTarget } from "./overriding.js";

/** `livezone unforce`: ends what `force` began. */
export function addUnforce(program: Command, context: CommandContext): void {
  const command = program.command("unforce").description("end what force began: the target's probes decide again");
  withLocal(withTarget(command)).action((endpoint: string, target: string, options: TargetCommandOptions) =>
    asking(context, async () => {
      const body = { author: author(), ...(options.local === true ? { local: true } : {}) };
      const path = targetPath(endpoint, target, "unforce");
      const change = await askAdmin(await openAdmin(options), changeSchema, "POST", path, body);
      if (options.json === true) writeJson(process.stdout, change);
      else process.stdout.write(describeChange(change, "is not forced any more", "was not forced"));
      return EXIT.success;
    }),
  );
}

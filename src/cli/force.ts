import { Argument, type Command } from "commander";
import { changeSchema } from "../admin/schemas.js";
import { askAdmin, author, openAdmin, targetPath } from "./admin.js";
import { type CommandContext, EXIT } from "./exit.js";
import { writeJson } from "./output.js";
import {
  asking,
  describeChange,
  describeConsequences,
  type OverrideCommandOptions,
  overrideBody,
  withOverrideOptions,
  withTarget,
} from "./overriding.js";

/** `livezone force`: takes a target for up or down, whatever its probes say. */
export function addForce(program: Command, context: CommandContext): void {
  const command = program
    .command("force")
    .description("take a target for up or down, whatever its probes say")
    .addArgument(new Argument("<health>", "what to take it for").choices(["up", "down"]));
  withOverrideOptions(withTarget(command)).action(
    (health: string, endpoint: string, target: string, options: OverrideCommandOptions) =>
      asking(context, async () => {
        const body = { ...overrideBody(options, author()), health };
        const path = targetPath(endpoint, target, "force");
        const change = await askAdmin(await openAdmin(options), changeSchema, "POST", path, body);
        if (options.json === true) writeJson(process.stdout, change);
        else {
          const done = describeChange(change, `is forced ${health}`, `was forced ${health}`);
          process.stdout.write(`${done}${describeConsequences(change)}`);
        }
        return EXIT.success;
      }),
  );
}

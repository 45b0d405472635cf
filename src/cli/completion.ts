import { Argument, type Command } from "commander";
import { VERSION } from "../lib/version.js";
import { SHELLS, type Shell, wordsOf } from "./completion-scripts.js";
import { type CommandContext, EXIT } from "./exit.js";
import { manPage } from "./man-page.js";
import { endQuietlyWithoutReader } from "./output.js";

/** Builds a program with all commands: the one that runs was built with the command given alone. */
export type BuildWholeProgram = () => Promise<Command>;

/** `livezone completion`: prints a script that teaches a shell the commands and options. */
export function addCompletion(program: Command, context: CommandContext, buildWhole: BuildWholeProgram): void {
  program
    .command("completion")
    .description("print a script with which a shell completes livezone's commands and options")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SHELLS)))
    .action(async (shell: Shell) => {
      endQuietlyWithoutReader();
      process.stdout.write(SHELLS[shell](wordsOf(await buildWhole())));
      context.exit(EXIT.success);
    });
}

/** `livezone man`: prints the manual page, in the language of man(7). */
export function addMan(program: Command, context: CommandContext, buildWhole: BuildWholeProgram): void {
  program
    .command("man")
    .description("print the manual page; look at it with: livezone man | man -l -")
    .action(async () => {
      endQuietlyWithoutReader();
      const whole = await buildWhole();
      process.stdout.write(manPage(whole.description(), VERSION, wordsOf(whole)));
      context.exit(EXIT.success);
    });
}

import { Command, CommanderError } from "commander";
import { messageOf, UserError } from "../lib/errors.js";
import { VERSION } from "../lib/version.js";
import { addCheck } from "./check.js";
import { addDemo } from "./demo.js";
import { addServe } from "./serve.js";

/** Exit codes of every command. */
export const EXIT = {
  success: 0,
  /** The answer is "no", or the input is bad. */
  failure: 1,
  /** The command line makes no sense. */
  usage: 2,
} as const;

/** Where a command reports how it ended. */
export interface CommandContext {
  exit(code: number): void;
}

/** Every command, one file each. */
const COMMANDS = [addServe, addCheck, addDemo];

/**
 * Runs the command line.
 *
 * @param argv as `process.argv`
 * @returns the exit code
 */
export async function runProgram(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.success;
  const program = new Command("livezone")
    .description(
      "authoritative DNS that answers a Kubernetes controlPlaneEndpoint with the apiservers that are ready now",
    )
    .version(VERSION)
    .showHelpAfterError("(--help shows what there is)")
    .exitOverride();
  const context: CommandContext = {
    exit(value) {
      code = value;
    },
  };
  for (const add of COMMANDS) add(program, context);
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
    if (!(error instanceof UserError)) throw error;
    process.stderr.write(`livezone: ${messageOf(error)} [${error.code}]\n`);
    return EXIT.failure;
  }
}

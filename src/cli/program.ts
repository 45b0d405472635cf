import { Command, CommanderError } from "commander";
import { messageOf, UserError } from "../lib/errors.js";
import { VERSION } from "../lib/version.js";
import { type CommandContext, EXIT } from "./exit.js";
import { writeJson } from "./output.js";

/** Adds a command to the program. @param buildWhole for a command that tells of all commands */
type AddCommand = (program: Command, context: CommandContext, buildWhole: () => Promise<Command>) => void;

/**
 * Every command, one file each, in the order of the help. A file is loaded when its command is given, or for a help
 * that names all: a server has no use for what `demo` or `doctor` bring along, and would keep it in memory.
 */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  serve: async () => (await import("./serve.js")).addServe,
  check: async () => (await import("./check.js")).addCheck,
  demo: async () => (await import("./demo.js")).addDemo,
  status: async () => (await import("./status.js")).addStatus,
  drain: async () => (await import("./drain.js")).addDrain,
  undrain: async () => (await import("./undrain.js")).addUndrain,
  force: async () => (await import("./force.js")).addForce,
  unforce: async () => (await import("./unforce.js")).addUnforce,
  unsuppress: async () => (await import("./unsuppress.js")).addUnsuppress,
  reload: async () => (await import("./reload.js")).addReload,
  doctor: async () => (await import("./doctor.js")).addDoctor,
  delegation: async () => (await import("./delegation.js")).addDelegation,
  kubeadm: async () => (await import("./kubeadm.js")).addKubeadm,
  export: async () => (await import("./export.js")).addExport,
  completion: async () => (await import("./completion.js")).addCompletion,
  man: async () => (await import("./completion.js")).addMan,
};

/**
 * Builds the program with the commands named; without names, with all.
 *
 * @param context where the command that runs reports its exit code
 */
export async function buildProgram(context: CommandContext, names = Object.keys(COMMANDS)): Promise<Command> {
  const program = new Command("livezone")
    .description(
      "authoritative DNS that answers a Kubernetes controlPlaneEndpoint with the apiservers that are ready now",
    )
    .version(VERSION)
    .showHelpAfterError("(--help shows what there is)")
    .configureHelp({
      // Every command has options; without that word, the lines fit into 80 columns.
      subcommandTerm: (command) =>
        [
          command.name(),
          ...command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)),
        ].join(" "),
      minWidthToWrap: 20,
    })
    .exitOverride();
  const buildWhole = () => buildProgram({ exit() {} });
  for (const name of names) (await COMMANDS[name]?.())?.(program, context, buildWhole);
  for (const command of program.commands) command.exitOverride();
  return program;
}

/** What `--json` prints when there is nothing but an error to tell: the form of the API's refusals. */
function errorJson(error: UserError): object {
  const problems = "problems" in error ? { problems: error.problems } : {};
  return { error: { code: error.code, message: error.message, ...problems } };
}

/**
 * Runs the command line.
 *
 * @param argv as `process.argv`
 * @returns the exit code
 */
export async function runProgram(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.success;
  const context: CommandContext = {
    exit(value) {
      code = value;
    },
  };
  const given = argv[2] ?? "";
  if (["--version", "-V"].includes(given)) {
    // Without loading every command for it.
    process.stdout.write(`${VERSION}\n`);
    return EXIT.success;
  }
  const program = await buildProgram(context, Object.hasOwn(COMMANDS, given) ? [given] : undefined);
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
    if (!(error instanceof UserError)) throw error;
    if (argv.includes("--json")) writeJson(process.stdout, errorJson(error));
    process.stderr.write(`livezone: ${messageOf(error)} [${error.code}]\n`);
    return EXIT.failure;
  }
}

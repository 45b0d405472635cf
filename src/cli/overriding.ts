import type { Command } from "commander";
import { parseLasting } from "../admin/override-duration.js";
import { type Change, changeSchema, type TargetView } from "../admin/schemas.js";
import { type AdminOptions, askAdmin, author, openAdmin, RefusedError, targetPath, withAdminOptions } from "./admin.js";
import { type CommandContext, EXIT } from "./exit.js";
import { endQuietlyWithoutReader, plain, writeError, writeJson } from "./output.js";

/** What every command that changes a target takes. */
export interface TargetCommandOptions extends AdminOptions {
  readonly json?: boolean;
  readonly local?: boolean;
}

/** How an override is asked for on the command line. */
export interface OverrideCommandOptions extends TargetCommandOptions {
  readonly for?: string;
  readonly reason?: string;
  readonly force?: boolean;
}

/** Adds `ENDPOINT TARGET`, and the options of {@link TargetCommandOptions}. */
export function withTarget(command: Command): Command {
  command
    .argument("<endpoint>", "the endpoint's full name, such as api.k8s.example.com")
    .argument("<target>", "the target's id, such as cp1")
    .option("--json", "print what came of it as JSON");
  return withAdminOptions(command);
}

/** Adds the option that leaves siblings out. */
function withLocal(command: Command): Command {
  return command.option("--local", "concern this server alone, not its siblings");
}

/** Adds the options of {@link OverrideCommandOptions}. */
export function withOverrideOptions(command: Command): Command {
  return withLocal(command)
    .option(
      "--for <duration>",
      "end it by itself after so long, such as 30m; without, it holds until it is ended",
      (text) => {
        const lasting = parseLasting(text);
        if ("why" in lasting) command.error(`error: --for: ${lasting.why}`, { exitCode: EXIT.usage });
        return text;
      },
    )
    .option("--reason <text>", "why, for whoever looks at the status")
    .option("--force", "even if that leaves too few targets");
}

/** The body of a request that sets an override. */
export function overrideBody(options: OverrideCommandOptions, author: string): Record<string, unknown> {
  return {
    author,
    ...(options.for === undefined ? {} : { for: options.for }),
    ...(options.reason === undefined ? {} : { reason: options.reason }),
    ...(options.force === true ? { force: true } : {}),
    ...(options.local === true ? { local: true } : {}),
  };
}

/** What to do about a refusal, by its code. */
const REMEDIES: Readonly<Record<string, string>> = {
  LAST_ANSWERABLE: "bring another target up first, or use --force",
  DRAIN_TOO_SHORT: "give a longer --for, or none",
  BELOW_MIN_HEALTHY: "bring another target up first, or use --force",
  NO_SUCH_ENDPOINT: 'write its full name; "livezone status" shows what there is',
  TOKEN_MISSING: "give it with --token-file FILE",
};

/** Runs a command that asks the server for something; what the server refuses ends it with code 1. */
export async function asking(context: CommandContext, run: () => Promise<number>): Promise<void> {
  endQuietlyWithoutReader();
  try {
    context.exit(await run());
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    for (const problem of error.problems) writeError(`${problem}\n`);
    const remedy = REMEDIES[error.code];
    const message = plain(remedy === undefined ? error.message : `${error.message}; ${remedy}`);
    throw new RefusedError(message, error.code, error.problems);
  }
}

/** A command that ends an override, in the words that it needs. */
export interface EndingWords {
  readonly name: "undrain" | "unforce";
  readonly description: string;
  /** What is said of a target that had such an override, and of one that had none. */
  readonly done: string;
  readonly already: string;
}

/** Adds a command that ends an override of a target. */
export function addEnding(program: Command, context: CommandContext, words: EndingWords): void {
  const command = program.command(words.name).description(words.description);
  withLocal(withTarget(command)).action((endpoint: string, target: string, options: TargetCommandOptions) =>
    asking(context, async () => {
      const body = { author: author(), ...(options.local === true ? { local: true } : {}) };
      const path = targetPath(endpoint, target, words.name);
      const change = await askAdmin(await openAdmin(options), changeSchema, "POST", path, body);
      if (options.json === true) writeJson(process.stdout, change);
      else process.stdout.write(describeChange(change, words.done, words.already));
      return EXIT.success;
    }),
  );
}

/** Says what a change led to, and what it has to do with if the target is suppressed. */
export function describeChange({ endpoint, target, changed }: Change, done: string, already: string): string {
  const isAnswered = target.addresses.some((address) => address.answered);
  const isSuppressed = target.override === undefined && target.addresses.some(({ held }) => held !== undefined);
  const why = isAnswered ? "" : isSuppressed ? ", it is suppressed since it flaps" : whyNotAnswered(target);
  const note = isSuppressed ? `! "livezone unsuppress ${endpoint} ${target.id}" ends the suppression\n` : "";
  const line = `${target.id} of ${endpoint} ${changed ? done : already}; it is ${isAnswered ? "answered" : "not answered"}`;
  return `${line}${why}\n${note}`;
}

/** Why a target is not answered: it is disabled, or its health is the reason. After a start there may be no result yet. */
function whyNotAnswered({ disabled, override, addresses }: TargetView): string {
  if (disabled === true) return ", the configuration disables it";
  const [first] = addresses;
  if (override !== undefined || first === undefined || first.health === "up") return "";
  if (first.health === "unknown") return ", no probe of it has ended yet";
  return first.last === undefined ? ", it is down" : `, it is down: ${plain(first.last.reason)}`;
}

/** What the operator should know of an override that was set, a line each. */
export function describeConsequences({ endpoint, target, ...change }: Change): string {
  const { persisted, failsOpen, answeredAgain = [] } = change;
  const again = answeredAgain.length === 1 ? "is" : "are";
  return [
    ...(failsOpen === true ? [`! ${endpoint} has too few targets up now, so whenAllDown decides what it answers`] : []),
    ...(answeredAgain.length > 0
      ? [
          `! nothing else is left: ${answeredAgain.join(", ")} ${again} answered again, although an operator took ${answeredAgain.length === 1 ? "it" : "them"} out`,
        ]
      : []),
    ...(persisted === false
      ? [`! without stateDir, this is not kept: ${target.id} is left to its health again when the server restarts`]
      : []),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

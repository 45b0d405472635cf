import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import { type Drain, drainSchema, targetDetailSchema } from "../admin/schemas.js";
import type { AdminClient } from "../client/admin.js";
import { codeOf, messageOf, UserError } from "../lib/errors.js";
import { askAdmin, author, openAdmin, targetPath } from "./admin.js";
import { type CommandContext, EXIT } from "./exit.js";
import { formatMoment, formatTime, type Output, paletteOf, writeError, writeJson } from "./output.js";
import {
  asking,
  describeConsequences,
  type OverrideCommandOptions,
  overrideBody,
  withOverrideOptions,
  withTarget,
} from "./overriding.js";

/** Milliseconds between two steps of the progress line. */
const STEP_MS = 200;

/** Milliseconds between two looks whether the drain still holds. */
const LOOK_EVERY_MS = 1_000;

/** Milliseconds that a server gets to be there again. */
const RETURN_WITHIN_MS = 60_000;

interface DrainOptions extends OverrideCommandOptions {
  readonly wait?: boolean;
}

/** `livezone drain`: takes a target out of the answers, and says when it can be stopped. */
export function addDrain(program: Command, context: CommandContext): void {
  const command = program
    .command("drain")
    .description("take a target out of the answers, and say when its apiserver can be stopped")
    .option("--wait", "return when it can be stopped: no cache that honours the TTL holds its address any more");
  withOverrideOptions(withTarget(command)).action((endpoint: string, target: string, options: DrainOptions) =>
    asking(context, () => drain(endpoint, target, options)),
  );
}

async function drain(endpoint: string, target: string, options: DrainOptions): Promise<number> {
  const client = await openAdmin(options);
  const body = overrideBody(options, author());
  let said = await askAdmin(client, drainSchema, "POST", targetPath(endpoint, target, "drain"), body);
  if (options.json !== true)
    process.stdout.write(`${describe(said)}${describeSiblings(said)}${describeConsequences(said)}`);
  if (options.wait === true) {
    said = await waitUntilSafe(client, said, options.json === true ? undefined : process.stdout);
    if (options.json !== true) process.stdout.write(afterWaiting(said));
  }
  if (options.json === true) writeJson(process.stdout, said);
  return options.wait === true && unsure(said).length > 0 ? EXIT.failure : EXIT.success;
}

/** Siblings that may answer the target still, since they were not heard or do not drain it. */
function unsure({ siblings = [] }: Drain): string[] {
  return siblings.filter(({ heard, drained }) => !heard || !drained).map(({ name }) => name);
}

function afterWaiting(said: Drain): string {
  const names = unsure(said);
  const { id } = said.target;
  if (names.length === 0) return `${id} can be stopped now\n`;
  return `${id} can be stopped as far as the servers that were heard go; ${names.join(", ")} may answer it still\n`;
}

/** A line for each sibling. */
function describeSiblings({ siblings = [], nowMs }: Drain): string {
  return siblings
    .map(({ name, heard, drained, safeAtMs }) => {
      if (!heard)
        return `! ${name} was not heard: it may answer the target still, and learns of this when it is back\n`;
      if (!drained) return `! ${name} does not drain it\n`;
      if (safeAtMs === undefined) return `! ${name} answers it still: there is nothing else to answer\n`;
      return safeAtMs <= nowMs
        ? `${name} has it drained\n`
        : `${name} has it drained, safe from ${formatTime(safeAtMs)}\n`;
    })
    .join("");
}

function describe({ endpoint, target, nowMs, safeAtMs }: Drain): string {
  const endsAtMs = target.override?.expiresAtMs;
  const until = endsAtMs === undefined ? "" : ` until ${formatMoment(endsAtMs, nowMs)}`;
  const drained = `${target.id} of ${endpoint} is drained${until}`;
  if (safeAtMs === undefined) return `${drained}, but answered still: there is nothing else to answer\n`;
  const leftMs = safeAtMs - nowMs;
  if (leftMs <= 0) return `${drained}, and can be stopped now\n`;
  return `${drained}, and can be stopped from ${formatTime(safeAtMs)} (in ${Math.ceil(leftMs / 1000)} s)\n`;
}

/**
 * Waits until the target can be stopped, and looks all the while whether the drain still holds.
 *
 * @param output where progress is shown, if it is a terminal
 * @throws UserError when somebody ended the drain, or the target is answered all the same
 */
async function waitUntilSafe(client: AdminClient, drained: Drain, output: Output | undefined): Promise<Drain> {
  const { endpoint, target } = drained;
  const isShown = output?.isTTY === true;
  try {
    for (let said = drained; ; said = await lookPatiently(client, said)) {
      if (said.safeAtMs === undefined) {
        const why = "is answered still, so there is no moment at which it is safe to stop";
        throw new UserError(`${target.id} of ${endpoint} ${why}`, "DRAIN_ANSWERED_STILL");
      }
      // The server's clock may differ from ours: only lengths of time are taken from it.
      const leftMs = said.safeAtMs - said.nowMs;
      if (leftMs <= 0) return said;
      const lookAtMs = performance.now() + Math.min(leftMs, LOOK_EVERY_MS);
      for (let pauseMs = lookAtMs - performance.now(); pauseMs > 0; pauseMs = lookAtMs - performance.now()) {
        if (isShown) output?.write(progress(target.id, leftMs - Math.min(leftMs, LOOK_EVERY_MS) + pauseMs, output));
        await pause(Math.min(pauseMs, STEP_MS));
      }
    }
  } finally {
    if (isShown) output?.write("\r\x1b[K");
  }
}

function progress(target: string, leftMs: number, output: Output): string {
  const seconds = Math.max(0, leftMs / 1000).toFixed(1);
  return `\r\x1b[K${paletteOf(output).warn(`${seconds} s`)} until no cache can hold ${target}`;
}

/** Looks again; a server that is just starting again, or that another one takes over from, is waited for. */
async function lookPatiently(client: AdminClient, drained: Drain): Promise<Drain> {
  const giveUpMs = performance.now() + RETURN_WITHIN_MS;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await lookAgain(client, drained);
    } catch (error) {
      if (codeOf(error) !== "ADMIN_UNREACHABLE" || performance.now() >= giveUpMs) throw error;
      if (isFirst) writeError(`livezone: ${messageOf(error)}; waiting for it\n`);
      await pause(LOOK_EVERY_MS);
    }
  }
}

async function lookAgain(client: AdminClient, drained: Drain): Promise<Drain> {
  const {
    endpoint,
    target: { id },
  } = drained;
  const detail = await askAdmin(client, targetDetailSchema, "GET", targetPath(endpoint, id));
  const { target, nowMs, safeAtMs, siblings } = detail;
  if (target.override?.kind !== "drained") {
    const endedAtMs = drained.target.override?.expiresAtMs;
    const why =
      endedAtMs !== undefined && endedAtMs <= nowMs
        ? `it ended by itself at ${formatMoment(endedAtMs, nowMs)}, as --for said`
        : "somebody ended it";
    throw new UserError(`${id} of ${endpoint} is not drained any more: ${why}`, "DRAIN_ENDED");
  }
  return {
    endpoint,
    target,
    changed: true,
    nowMs,
    ...(safeAtMs === undefined ? {} : { safeAtMs }),
    ...(siblings === undefined ? {} : { siblings }),
  };
}

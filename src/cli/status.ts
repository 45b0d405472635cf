import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import { type Status, statusSchema, targetDetailSchema } from "../admin/schemas.js";
import type { AdminClient } from "../client/admin.js";
import { messageOf, UserError } from "../lib/errors.js";
import { type AdminOptions, askAdmin, openAdmin, targetPath, withAdminOptions } from "./admin.js";
import { nextChange } from "./admin-changes.js";
import { type CommandContext, EXIT } from "./exit.js";
import { endQuietlyWithoutReader, type Output, paletteOf, writeError, writeJson } from "./output.js";
import { statusTable, targetTable } from "./status-table.js";

/** Milliseconds between two looks without an event, so that ages and last results are right. */
const LOOK_EVERY_MS = 1_000;

const ENTER_SCREEN = "\x1b[?1049h\x1b[?25l";
const LEAVE_SCREEN = "\x1b[?25h\x1b[?1049l";

interface StatusOptions extends AdminOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
}

/** `livezone status`: what a running server thinks. */
export function addStatus(program: Command, context: CommandContext): void {
  const command = program
    .command("status")
    .description("show what a running server thinks: endpoints, targets, health, overrides, answers")
    .argument("[endpoint]", "only this endpoint, by its full name")
    .argument("[target]", "only this target, with the results of its last probes")
    .option("-w, --watch", "go on showing it as it changes")
    .option("--json", "print JSON; with --watch one line for each change");
  withAdminOptions(command).action(
    async (endpoint: string | undefined, target: string | undefined, options: StatusOptions) => {
      endQuietlyWithoutReader();
      const client = await openAdmin(options);
      context.exit(
        endpoint !== undefined && target !== undefined
          ? await showTarget(client, endpoint, target, options)
          : await (options.watch === true ? watch : show)(client, endpoint, options),
      );
    },
  );
}

async function fetchStatus(client: AdminClient, endpoint: string | undefined): Promise<Status> {
  const status = await askAdmin(client, statusSchema, "GET", "/api/v1/status");
  if (endpoint === undefined) return status;
  const name = endpoint.toLowerCase().replace(/\.$/, "");
  const zones = status.zones.flatMap((zone) => {
    const endpoints = zone.endpoints.filter((one) => one.endpoint === name);
    return endpoints.length === 0 ? [] : [{ ...zone, endpoints }];
  });
  if (zones.length === 0) throw new UserError(`there is no endpoint ${name}`, "NO_SUCH_ENDPOINT");
  const shown = new Set(zones.map(({ zone }) => zone));
  const secondaries = status.secondaries?.filter(({ zone }) => shown.has(zone));
  return { ...status, zones, ...(secondaries && { secondaries }) };
}

async function show(client: AdminClient, endpoint: string | undefined, options: StatusOptions): Promise<number> {
  const status = await fetchStatus(client, endpoint);
  if (options.json === true) writeJson(process.stdout, status);
  else process.stdout.write(render(status, process.stdout));
  return EXIT.success;
}

function render(status: Status, output: Output): string {
  const width = output.isTTY === true ? (output.columns ?? 80) : undefined;
  return statusTable(status, { palette: paletteOf(output), ...(width === undefined ? {} : { width }) });
}

async function showTarget(
  client: AdminClient,
  endpoint: string,
  target: string,
  options: StatusOptions,
): Promise<number> {
  if (options.watch === true) throw new UserError("--watch is for all targets or one endpoint", "STATUS_WATCH");
  const detail = await askAdmin(client, targetDetailSchema, "GET", targetPath(endpoint, target));
  if (options.json === true) writeJson(process.stdout, detail);
  else process.stdout.write(targetTable(detail, { palette: paletteOf(process.stdout) }));
  return EXIT.success;
}

/** Shows the status anew with every event, and on a terminal every second, until the user ends it. */
async function watch(client: AdminClient, endpoint: string | undefined, options: StatusOptions): Promise<number> {
  const output: Output = process.stdout;
  const isScreen = output.isTTY === true && options.json !== true;
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());

  // The first look tells whether there is a server at all; later ones wait for it to come back.
  let status = await fetchStatus(client, endpoint);
  if (isScreen) output.write(ENTER_SCREEN);
  try {
    let trouble = "";
    while (!ending.signal.aborted) {
      if (isScreen || trouble === "") draw(status, trouble, options, output);
      if (trouble === "")
        await nextChange(client, status.lastEventId, {
          ended: ending.signal,
          ...(isScreen ? { atMostMs: LOOK_EVERY_MS } : {}),
        });
      if (ending.signal.aborted) break;
      try {
        status = await fetchStatus(client, endpoint);
        trouble = "";
      } catch (error) {
        // It may be starting again. On a screen, that is drawn; elsewhere it is said once.
        if (!isScreen && trouble === "") writeError(`livezone: ${messageOf(error)}; waiting for it\n`);
        trouble = messageOf(error);
        await pause(LOOK_EVERY_MS, undefined, { signal: ending.signal }).catch(() => {});
      }
    }
  } finally {
    if (isScreen) output.write(LEAVE_SCREEN);
  }
  return EXIT.success;
}

function draw(status: Status, trouble: string, options: StatusOptions, output: Output): void {
  if (options.json === true) {
    output.write(`${JSON.stringify(status)}\n`);
    return;
  }
  const table = render(status, output);
  if (output.isTTY !== true) {
    output.write(`${table}\n`);
    return;
  }
  const lines = trouble === "" ? table.split("\n") : [paletteOf(output).bad(trouble), ...table.split("\n")];
  // Drawn over what was there, which does not flicker; what does not fit would scroll.
  const fitting = lines.slice(0, (output.rows ?? 24) - 1).map((line) => `${line}\x1b[K`);
  output.write(`\x1b[H${fitting.join("\r\n")}\x1b[J`);
}

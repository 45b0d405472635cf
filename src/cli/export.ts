import { isIP } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Argument, type Command } from "commander";
import { type Status, statusSchema } from "../admin/schemas.js";
import type { AdminClient } from "../client/admin.js";
import { EXPORT_FORMATS, type ExportFormat } from "../export/formats.js";
import { type Published, Publisher } from "../export/publisher.js";
import { type ExportedEndpoint, exportedEndpoint } from "../export/servers.js";
import { messageOf, UserError } from "../lib/errors.js";
import { type AdminOptions, askAdmin, openAdmin, withAdminOptions } from "./admin.js";
import { nextChange } from "./admin-changes.js";
import { type CommandContext, EXIT } from "./exit.js";
import { endQuietlyWithoutReader, writeError, writeJson } from "./output.js";

/** Milliseconds before a failed reload, or a server that is away, is tried again. */
const RETRY_MS = 1_000;

/** Milliseconds after which the server is asked although no event came: an event may have been lost. */
const LOOK_AT_LEAST_EVERY_MS = 30_000;

interface ExportOptions extends AdminOptions {
  readonly output?: string;
  readonly watch?: boolean;
  readonly reloadCommand?: string;
  readonly vip?: string;
  readonly json?: boolean;
}

/** `livezone export`: what is answered now, in the words of a load balancer. */
export function addExport(program: Command, context: CommandContext): void {
  const formats = Object.entries(EXPORT_FORMATS).map(([format, { about }]) => `  ${format.padEnd(9)} ${about}`);
  const command = program
    .command("export")
    .description("write what is answered now as the configuration of a load balancer, or as a hosts file")
    .addArgument(new Argument("<format>", "whose configuration").choices(Object.keys(EXPORT_FORMATS)))
    .argument("[endpoint]", "only this endpoint, by its full name")
    .option("-o, --output <file>", "write into this file, as a whole, if it changes (default: print)")
    .option("-w, --watch", "go on: write at every change of the answers; needs --output")
    .option("--reload-command <command>", "what to run, by sh, after the file has changed; needs --output")
    .option("--vip <address>", "virtual address, for ipvs")
    .option("--json", "print the servers as JSON");
  withAdminOptions(command)
    .addHelpText("after", `\nFormats:\n${formats.join("\n")}`)
    .action(async (format: string, endpoint: string | undefined, options: ExportOptions) => {
      endQuietlyWithoutReader();
      checkOptions(options);
      const chosen = EXPORT_FORMATS[format] as ExportFormat;
      context.exit(await run(await openAdmin(options), chosen, endpoint, options));
    });
}

function checkOptions({ output, watch, reloadCommand, json, vip }: ExportOptions): void {
  if (output === undefined && (watch === true || reloadCommand !== undefined)) {
    throw new UserError("--watch and --reload-command need --output FILE", "EXPORT_NO_OUTPUT");
  }
  if (output !== undefined && json === true) {
    throw new UserError("--json prints; it does not go with --output", "EXPORT_JSON");
  }
  if (vip !== undefined && isIP(vip) === 0) {
    throw new UserError(`--vip ${vip} is no IP address`, "EXPORT_VIP");
  }
}

/** The endpoints meant, in the order of the configuration. @throws UserError if there is none of that name */
function chosenEndpoints(status: Status, name: string | undefined): ExportedEndpoint[] {
  const all = status.zones.flatMap(({ endpoints }) => endpoints);
  if (name === undefined) return all.map(exportedEndpoint);
  const wanted = name.toLowerCase().replace(/\.$/, "");
  const found = all.filter(({ endpoint }) => endpoint === wanted);
  if (found.length === 0) throw new UserError(`there is no endpoint ${wanted}`, "NO_SUCH_ENDPOINT");
  return found.map(exportedEndpoint);
}

async function run(
  client: AdminClient,
  format: ExportFormat,
  endpoint: string | undefined,
  options: ExportOptions,
): Promise<number> {
  const write = (status: Status) =>
    format.write(chosenEndpoints(status, endpoint), options.vip === undefined ? {} : { vip: options.vip });
  const look = () => askAdmin(client, statusSchema, "GET", "/api/v1/status");
  const { output: file, reloadCommand, watch: isWatching } = options;
  if (file === undefined) {
    const status = await look();
    if (options.json === true) writeJson(process.stdout, chosenEndpoints(status, endpoint));
    else process.stdout.write(write(status));
    return EXIT.success;
  }
  const destination = { file, isBlock: format.isBlock, ...(reloadCommand === undefined ? {} : { reloadCommand }) };
  const publisher = new Publisher(destination);
  if (isWatching === true) return follow(client, { publisher, file, look, write });
  const status = await look();
  if (!status.ready) throw new UserError("the server is starting and answers nothing yet", "EXPORT_NOT_READY");
  return report(await publisher.publish(write(status)), file) ? EXIT.success : EXIT.failure;
}

/** Says what a publication did, where that is worth a word; whether it was well. */
function report(published: Published, file: string): boolean {
  if (published.state === "written") writeError(`livezone: ${file} written\n`);
  if (published.state === "reload-failed") writeError(`livezone: the reload command failed: ${published.why}\n`);
  return published.state !== "reload-failed";
}

interface Following {
  readonly publisher: Publisher;
  readonly file: string;
  readonly look: () => Promise<Status>;
  readonly write: (status: Status) => string;
}

/** Publishes at every change until the user ends it. While the server is away or starting, what was published last stays. */
async function follow(client: AdminClient, { publisher, file, look, write }: Following): Promise<number> {
  const ending = new AbortController();
  const ended = ending.signal;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ending.abort());
  // The first look tells whether the endpoint is there at all.
  let status: Status | undefined = await look();
  write(status);
  let trouble = "";
  while (!ended.aborted) {
    if (status?.ready === true) report(await publisher.publish(write(status)), file);
    const isShort = publisher.isReloadOwed || status?.ready !== true;
    if (status === undefined) await pause(RETRY_MS, undefined, { signal: ended }).catch(() => {});
    else await nextChange(client, status.lastEventId, { ended, atMostMs: isShort ? RETRY_MS : LOOK_AT_LEAST_EVERY_MS });
    if (ended.aborted) break;
    try {
      status = await look();
      trouble = "";
    } catch (error) {
      status = undefined;
      if (trouble === "") writeError(`livezone: ${messageOf(error)}; waiting for it\n`);
      trouble = messageOf(error);
    }
  }
  return EXIT.success;
}

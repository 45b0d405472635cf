import { userInfo } from "node:os";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import type { z } from "zod";
import { errorSchema } from "../admin/schemas.js";
import { type AdminAddress, type AdminClient, createAdminClient, parseAdminAddress } from "../client/admin.js";
import { messageOf, UserError } from "../lib/errors.js";
import { readRegularFile } from "../lib/regular-file.js";
import { VERSION } from "../lib/version.js";
import { CONFIG_OPTION, existingConfigFile } from "./config-file.js";
import { writeError } from "./output.js";

/** Where the control socket is when no configuration says otherwise. */
const DEFAULT_SOCKET = "/run/livezone/admin.sock";

/** Largest token file and main file that are read, octets. */
const MAX_TOKEN_FILE_OCTETS = 64 * 1024;
const MAX_MAIN_FILE_OCTETS = 4 * 1024 * 1024;

/** The options by which a command finds the running server. */
export interface AdminOptions {
  readonly admin?: string;
  readonly tokenFile?: string;
  readonly config?: string;
}

/** Adds the options of {@link AdminOptions} to a command that talks to a running server. */
export function withAdminOptions(command: Command): Command {
  return command
    .option(
      "--admin <socket|url>",
      `where the server is (default: the configuration's admin.socket, then its admin.http, then ${DEFAULT_SOCKET})`,
    )
    .option("--token-file <file>", "file with the bearer token, for a URL")
    .option(...CONFIG_OPTION);
}

/** A client for the server that the options mean. @throws UserError */
export async function openAdmin(options: AdminOptions): Promise<AdminClient> {
  const { admin, config } = options;
  const { address, remedy }: Place =
    admin === undefined ? await configuredPlace(config) : { address: parseAdminAddress(admin) };
  const clientOptions = remedy === undefined ? {} : { remedy };
  if (options.tokenFile === undefined) return createAdminClient(address, clientOptions);
  if (address.kind === "socket") {
    throw new UserError("--token-file is for a URL; a socket asks for no token", "ADMIN_TOKEN_UNUSED");
  }
  return createAdminClient(address, { ...clientOptions, token: readToken(options.tokenFile) });
}

function readToken(file: string): string {
  const read = readRegularFile(file, MAX_TOKEN_FILE_OCTETS);
  if ("why" in read) throw new UserError(`--token-file ${file}: ${read.why}`, "ADMIN_TOKEN_FILE");
  const token = read.content.toString("latin1").trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new UserError(`--token-file ${file}: it holds no token of printable characters`, "ADMIN_TOKEN_FILE");
}

/** Where to look for the server, and what to do if it is not there, when there is more to say than usual. */
interface Place {
  readonly address: AdminAddress;
  readonly remedy?: string;
}

/**
 * What the configuration names, the socket before HTTP. Only the main file is read, and nothing but that is asked of
 * it: a server that runs can be reached while somebody is editing its zones.
 */
async function configuredPlace(given: string | undefined): Promise<Place> {
  const file = existingConfigFile(given);
  const usual: AdminAddress = { kind: "socket", path: DEFAULT_SOCKET };
  if (file === undefined) return { address: usual };
  const main = await readMain(file);
  if ("why" in main) {
    if (given !== undefined) throw new UserError(`--config ${file}: ${main.why}`, "CONFIG_UNREADABLE");
    const [why = ""] = main.why.split("\n");
    const remedy = `${file}, which says where the server is, cannot be read: ${why}. Mend it ("livezone check" says what is wrong), or name the place with --admin SOCKET|URL`;
    return { address: usual, remedy };
  }
  const admin = memberOf(main.value, "admin");
  const socket = memberOf(admin, "socket");
  if (typeof socket === "string" && socket !== "") {
    return { address: { kind: "socket", path: resolve(dirname(file), socket) } };
  }
  const http = memberOf(admin, "http");
  if (typeof http === "string" && URL.canParse(`http://${http}`)) {
    return { address: { kind: "http", url: reachable(http) } };
  }
  return {
    address: usual,
    remedy: `${file} has neither admin.socket nor admin.http, so its server cannot be asked. Add "admin: { socket: ${DEFAULT_SOCKET} }" to it and restart the server, or name another place with --admin SOCKET|URL`,
  };
}

/** What a main file holds, or why that cannot be told. */
async function readMain(file: string): Promise<{ readonly value: unknown } | { readonly why: string }> {
  const read = readRegularFile(file, MAX_MAIN_FILE_OCTETS);
  if ("why" in read) return read;
  // Not loaded for a command that is told where to look.
  const { parse } = await import("yaml");
  try {
    return { value: parse(read.content.toString("utf8")) };
  } catch (error) {
    return { why: messageOf(error).replace(/[.:]$/, "") };
  }
}

/** The URL of a listener; one on all addresses is asked on loopback. */
function reachable(http: string): URL {
  return new URL(`http://${http.replace(/^0\.0\.0\.0(?=:)/, "127.0.0.1").replace(/^\[::\](?=:)/, "[::1]")}`);
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

/** What the server refused, with its own code and words. */
export class RefusedError extends UserError {
  constructor(
    message: string,
    code: string,
    readonly problems: readonly string[],
  ) {
    super(message, code);
    this.name = "RefusedError";
  }
}

/**
 * Asks, and reads the reply by its schema.
 *
 * @throws RefusedError what the server refused; UserError when there is none, or it is of a version that says other
 * things
 */
export async function askAdmin<S extends z.ZodType>(
  client: AdminClient,
  schema: S,
  ...request: Parameters<AdminClient["ask"]>
): Promise<z.output<S>> {
  const { status, body, version } = await client.ask(...request);
  if (status === 200) {
    const parsed = schema.safeParse(body);
    if (parsed.success) {
      if (version !== undefined && version !== VERSION) noteVersion(version);
      return parsed.data;
    }
    throw strange(version, "its reply makes no sense to this program");
  }
  const refused = errorSchema.safeParse(body);
  if (!refused.success || version === undefined) throw strange(version, `it replied with HTTP ${status}`);
  const { code, message, problems = [] } = refused.data.error;
  if (version !== VERSION && code === "NO_SUCH_ROUTE") throw strange(version, "it does not know this command");
  throw new RefusedError(message, code, problems);
}

let isNoted = false;

function noteVersion(version: string): void {
  if (!isNoted) writeError(`livezone: the server is version ${version}, this program ${VERSION}\n`);
  isNoted = true;
}

function strange(version: string | undefined, why: string): UserError {
  if (version === undefined) {
    return new UserError(`what answers there is no livezone server: ${why}`, "ADMIN_NOT_LIVEZONE");
  }
  const remedy = version === VERSION ? "that is a defect of livezone" : "use the program of the server's version";
  return new UserError(
    `the server is version ${version}, this program ${VERSION}, and ${why}: ${remedy}`,
    "ADMIN_OTHER_VERSION",
  );
}

/** Who asks, for the record: the user's name. */
export function author(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry, as in a container.
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}

/** The path of a target's route. */
export function targetPath(endpoint: string, target: string, action?: string): string {
  const path = `/api/v1/endpoints/${encodeURIComponent(endpoint)}/targets/${encodeURIComponent(target)}`;
  return action === undefined ? path : `${path}/${action}`;
}

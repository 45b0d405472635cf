import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { resolve } from "node:path";
import { codeOf, messageOf, UserError } from "../lib/errors.js";

/** Where a server's admin API is. */
export type AdminAddress =
  | { readonly kind: "socket"; readonly path: string }
  | { readonly kind: "http"; readonly url: URL };

/** What the server said, whatever the status. */
export interface AdminReply {
  readonly status: number;
  /** JSON as it came: not checked yet. */
  readonly body: unknown;
  /** Version of the server; absent when something else answered. */
  readonly version?: string;
}

/** One event as it came: not checked yet. */
export interface RawEvent {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
}

export interface AdminClientOptions {
  /** Bearer token, by HTTP only. */
  readonly token?: string;
  /** Milliseconds until a reply must be there whole. Default 10,000. */
  readonly timeoutMs?: number;
  /** What to do when no server is there, as the end of a sentence. Default: start it, or name another place. */
  readonly remedy?: string;
}

/** Asks a server's admin API. */
export interface AdminClient {
  readonly address: AdminAddress;
  /** @throws UserError if no reply comes: it says where the server was looked for */
  ask(method: "GET" | "POST", path: string, body?: object): Promise<AdminReply>;
  /**
   * Events as they happen, until `signal` or the server ends it.
   *
   * @param since id of the newest event that is known
   * @throws UserError if the server cannot be reached or refuses
   */
  events(signal: AbortSignal, since?: string): AsyncGenerator<RawEvent>;
}

/** Largest reply, in octets: the status of 100,000 targets has some 40 MB. */
const MAX_REPLY_OCTETS = 64 * 1024 * 1024;

/** Longest beginning of a line that is kept of the stream of events, in characters; an event has below 100 KiB. */
const MAX_LINE = 1024 * 1024;

/**
 * Reads what `--admin` says: a URL, or the path of a socket.
 *
 * @throws UserError if it is neither
 */
export function parseAdminAddress(text: string): AdminAddress {
  if (/^https?:\/\//i.test(text)) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url !== undefined && url.username === "" && url.search === "" && url.hash === "") return { kind: "http", url };
    throw new UserError(`--admin ${text}: write a URL such as http://127.0.0.1:9853`, "ADMIN_ADDRESS");
  }
  const path = text.replace(/^unix:/, "");
  if (path === "" || /^(?!unix:\/\/\/)[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    throw new UserError(`--admin ${text}: write the path of a socket, or a URL with http or https`, "ADMIN_ADDRESS");
  }
  return { kind: "socket", path: resolve(path) };
}

/** An address as it is shown to people. */
export function formatAdminAddress(address: AdminAddress): string {
  return address.kind === "socket" ? address.path : address.url.href;
}

/** Begins with no connection; each question has one of its own. */
export function createAdminClient(address: AdminAddress, options: AdminClientOptions = {}): AdminClient {
  const { token, timeoutMs = 10_000, remedy } = options;

  function send(method: string, path: string, settings: RequestOptions): ClientRequest {
    const headers = {
      ...settings.headers,
      ...(token === undefined || address.kind === "socket" ? {} : { authorization: `Bearer ${token}` }),
    };
    if (address.kind === "socket") {
      return requestHttp({
        ...settings,
        method,
        path,
        headers: { ...headers, host: "localhost" },
        socketPath: address.path,
      });
    }
    const base = address.url.pathname.replace(/\/$/, "");
    const url = new URL(`${base}${path}`, address.url);
    return (url.protocol === "https:" ? requestHttps : requestHttp)(url, { ...settings, method, headers });
  }

  function reply(request: ClientRequest, body?: string): Promise<IncomingMessage> {
    return new Promise((done, fail) => {
      request.once("response", done);
      request.on("error", (error) => fail(unreachable(address, error, remedy)));
      request.end(body);
    });
  }

  return {
    address,
    async ask(method, path, body) {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const signal = AbortSignal.timeout(timeoutMs);
      const headers =
        text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
      const response = await reply(send(method, path, { headers, signal, agent: false }), text);
      const chunks: Buffer[] = [];
      let octets = 0;
      try {
        for await (const chunk of response as AsyncIterable<Buffer>) {
          octets += chunk.length;
          if (octets > MAX_REPLY_OCTETS) throw new Error(`the reply has more than ${MAX_REPLY_OCTETS} octets`);
          chunks.push(chunk);
        }
      } catch (error) {
        // A reply that is broken off because its time is over looks like a connection that was closed.
        throw unreachable(address, signal.aborted ? signal.reason : error, remedy);
      }
      const version = response.headers["livezone-version"];
      return {
        status: response.statusCode ?? 0,
        body: parseJson(Buffer.concat(chunks).toString("utf8")),
        ...(typeof version === "string" ? { version } : {}),
      };
    },
    async *events(signal, since) {
      const headers = { accept: "text/event-stream", ...(since === undefined ? {} : { "last-event-id": since }) };
      const response = await reply(send("GET", "/api/v1/events", { headers, signal, agent: false }));
      if (response.statusCode !== 200) {
        response.destroy();
        throw new UserError(`the server does not give its events: HTTP ${response.statusCode}`, "ADMIN_EVENTS_REFUSED");
      }
      yield* readEvents(response, signal);
    },
  };
}

async function* readEvents(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<RawEvent> {
  // Whoever breaks the connection off ends the stream; there is nothing else to tell.
  response.on("error", () => {});
  response.setEncoding("utf8");
  let fields: Record<string, string> = {};
  for await (const line of linesOf(response)) {
    if (signal.aborted) return;
    const [, name = "", value = ""] = /^(id|event|data): (.*)$/.exec(line) ?? [];
    if (name !== "") fields[name] = value;
    if (line !== "" || fields.event === undefined) continue;
    yield { id: fields.id ?? "", type: fields.event, data: parseJson(fields.data ?? "") };
    fields = {};
  }
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE) return;
      yield* lines;
    }
  } catch {
    // The connection has ended.
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Why there is no reply, in one line that names the place. */
function unreachable(
  address: AdminAddress,
  error: unknown,
  remedy = "is it running? Name another place with --admin SOCKET|URL",
): UserError {
  const where = formatAdminAddress(address);
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: `there is no socket; ${remedy}`,
    ECONNREFUSED: `nothing listens there; ${remedy}`,
    ENOTSOCK: "that is no socket",
    EACCES: "no permission: be its owner or in its group",
    ENOTFOUND: "no such host",
    ECONNRESET: "the connection was closed before a reply",
    ABORT_ERR: "no reply in time",
  };
  const code = codeOf(error);
  const isTimeout = error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
  const why = reasons[isTimeout ? "ABORT_ERR" : code] ?? messageOf(error);
  return new UserError(`no livezone server at ${where}: ${why}`, "ADMIN_UNREACHABLE", { cause: error });
}

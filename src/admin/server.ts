import type { IncomingMessage } from "node:http";
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Registry } from "prom-client";
import { z } from "zod";
import { messageOf, UserError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { type Denial, judgeHost, judgeToken } from "./authorization.js";
import type { EventLog } from "./event-ring.js";
import type { EventStreams } from "./event-stream.js";
import { openApiText } from "./openapi.js";
import { STATUS_PAGE } from "./page.js";
import { BadDuration, type Entry, ROUTES, type Route } from "./routes.js";
import { type AdminService, REFUSALS, ReloadRefusedError } from "./service.js";

/** What the routes read and tell. */
export interface AdminSource {
  readonly service: AdminService;
  readonly registry: Registry;
  readonly events: EventLog;
  readonly streams: EventStreams;
  readonly log: Logger;
  /** Called once for every reply. */
  requestServed(request: { readonly entry: Entry; readonly status: number }): void;
}

/** How requests come in, and what they may do. */
export interface EntryPoint {
  readonly entry: Entry;
  /** HTTP: file with the token that lets a request change state; absent = none may. */
  readonly tokenFile?: string;
  /** HTTP: names in the Host header that are right besides the usual ones; lower case. */
  readonly hostNames?: readonly string[];
  /** Milliseconds until a request must be there whole, and until an idle connection is closed. Default 10,000. */
  readonly patienceMs?: number;
}

/** Octets of a request's body: the longest right one has below 600. */
const MAX_BODY_OCTETS = 4_096;

/** Characters of a path that are logged. */
const MAX_LOGGED_PATH = 200;

/** Connections at once on one way in, streams of events among them. */
const MAX_CONNECTIONS = 1_500;

/** The header by which clients learn the server's version. */
const VERSION_HEADER = "livezone-version";

/** Sets up the routes for one way in; the caller makes it listen. */
export async function createAdminServer(source: AdminSource, point: EntryPoint): Promise<FastifyInstance> {
  const { patienceMs = 10_000 } = point;
  const server = Fastify({
    bodyLimit: MAX_BODY_OCTETS,
    forceCloseConnections: true,
    connectionTimeout: patienceMs,
    requestTimeout: patienceMs,
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: 255 },
    frameworkErrors: (error, _request, reply) => sendError(reply, 400, "BAD_REQUEST", error.message),
  });
  server.server.maxConnections = MAX_CONNECTIONS;

  const tellOfToken = tellingOfToken(source.log, point);
  server.addHook("onRequest", async (request, reply) => {
    reply.header(VERSION_HEADER, source.service.version);
    reply.header("x-content-type-options", "nosniff");
    reply.header("cache-control", "no-store");
    const denial = judge(request, point);
    tellOfToken(denial);
    if (denial !== undefined) return deny(reply, denial);
  });
  server.addHook("onResponse", async (request, reply) => {
    const { statusCode: status, elapsedTime } = reply;
    source.requestServed({ entry: point.entry, status });
    source.log.debug(
      {
        entry: point.entry,
        method: request.method,
        path: request.url.slice(0, MAX_LOGGED_PATH),
        status,
        tookMs: Math.round(elapsedTime),
        ...(point.entry === "http" ? { from: request.ip } : {}),
      },
      "admin request served",
    );
  });
  server.setNotFoundHandler((_request, reply) =>
    sendError(reply, 404, "NO_SUCH_ROUTE", "there is nothing here; /openapi.json lists what there is"),
  );
  server.setErrorHandler((error: FastifyError | UserError, request, reply) =>
    answerError(error, request, reply, source.log),
  );

  addPlainRoutes(server, source);
  for (const route of ROUTES) addRoute(server, source, point, route);
  await server.ready();
  return server;
}

/** Methods that change nothing. */
const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** What simple monitors ask for. */
const MONITORED = ["/livez", "/readyz", "/metrics"] as const;

/** In this order: whom it is for, then whether it may. */
function judge({ method, headers, url, raw }: FastifyRequest, point: EntryPoint): Denial | undefined {
  // No browser comes by the socket, and its file permissions are the authorization.
  if (point.entry === "socket") return undefined;
  // HTTP/1.0 asks for no Host header; a browser, which is what the header is judged for, always sends one.
  const isMonitored = MONITORED.some((path) => path === url);
  const isReading = READING.has(method) || (isMonitored && method === "OPTIONS");
  if (isMonitored && isReading && headers.host === undefined && raw.httpVersion === "1.0") return undefined;
  const stranger = judgeHost(headers.host, point.hostNames ?? []);
  if (stranger !== undefined || isReading) return stranger;
  return judgeToken(headers.authorization, point.tokenFile);
}

/** Logs what is wrong with the token file, once until it is another thing: anybody can cause such requests. */
function tellingOfToken(log: Logger, { tokenFile }: EntryPoint): (denial: Denial | undefined) => void {
  let told: string | undefined;
  return (denial) => {
    const problem = denial?.problem;
    if (problem === undefined || problem === told) return;
    told = problem;
    log.warn({ file: tokenFile, problem }, "token file cannot be used");
  };
}

function deny(reply: FastifyReply, { status, code, message }: Denial): FastifyReply {
  if (status === 401) reply.header("www-authenticate", 'Bearer realm="livezone"');
  return sendError(reply, status, code, message);
}

function sendError(
  reply: FastifyReply,
  status: number,
  code: string,
  message: string,
  problems?: readonly string[],
): FastifyReply {
  return reply
    .code(status)
    .type("application/json")
    .send({ error: { code, message, ...(problems === undefined ? {} : { problems }) } });
}

/** Codes of what the HTTP library refuses, by status. */
const HTTP_CODES: Readonly<Record<number, string>> = {
  413: "BODY_TOO_LARGE",
  415: "NOT_JSON",
};

function answerError(
  error: FastifyError | UserError,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): FastifyReply {
  if (error instanceof UserError) {
    if (error.code === "CLIENT_GONE") return refuseGone(reply, log, request.url);
    const refused = Object.entries(REFUSALS).find(([code]) => code === error.code)?.[1];
    const problems = error instanceof ReloadRefusedError ? error.problems : undefined;
    if (refused !== undefined) return sendError(reply, refused, error.code, error.message, problems);
  }
  if (error instanceof BadDuration) return sendError(reply, 400, "BAD_REQUEST", error.message);
  const status = ("statusCode" in error ? error.statusCode : undefined) ?? 500;
  if (status >= 400 && status < 500) {
    return sendError(reply, status, HTTP_CODES[status] ?? "BAD_REQUEST", error.message);
  }
  log.error({ error: messageOf(error), stack: error.stack, path: request.url }, "admin request failed");
  return sendError(reply, 500, "INTERNAL", "that is a defect of livezone; its log says more");
}

/** Routes that do not take and give JSON. */
function addPlainRoutes(server: FastifyInstance, source: AdminSource): void {
  server.get("/", (_request, reply) =>
    reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", STATUS_PAGE.policy)
      .header("referrer-policy", "no-referrer")
      .header("cross-origin-opener-policy", "same-origin")
      .send(STATUS_PAGE.html),
  );
  server.get("/livez", (_request, reply) => reply.type("text/plain").send("ok\n"));
  server.get("/readyz", (_request, reply) => {
    const isReady = source.service.isReady();
    return reply
      .code(isReady ? 200 : 503)
      .type("text/plain")
      .send(isReady ? "ok\n" : "waiting for the first round of probes\n");
  });
  server.get("/metrics", async (_request, reply) =>
    reply.type(source.registry.contentType).send(await source.registry.metrics()),
  );
  for (const path of MONITORED) {
    server.options(path, (_request, reply) => reply.code(204).header("allow", "GET, HEAD, OPTIONS").send());
  }
  server.get("/openapi.json", (_request, reply) => reply.type("application/json").send(openApiText()));
  const noHead = { exposeHeadRoute: false };
  server.get<{ Querystring: { since?: string | string[] } }>("/api/v1/events", noHead, (request, reply) => {
    const { since } = request.query;
    const lastId = request.headers["last-event-id"] ?? since;
    if (!source.streams.open(reply.raw, lastId === undefined ? undefined : String(lastId))) {
      sendError(reply, 503, "TOO_MANY_SUBSCRIBERS", "too many read the events already; come back later");
      return;
    }
    reply.hijack();
  });
}

function addRoute(server: FastifyInstance, source: AdminSource, point: EntryPoint, route: Route): void {
  server.route<{ Params: { endpoint?: string; target?: string } }>({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ":$1"),
    async handler({ params, body, raw }, reply) {
      const parsed = (route.body ?? z.unknown()).safeParse(body ?? {});
      if (!parsed.success) return sendError(reply, 400, "BAD_REQUEST", explain(parsed.error));
      const name = { endpoint: nameOf(params.endpoint), target: nameOf(params.target) };
      const { author, local } = parsed.data as { author?: string; local?: boolean };
      const signal = route.method === "POST" ? await whileThere(raw) : undefined;
      if (signal?.aborted === true) return refuseGone(reply, source.log, raw.url);
      const given = await route.handle({
        service: source.service,
        name,
        body: parsed.data,
        by: {
          author: author === undefined || author === "" ? point.entry : author,
          ...(local === true ? { isLocal: true } : {}),
          ...(signal === undefined ? {} : { signal }),
        },
      });
      const added = ADDED[route.operation];
      return added === undefined ? given : { ...(given as object), ...added(source, point) };
    },
  });
}

/** Says in the log that a request was not carried out; whoever asked does not hear it. */
function refuseGone(reply: FastifyReply, log: Logger, url = ""): FastifyReply {
  log.warn({ path: url.slice(0, MAX_LOGGED_PATH) }, "request not carried out, its client has gone");
  return sendError(reply, REFUSALS.CLIENT_GONE, "CLIENT_GONE", "whoever asked for it is not there any more");
}

/**
 * A signal that is aborted once the client has gone. A request may have waited while the process did not run, and its client
 * have given up meanwhile: the end of the connection is read behind the request, so the event loop gets to see it first.
 */
async function whileThere({ socket }: IncomingMessage): Promise<AbortSignal> {
  const gone = new AbortController();
  const abort = (): void => gone.abort();
  socket.once("end", abort);
  socket.once("close", abort);
  await new Promise<void>((resolve) => void setImmediate(resolve));
  if (socket.readableEnded || socket.destroyed) abort();
  return gone.signal;
}

/** Events that the history holds. */
const HISTORY_EVENTS = 100;

/** What only the admin layer knows, by the route whose reply it belongs to. */
const ADDED: Readonly<Record<string, (source: AdminSource, point: EntryPoint) => object>> = {
  status: (source, point) => ({
    writable: point.entry === "socket" || point.tokenFile !== undefined,
    lastEventId: source.events.lastId,
  }),
  history: (source) => ({ events: source.events.newest(HISTORY_EVENTS) }),
};

function nameOf(text: string | undefined): string {
  return (text ?? "").toLowerCase().replace(/\.$/, "");
}

/** The first thing that is wrong with a body, in one sentence. */
function explain({ issues }: z.ZodError): string {
  const [issue] = issues;
  const where = issue?.path.join(".") ?? "";
  return `${where === "" ? "the body" : where}: ${issue?.message ?? "is not right"}`;
}

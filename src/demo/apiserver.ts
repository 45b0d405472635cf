/**
 * A stand-in kube-apiserver, run as a process of its own by `apiserver-process.ts`, so that it can be killed and
 * stopped like a real one. It does what an anonymous prober sees of kube-apiserver v1.36 and nothing more:
 *
 * - GET of exactly `/readyz`, `/livez`, `/healthz` (with `?verbose`) and `/version`; anything else is 403.
 * - HTTP/1.1 over TLS 1.2 and 1.3; an idle connection is closed after 90 s, one without a request after 32 s.
 * - After SIGTERM `/readyz` is 500 at once and names `shutdown`; everything is served until the delay is over.
 * - It ends with its parent: when the channel closes, it exits.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { ApiserverOrder, ApiserverReport, ApiserverSettings } from "./apiserver-messages.js";

/** kube-apiserver closes a kept-alive HTTP/1.1 connection after 90 s without a request. */
const KEEP_ALIVE_MS = 90_000;

/** kube-apiserver closes a connection that has not sent a whole request (or finished TLS) after 32 s. */
const FIRST_REQUEST_MS = 32_000;

/** Checks that `?verbose` lists, in kube-apiserver's order; `shutdown` is on `/readyz` only, and last. */
const CHECKS = ["ping", "log", "etcd", "informer-sync", "poststarthook/start-apiextensions-controllers"];

interface State {
  server?: Server;
  /** Readiness checks that fail by order. */
  failing: readonly string[];
  shuttingDown: boolean;
  shutdownDelayMs: number;
}

const state: State = { failing: [], shuttingDown: false, shutdownDelayMs: 0 };

function answer(request: IncomingMessage, response: ServerResponse): void {
  const [target = "", query = ""] = (request.url ?? "").split("?", 2);
  const path = request.method === "GET" ? target : "";
  const verbose = new URLSearchParams(query).has("verbose");
  if (path === "/readyz") answerCheck(response, "readyz", verbose, [...CHECKS, "shutdown"], failingNow());
  else if (path === "/livez") answerCheck(response, "livez", verbose, CHECKS, []);
  else if (path === "/healthz") answerCheck(response, "healthz", verbose, CHECKS, []);
  else if (path === "/version") answerJson(response, 200, VERSION);
  else forbid(request, response, target);
}

function failingNow(): readonly string[] {
  return state.shuttingDown ? [...state.failing, "shutdown"] : state.failing;
}

/** Failing checks are always listed; passing ones only where `verbose` asks for them or another one fails. */
function answerCheck(
  response: ServerResponse,
  name: "readyz" | "livez" | "healthz",
  verbose: boolean,
  checks: readonly string[],
  failing: readonly string[],
): void {
  const passed = failing.length === 0;
  const all = [...checks, ...failing.filter((check) => !checks.includes(check))];
  const lines = all.map((check) =>
    failing.includes(check) ? `[-]${check} failed: reason withheld\n` : `[+]${check} ok\n`,
  );
  const list = `${lines.join("")}${name} check ${passed ? "passed" : "failed"}\n`;
  send(response, passed ? 200 : 500, "text/plain; charset=utf-8", passed && !verbose ? "ok" : list);
}

function forbid(request: IncomingMessage, response: ServerResponse, path: string): void {
  const verb = (request.method ?? "GET").toLowerCase();
  answerJson(response, 403, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `forbidden: User "system:anonymous" cannot ${verb} path "${path}"`,
    reason: "Forbidden",
    details: {},
    code: 403,
  });
}

const VERSION = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.3",
  gitCommit: "0000000000000000000000000000000000000000",
  gitTreeState: "clean",
  buildDate: "2026-01-01T00:00:00Z",
  goVersion: "go1.25.0",
  compiler: "gc",
  platform: "linux/amd64",
};

function answerJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, "application/json", JSON.stringify(body, undefined, 2));
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, {
    "Audit-Id": crypto.randomUUID(),
    "Cache-Control": "no-cache, private",
    "Content-Type": contentType,
    "X-Content-Type-Options": "nosniff",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}

async function listen(settings: ApiserverSettings): Promise<void> {
  state.failing = settings.failing;
  state.shutdownDelayMs = settings.shutdownDelayMs;
  const server = createServer(
    {
      cert: settings.certPem,
      key: settings.keyPem,
      minVersion: "TLSv1.2",
      ALPNProtocols: ["http/1.1"],
      handshakeTimeout: FIRST_REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: FIRST_REQUEST_MS,
      connectionsCheckingInterval: 1_000,
    },
    answer,
  );
  // A client that breaks off a handshake or a request is the client's affair, as in kube-apiserver.
  server.on("tlsClientError", () => {});
  server.on("clientError", (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(settings.port, settings.address, resolve);
  });
  state.server = server;
}

async function carryOut(order: ApiserverOrder): Promise<number> {
  switch (order.kind) {
    case "start":
      await listen(order.settings);
      break;
    case "ready":
      state.failing = order.failing;
      break;
    case "certificate":
      state.server?.setSecureContext({ cert: order.certPem, key: order.keyPem, minVersion: "TLSv1.2" });
      break;
  }
  const address = state.server?.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function report(message: ApiserverReport): void {
  if (process.connected) process.send?.(message);
}

if (process.send === undefined) {
  process.stderr.write("This is a part of `livezone demo`, which starts it; it does nothing by itself.\n");
  process.exitCode = 2;
} else {
  process.on("message", (order: ApiserverOrder) => {
    carryOut(order).then(
      (port) => report({ id: order.id, ok: true, port }),
      (error: NodeJS.ErrnoException) =>
        report({ id: order.id, ok: false, code: error.code ?? "", message: error.message }),
    );
  });
  process.on("disconnect", () => process.exit(0));
  // Ctrl-C goes to the whole group of processes; the parent decides what comes of it.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => {
    state.shuttingDown = true;
    setTimeout(() => process.exit(0), state.shutdownDelayMs);
  });
}

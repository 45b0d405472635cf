import { type ClientRequest, type IncomingMessage, request, validateHeaderValue } from "node:http";
import { connect, isIPv6, type Socket } from "node:net";
import type { HttpProbeConfig, HttpRequestConfig } from "../../config/config.js";
import type { Attempt } from "./attempt.js";
import { classifyError } from "./classify.js";
import type { ProbeFiles } from "./files.js";
import { judgeHead, judgeResponse, type ResponseHead } from "./response.js";

/**
 * Most octets of a response body that are read; past it the status alone decides. A kube-apiserver's list of
 * checks is about 2 KiB.
 */
const MAX_BODY_OCTETS = 64 * 1024;

/** Most octets of a response's head; a kube-apiserver's is about 400. Past it: `malformed-response`. */
const MAX_HEAD_OCTETS = 16 * 1024;

/** Asks over plain HTTP. */
export async function probeHttp(
  address: string,
  config: HttpProbeConfig,
  files: ProbeFiles,
  attempt: Attempt,
): Promise<void> {
  const token = await files.token(config.bearerTokenFile);
  if (attempt.ended) return;
  const socket = connect({ host: address, port: config.port });
  attempt.onEnd(() => socket.destroy());
  socket.on("error", (error) => endWithError(attempt, error));
  socket.once(
    "connect",
    attempt.guard(() => exchange(socket, config, 80, token, attempt)),
  );
}

/**
 * Sends the request over a connection that is ready for it, and judges what comes back. One request, HTTP/1.1,
 * no redirect followed; the connection is closed in an orderly way after a complete response.
 *
 * @param defaultPort port that the Host header leaves out
 */
export function exchange(
  socket: Socket,
  config: HttpRequestConfig,
  defaultPort: number,
  token: string | undefined,
  attempt: Attempt,
): void {
  attempt.waitFor("response", "response");
  const outgoing = requestOver(socket, config, defaultPort, token);
  outgoing.on("error", (error) => endWithError(attempt, error));
  // Whatever Node makes of a connection that ends before a response, it ends with this.
  outgoing.on("close", () => attempt.end("reset", `connection closed by the server before the ${attempt.awaited}`));
  outgoing.on("upgrade", (response) => {
    attempt.end("unexpected-status", `status ${response.statusCode}: the server wants another protocol`);
  });
  outgoing.on(
    "response",
    attempt.guard((response: IncomingMessage) => receive(response, socket, config, attempt)),
  );
  outgoing.end();
}

/** A request that is not sent yet; without an agent, which would keep connections. */
function requestOver(
  socket: Socket,
  config: HttpRequestConfig,
  defaultPort: number,
  token: string | undefined,
): ClientRequest {
  return request({
    createConnection: () => socket,
    path: config.path,
    // The peer closes, so that neither an idle connection nor a TIME_WAIT stays behind here.
    headers: requestHeaders(config, defaultPort, token, "close"),
    maxHeaderSize: MAX_HEAD_OCTETS,
  });
}

function receive(response: IncomingMessage, socket: Socket, config: HttpRequestConfig, attempt: Attempt): void {
  const head: ResponseHead = { status: response.statusCode ?? 0, location: response.headers.location };
  const early = judgeHead(head, config);
  if (early !== undefined) {
    attempt.end(early.class, early.reason);
    return;
  }
  attempt.waitFor("response", "complete response");
  let body = "";
  const judge = () => {
    const { class: resultClass, reason } = judgeResponse(head, body, config);
    attempt.end(resultClass, reason);
  };
  response.setEncoding("latin1");
  response.on("error", (error) => endWithError(attempt, error));
  response.on(
    "data",
    attempt.guard((text: string) => {
      body += text;
      if (body.length > MAX_BODY_OCTETS) judge();
    }),
  );
  response.on(
    "end",
    attempt.guard(() => {
      if (!response.complete) return;
      // Ends TLS with its closing alert instead of cutting it off, which some servers would log.
      socket.end();
      judge();
    }),
  );
}

/**
 * A whole request, as it goes over the wire.
 *
 * @param connection what to do with the connection afterwards
 * @throws if something in it is not fit for a request; the message holds no secret
 */
export function requestText(
  config: HttpRequestConfig,
  defaultPort: number,
  token: string | undefined,
  connection: "close" | "keep-alive",
): string {
  // A path or a token with a line break in it would be another request.
  if (!/^\/[\x21-\x7e]*$/.test(config.path)) throw new RangeError("the path has characters that no request can carry");
  let lines = "";
  const headers = requestHeaders(config, defaultPort, token, connection);
  for (let at = 0; at < headers.length; at += 2) {
    const [name = "", value = ""] = headers.slice(at, at + 2);
    validateHeaderValue(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return `GET ${config.path} HTTP/1.1\r\n${lines}\r\n`;
}

/** Names and values in turn, as they go over the wire. */
function requestHeaders(
  config: HttpRequestConfig,
  defaultPort: number,
  token: string | undefined,
  connection: "close" | "keep-alive",
): readonly string[] {
  const headers = [
    "Host",
    hostHeader(config, defaultPort),
    "User-Agent",
    "livezone-probe",
    "Accept",
    "*/*",
    "Connection",
    connection,
  ];
  if (token !== undefined) headers.push("Authorization", `Bearer ${token}`);
  return headers;
}

function endWithError(attempt: Attempt, error: Error): void {
  const { class: resultClass, reason } = classifyError(error, attempt.awaited);
  attempt.end(resultClass, reason);
}

function hostHeader(config: HttpRequestConfig, defaultPort: number): string {
  const host = isIPv6(config.serverName) ? `[${config.serverName}]` : config.serverName;
  return config.port === defaultPort ? host : `${host}:${config.port}`;
}

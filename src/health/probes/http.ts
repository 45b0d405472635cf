import { type IncomingMessage, request, validateHeaderValue } from "node:http";
import { connect, isIPv6, type Socket } from "node:net";
import { Duplex } from "node:stream";
import type { HttpProbeConfig, HttpRequestConfig } from "../../config/config.js";
import type { Attempt } from "./attempt.js";
import { classifyError } from "./classify.js";
import type { ProbeFiles } from "./files.js";
import { judgeHead, judgeResponse, readWholeResponse } from "./response.js";

/**
 * Most octets of a response body that are read; past it the status alone decides. A kube-apiserver's list of
 * checks is about 2 KiB.
 */
export const MAX_BODY_OCTETS = 64 * 1024;

/** Most octets of a response's head; a kube-apiserver's is about 400. Past it: `malformed-response`. */
export const MAX_HEAD_OCTETS = 16 * 1024;

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
 * What a healthy apiserver answers comes in one piece and is read here, which saves a fifth of the work of a probe;
 * anything else is left to Node's parser.
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
  // The peer closes, so that neither an idle connection nor a TIME_WAIT stays behind here.
  socket.write(requestText(config, defaultPort, token, "close"));
  const onClose = () => attempt.end("reset", `connection closed by the server before the ${attempt.awaited}`);
  socket.once("close", onClose);
  socket.once(
    "data",
    attempt.guard((first: Buffer) => {
      socket.off("close", onClose);
      const whole = readWholeResponse(first);
      if (whole === undefined || judgeHead(whole.head, config) !== undefined) {
        parse(replay(socket, first), config, attempt);
        return;
      }
      // Ends TLS with its closing alert instead of cutting it off, which some servers would log.
      socket.end();
      const { class: resultClass, reason } = judgeResponse(whole.head, whole.body, config);
      attempt.end(resultClass, reason);
    }),
  );
}

/** A connection on which the request has been sent already, and the beginning of the response been read. */
function replay(socket: Socket, first: Buffer): Duplex {
  const stream = new Duplex({
    read() {},
    write(_chunk, _encoding, done) {
      done();
    },
    final(done) {
      socket.end(done);
    },
  });
  stream.push(first);
  let isOver = false;
  const end = () => {
    if (!isOver) stream.push(null);
    isOver = true;
  };
  socket.on("data", (chunk) => stream.push(chunk));
  socket.once("end", end);
  socket.once("close", end);
  socket.once("error", (error) => stream.destroy(error));
  return stream;
}

/** Lets Node's parser make sense of what comes over a connection on which the request has been sent. */
function parse(stream: Duplex, config: HttpRequestConfig, attempt: Attempt): void {
  const outgoing = request({ createConnection: () => stream, maxHeaderSize: MAX_HEAD_OCTETS });
  attempt.onEnd(() => outgoing.destroy());
  outgoing.on("error", (error) => endWithError(attempt, error));
  // Whatever Node makes of a connection that ends before a response, it ends with this.
  outgoing.on("close", () => attempt.end("reset", `connection closed by the server before the ${attempt.awaited}`));
  outgoing.on("upgrade", (response) => {
    attempt.end("unexpected-status", `status ${response.statusCode}: the server wants another protocol`);
  });
  outgoing.on(
    "response",
    attempt.guard((response: IncomingMessage) => receive(response, stream, config, attempt)),
  );
  outgoing.end();
}

function receive(response: IncomingMessage, stream: Duplex, config: HttpRequestConfig, attempt: Attempt): void {
  const head = { status: response.statusCode ?? 0, location: response.headers.location };
  const early = judgeHead(head, config);
  if (early !== undefined) {
    attempt.end(early.class, early.reason);
    return;
  }
  attempt.waitFor("response", "complete response");
  const chunks: Buffer[] = [];
  let octets = 0;
  const judge = () => {
    const { class: resultClass, reason } = judgeResponse(head, Buffer.concat(chunks).toString("latin1"), config);
    attempt.end(resultClass, reason);
  };
  response.on("error", (error) => endWithError(attempt, error));
  response.on(
    "data",
    attempt.guard((chunk: Buffer) => {
      chunks.push(chunk);
      octets += chunk.length;
      if (octets > MAX_BODY_OCTETS) judge();
    }),
  );
  response.on(
    "end",
    attempt.guard(() => {
      if (!response.complete) return;
      // Ends TLS with its closing alert instead of cutting it off, which some servers would log.
      stream.end();
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
  const headers = Object.entries(requestHeaders(config, defaultPort, token, connection));
  const lines = headers.map(([name, value]) => {
    validateHeaderValue(name, value);
    return `${name}: ${value}\r\n`;
  });
  return `GET ${config.path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

function requestHeaders(
  config: HttpRequestConfig,
  defaultPort: number,
  token: string | undefined,
  connection: "close" | "keep-alive",
): Readonly<Record<string, string>> {
  return {
    Host: hostHeader(config, defaultPort),
    "User-Agent": "livezone-probe",
    Accept: "*/*",
    Connection: connection,
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
  };
}

function endWithError(attempt: Attempt, error: Error): void {
  const { class: resultClass, reason } = classifyError(error, attempt.awaited);
  attempt.end(resultClass, reason);
}

function hostHeader(config: HttpRequestConfig, defaultPort: number): string {
  const host = isIPv6(config.serverName) ? `[${config.serverName}]` : config.serverName;
  return config.port === defaultPort ? host : `${host}:${config.port}`;
}

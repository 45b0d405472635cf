import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import { type DnsMessage, type DnsQuestion, encodeQuery, parseMessage } from "./dns-message.js";

/** Whom to ask, and how. */
export interface DnsServer {
  /** IPv4 or IPv6 literal. */
  readonly server: string;
  readonly port: number;
  /** Default `udp`. A truncated UDP answer is returned as it is, not asked again over TCP. */
  readonly transport?: "udp" | "tcp";
  /** Milliseconds to wait for an answer. Default 2 000. */
  readonly timeoutMs?: number;
}

/** Asks one question and parses the answer. Rejects when there is none in time. */
export async function ask(request: DnsServer & DnsQuestion): Promise<DnsMessage> {
  const query = encodeQuery(request);
  const reply = await askRaw({ ...request, bytes: query });
  if (reply === undefined) {
    throw new Error(`${request.server}:${request.port} did not answer ${request.name} ${request.type ?? "A"} in time`);
  }
  const message = parseMessage(reply);
  if (message.id !== query.readUInt16BE(0)) throw new Error(`the answer's id ${message.id} is not the query's`);
  return message;
}

/** The rdata of all answers of the question's own type, sorted: what most tests compare. */
export async function askForAddresses(request: DnsServer & DnsQuestion): Promise<string[]> {
  const { answers } = await ask(request);
  return answers
    .filter(({ type }) => type === (request.type ?? "A"))
    .map(({ rdata }) => rdata)
    .sort();
}

/**
 * Sends octets and returns the first message that comes back, or undefined when none does in time or the server
 * closes the connection. Rejects when nothing listens there.
 */
export function askRaw(request: DnsServer & { readonly bytes: Uint8Array }): Promise<Buffer | undefined> {
  return request.transport === "tcp" ? askTcp(request) : askUdp(request);
}

function askUdp(request: DnsServer & { readonly bytes: Uint8Array }): Promise<Buffer | undefined> {
  const { server, port, bytes, timeoutMs = 2_000 } = request;
  return new Promise((resolve, reject) => {
    const socket = createSocket(isIPv6(server) ? "udp6" : "udp4");
    const timer = setTimeout(() => finish(() => resolve(undefined)), timeoutMs);
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.close();
      settle();
    };
    socket.once("error", (error) => finish(() => reject(error)));
    socket.once("message", (message) => finish(() => resolve(message)));
    // Connected, so that only the server's own address can answer and a closed port is an error at once.
    socket.once("connect", () => socket.send(bytes));
    socket.connect(port, server);
  });
}

function askTcp(request: DnsServer & { readonly bytes: Uint8Array }): Promise<Buffer | undefined> {
  const { server, port, bytes, timeoutMs = 2_000 } = request;
  return new Promise((resolve, reject) => {
    const socket = connect(port, server);
    const timer = setTimeout(() => finish(() => resolve(undefined)), timeoutMs);
    let received = Buffer.alloc(0);
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      socket.removeAllListeners();
      // An error after this (a reset, say) has nobody left to tell.
      socket.on("error", () => {});
      socket.destroy();
      settle();
    };
    socket.once("error", (error) => finish(() => reject(error)));
    socket.once("close", () => finish(() => resolve(undefined)));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      const length = received.length < 2 ? Number.POSITIVE_INFINITY : received.readUInt16BE(0);
      if (received.length >= length + 2) finish(() => resolve(received.subarray(2, length + 2)));
    });
    const prefix = Buffer.alloc(2);
    prefix.writeUInt16BE(bytes.length);
    socket.write(Buffer.concat([prefix, bytes]));
  });
}

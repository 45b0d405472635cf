import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { codeOf, messageOf, UserError } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import { MAX_UDP_REPLY_OCTETS, typeNumber } from "../wire/constants.js";
import { lowerName, type Name, parseName } from "../wire/name.js";
import { encodeQuery } from "./query.js";
import { type Reply, readReply } from "./reply.js";

/** What is asked, of whom. */
export interface Asking {
  readonly server: SocketAddress;
  /** Absolute, with or without the trailing dot. */
  readonly name: string;
  /** `A`, `AAAA`, … */
  readonly type: string;
  /** Default `udp`. A truncated answer is returned as it is. */
  readonly transport?: "udp" | "tcp";
  /** RD: have the server resolve it. Default true. */
  readonly recurse?: boolean;
  /** CD: have it answer without validating. Default false. */
  readonly checkingDisabled?: boolean;
  /**
   * OPT record to send: octets offered for a UDP reply (default 1 232, what resolvers offer since the DNS flag day of
   * 2020) and options; false sends none.
   */
  readonly edns?: false | { readonly udpOctets?: number; readonly options?: readonly EdnsOption[] };
  /** Milliseconds until giving up. Default 1 000. */
  readonly timeoutMs?: number;
}

/** An option of EDNS (RFC 6891 §6.1.2). */
export interface EdnsOption {
  readonly code: number;
  /** At most 1 024 octets. */
  readonly data: Uint8Array;
}

/**
 * Asks one question, as a resolver would, and reads the reply.
 *
 * Rejects with a {@link UserError}: `ASK_TIMEOUT`, `ASK_UNREACHABLE` when the server's port refuses, `ASK_MALFORMED`
 * when what comes back is no DNS message, `ASK_TYPE_UNKNOWN`.
 */
export async function ask(asking: Asking): Promise<Reply> {
  const { server, timeoutMs = 1_000 } = asking;
  const type = typeNumber(asking.type);
  if (type === undefined) throw new UserError(`${asking.type} is not a record type`, "ASK_TYPE_UNKNOWN");
  const question: Question = { id: randomInt(0x1_0000), name: parseName(absolute(asking.name)), type };
  const query = encode(question, asking);
  const wire = asking.transport === "tcp" ? overTcp(server, query) : overUdp(server, query);
  return new Promise<Reply>((resolve, reject) => {
    const timer = setTimeout(
      () =>
        settle(() =>
          reject(new UserError(`no answer from ${formatAddress(server)} within ${timeoutMs} ms`, "ASK_TIMEOUT")),
        ),
      timeoutMs,
    );
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      wire.close();
      act();
    };
    wire.onError((error) => settle(() => reject(unreachable(server, error))));
    wire.onMessage((octets) => {
      try {
        const reply = answerTo(question, octets);
        if (reply !== undefined) settle(() => resolve(reply));
      } catch (error) {
        const why = `${formatAddress(server)} sent what is no DNS message: ${messageOf(error)}`;
        settle(() => reject(new UserError(why, "ASK_MALFORMED", { cause: error })));
      }
    });
  });
}

interface Question {
  readonly id: number;
  readonly name: Name;
  readonly type: number;
}

function absolute(name: string): string {
  return name.endsWith(".") ? name : `${name}.`;
}

function encode(
  { id, name, type }: Question,
  { recurse = true, checkingDisabled = false, edns = {} }: Asking,
): Uint8Array {
  const udpOctets = edns === false ? undefined : (edns.udpOctets ?? MAX_UDP_REPLY_OCTETS);
  const plain = encodeQuery({
    id,
    name,
    type,
    recurse,
    checkingDisabled,
    ...(udpOctets === undefined ? {} : { udpOctets }),
  });
  const options = edns === false ? [] : (edns.options ?? []);
  if (options.length === 0) return plain;
  const data = Buffer.concat(
    options.map((option) => {
      const head = Buffer.alloc(4);
      head.writeUInt16BE(option.code, 0);
      head.writeUInt16BE(option.data.length, 2);
      return Buffer.concat([head, option.data]);
    }),
  );
  // The OPT record is the last one, and its RDLENGTH the last two octets.
  const query = Buffer.concat([plain, data]);
  query.writeUInt16BE(data.length, plain.length - 2);
  return query;
}

/** The reply, or undefined if it belongs to another question: a late one, or a forged one. */
function answerTo(question: Question, octets: Uint8Array): Reply | undefined {
  if (octets.length < 2 || ((octets[0] ?? 0) << 8) + (octets[1] ?? 0) !== question.id) return undefined;
  const reply = readReply(octets);
  // A server that cannot read a query may leave the question out (RFC 1035 §4.1.1, FORMERR).
  if (reply.question === undefined) return reply;
  const { name, type } = reply.question;
  return lowerName(name) === lowerName(question.name) && type === question.type ? reply : undefined;
}

/** A question under way. */
interface Wire {
  onMessage(take: (octets: Uint8Array) => void): void;
  onError(take: (error: unknown) => void): void;
  close(): void;
}

function overUdp(server: SocketAddress, query: Uint8Array): Wire {
  const socket = createSocket(server.address.includes(":") ? "udp6" : "udp4");
  // Connected, so that only the server's own address can answer and a closed port is an error at once.
  // Without a callback, which would be given the error that there is no route, in the place of the listener below.
  socket.once("connect", () => socket.send(query));
  socket.connect(server.port, server.address);
  return {
    onMessage: (take) => socket.on("message", take),
    onError: (take) => socket.on("error", take),
    close: () => {
      socket.removeAllListeners();
      socket.on("error", () => {});
      socket.close();
    },
  };
}

function overTcp(server: SocketAddress, query: Uint8Array): Wire {
  const socket = connect({ host: server.address, port: server.port });
  const prefix = Buffer.alloc(2);
  prefix.writeUInt16BE(query.length);
  socket.write(Buffer.concat([prefix, query]));
  return {
    onMessage(take) {
      let received = Buffer.alloc(0);
      socket.on("data", (chunk) => {
        received = Buffer.concat([received, chunk]);
        while (received.length >= 2 && received.length >= received.readUInt16BE(0) + 2) {
          const end = received.readUInt16BE(0) + 2;
          take(received.subarray(2, end));
          received = received.subarray(end);
        }
      });
    },
    onError(take) {
      socket.on("error", take);
      socket.on("close", () => take(new Error("the connection was closed without an answer")));
    },
    close: () => {
      socket.removeAllListeners();
      socket.on("error", () => {});
      socket.destroy();
    },
  };
}

function unreachable(server: SocketAddress, error: unknown): UserError {
  const why = codeOf(error) === "ECONNREFUSED" ? "nothing listens there" : messageOf(error);
  return new UserError(`cannot ask ${formatAddress(server)}: ${why}`, "ASK_UNREACHABLE", { cause: error });
}

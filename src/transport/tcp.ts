import { createServer, type Socket } from "node:net";
import { type Listening, listenError, type SocketAddress } from "../lib/listening.js";
import type { Respond } from "../query/respond.js";
import { MAX_TCP_MESSAGE_OCTETS } from "../wire/constants.js";

/** Octets of the length in front of every message (RFC 1035 §4.2.2). */
const LENGTH_OCTETS = 2;

/** Milliseconds a connection may stay without a complete query (RFC 7766 §6.2.3: "on the order of a few seconds"). */
const IDLE_TIMEOUT_MS = 10_000;

/** Connections at once; each costs a few kilobytes. Further ones are closed, those that are open stay. */
const MAX_CONNECTIONS = 2_000;

/**
 * Turns of the event loop without a new connection or query after which a stop takes it that the kernel holds none:
 * one turn accepts one connection, the next reads from it.
 */
const QUIET_TURNS = 3;

/** Turns after which a stop begins all the same, or clients that never pause would put it off: well under a second. */
const MAX_TURNS = 1_000;

/** Octets of replies a client may leave unread before no more of its queries are taken. */
const MAX_UNREAD_OCTETS = 4 * MAX_TCP_MESSAGE_OCTETS;

/**
 * Opens a TCP socket that takes any number of queries per connection (RFC 7766 §6.2.1).
 *
 * @param fd a listening socket that is bound to `at` already, and is closed with this one; absent = opens its own
 * @throws UserError if it cannot be opened
 */
export async function openTcp(at: SocketAddress, respond: Respond, fd?: number): Promise<Listening> {
  /** Each with whether it has neither a part of a query nor a reply under way. */
  const connections = new Map<Socket, () => boolean>();
  // One for all: a reply is copied out before the next query is looked at.
  const reply = new Uint8Array(MAX_TCP_MESSAGE_OCTETS);
  let stopping = false;
  /** Connections and pieces of queries so far. */
  let arrivals = 0;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    arrivals += 1;
    socket.setTimeout(IDLE_TIMEOUT_MS, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("close", () => connections.delete(socket));
    let pending: Buffer = Buffer.alloc(0);
    connections.set(socket, () => pending.length === 0);
    const answerPending = (): void => {
      let at = 0;
      while (pending.length - at >= LENGTH_OCTETS && !socket.destroyed && socket.writableLength <= MAX_UNREAD_OCTETS) {
        const length = pending.readUInt16BE(at);
        if (pending.length - at - LENGTH_OCTETS < length) break;
        const message = pending.subarray(at + LENGTH_OCTETS, at + LENGTH_OCTETS + length);
        at += LENGTH_OCTETS + length;
        const replyLength = respond(message, length, reply, "tcp");
        if (replyLength === 0) {
          // Silence is for UDP: over TCP a message that gets no reply ends the connection.
          socket.destroy();
          return;
        }
        const framed = Buffer.allocUnsafe(LENGTH_OCTETS + replyLength);
        framed.writeUInt16BE(replyLength, 0);
        framed.set(reply.subarray(0, replyLength), LENGTH_OCTETS);
        socket.write(framed);
      }
      pending = pending.subarray(at);
      if (socket.writableLength > MAX_UNREAD_OCTETS) socket.pause();
      if (stopping && pending.length === 0) socket.end();
    };
    socket.on("data", (chunk) => {
      arrivals += 1;
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      answerPending();
    });
    socket.on("drain", () => {
      answerPending();
      if (socket.writableLength <= MAX_UNREAD_OCTETS) socket.resume();
    });
    // A half-closed client still gets its replies (RFC 7766 §6.2.4).
    socket.on("end", () => socket.end());
  });
  server.maxConnections = MAX_CONNECTIONS;

  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(listenError("TCP", at, error)));
    const where =
      fd === undefined
        ? { host: at.address, port: at.port, ipv6Only: at.address.includes(":"), exclusive: true, backlog: 511 }
        : { fd };
    server.listen(where, resolve);
  });
  server.removeAllListeners("error");
  server.on("error", () => {});
  const bound = server.address();
  return {
    address: { address: at.address, port: typeof bound === "object" && bound !== null ? bound.port : at.port },
    async stop(graceMs) {
      // Connections and queries that the kernel holds for us by now are taken first.
      for (let turn = 0, quiet = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn += 1) {
        const before = arrivals;
        await new Promise((resolve) => setImmediate(resolve));
        quiet = arrivals === before ? quiet + 1 : 0;
      }
      stopping = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const [socket, isIdle] of connections) if (isIdle()) socket.end();
      const cut = setTimeout(() => {
        for (const socket of connections.keys()) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(cut);
    },
  };
}

import type { Socket } from "node:net";
import type { Client } from "../query/client.js";
import { TRANSPORT } from "../query/counters.js";
import type { Respond } from "../query/respond.js";
import { MAX_TCP_MESSAGE_OCTETS } from "../wire/constants.js";

/** How long TCP connections may last, and how many there may be (RFC 7766 §6.2, RFC 9210 §4). */
export interface TcpLimits {
  /** Connections at once. Further ones are closed at once, those that are open stay. */
  readonly maxConnections: number;
  /** Of these from one address. */
  readonly maxPerClient: number;
  /** Milliseconds a connection is kept without a query; a fifth of it while over half of all connections are open. */
  readonly idleMs: number;
  /** Milliseconds from the first octet of a query to its last. */
  readonly queryMs: number;
  /** Milliseconds in which a client must have taken all replies that wait for it. */
  readonly replyMs: number;
}

/**
 * "On the order of a few seconds" (RFC 7766 §6.2.3) for an idle connection; no resolver that means well takes as long
 * for one query, or for 16 KiB of replies.
 */
export const DEFAULT_TCP_LIMITS: TcpLimits = {
  maxConnections: 2_000,
  maxPerClient: 200,
  idleMs: 10_000,
  queryMs: 5_000,
  replyMs: 10_000,
};

/** Octets of the length in front of every message (RFC 1035 §4.2.2). */
const LENGTH_OCTETS = 2;

/**
 * Octets kept of one query: more than any that makes sense, padded ones (RFC 8467) included. Of a longer one the
 * beginning is looked at, so that it gets its FORMERR, and the rest passed over.
 */
const MAX_QUERY_OCTETS = 8_192;

/** Octets of replies that may wait for a client before no more of its queries are answered, and none read. */
const MAX_UNREAD_OCTETS = 1 << 14;

/** What happens on one connection. */
export interface TcpConnection {
  readonly socket: Socket;
  /** Whether there is neither a part of a query nor a reply under way. */
  isIdle(): boolean;
  /** Ends it once what has been asked is answered. */
  finish(): void;
  /** Ends or cuts it if it has taken too long. @param idleMs how long it may be idle at this moment */
  judge(now: number, limits: TcpLimits, idleMs: number): void;
}

/** One query at a time is read here, and its reply made, before the next is looked at. */
const request = new Uint8Array(MAX_QUERY_OCTETS);
const reply = new Uint8Array(MAX_TCP_MESSAGE_OCTETS + 1);

const NOTHING = Buffer.alloc(0);

/**
 * Answers what comes in on a connection: any number of queries, in the order in which they come, which is also the
 * order in which they are ready (RFC 7766 §6.2.1, §7).
 *
 * @param now milliseconds on the clock that {@link TcpConnection.judge} is given
 * @param onArrival called for each piece of a query
 */
export function serveConnection(
  socket: Socket,
  client: Client,
  respond: Respond,
  now: () => number,
  onArrival: () => void,
): TcpConnection {
  /** What has come and is not answered. A copy, since a piece of what the socket gave would keep all of it in memory. */
  let pending: Buffer = NOTHING;
  /** Octets still to come of a query that has been answered. */
  let skip = 0;
  let finishing = false;
  let quietSince = now();
  /** When the first octet of a query came that is not whole; 0 without one. */
  let queryBegan = 0;
  /** Since when there has been a reply that the client has not taken; 0 without one. */
  let repliesBegan = 0;

  /** Answers the whole queries at the beginning of `data`. @returns how many octets are done with */
  const answer = (data: Buffer): number => {
    let at = Math.min(skip, data.length);
    skip -= at;
    while (data.length - at >= LENGTH_OCTETS && !socket.destroyed && socket.writableLength <= MAX_UNREAD_OCTETS) {
      const length = data.readUInt16BE(at);
      const kept = Math.min(length, MAX_QUERY_OCTETS);
      const start = at + LENGTH_OCTETS;
      if (data.length - start < kept) break;
      queryBegan = 0;
      data.copy(request, 0, start, start + kept);
      const replyLength = respond(request, 0, kept, reply, 0, TRANSPORT.tcp, client);
      if (replyLength === 0) {
        // Silence is for UDP: over TCP a message that gets no reply ends the connection.
        socket.destroy();
        return data.length;
      }
      const framed = Buffer.allocUnsafe(LENGTH_OCTETS + replyLength);
      framed.writeUInt16BE(replyLength, 0);
      framed.set(reply.subarray(0, replyLength), LENGTH_OCTETS);
      socket.write(framed);
      const next = start + length;
      at = Math.min(next, data.length);
      skip = next - at;
    }
    return at;
  };

  const take = (data: Buffer, isNew: boolean): void => {
    // Replies to one piece leave together.
    socket.cork();
    const done = answer(data);
    socket.uncork();
    const left = data.subarray(done);
    pending = left.length === 0 ? NOTHING : isNew || done > 0 ? Buffer.from(left) : pending;
    const moment = now();
    quietSince = moment;
    if (pending.length === 0 && skip === 0) queryBegan = 0;
    else if (queryBegan === 0) queryBegan = moment;
    if (socket.writableLength > 0 && repliesBegan === 0) repliesBegan = moment;
    if (socket.writableLength > MAX_UNREAD_OCTETS) socket.pause();
    if (finishing && pending.length === 0) socket.end();
  };

  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    onArrival();
    take(pending.length === 0 ? chunk : Buffer.concat([pending, chunk]), true);
  });
  socket.on("drain", () => {
    repliesBegan = 0;
    take(pending, false);
    if (socket.writableLength <= MAX_UNREAD_OCTETS) socket.resume();
  });
  // A half-closed client still gets its replies (RFC 7766 §6.2.4).
  socket.on("end", () => socket.end());

  return {
    socket,
    isIdle: () => pending.length === 0 && skip === 0 && socket.writableLength === 0,
    finish() {
      finishing = true;
      if (pending.length === 0) socket.end();
    },
    judge(moment, limits, idleMs) {
      if (socket.writableLength > 0) {
        if (repliesBegan === 0) repliesBegan = moment;
        if (moment - repliesBegan > limits.replyMs) socket.destroy();
        return;
      }
      repliesBegan = 0;
      if (pending.length > 0 || skip > 0) {
        if (moment - queryBegan > limits.queryMs) socket.destroy();
      } else if (moment - quietSince > idleMs) {
        socket.end();
        // Its own side may stay open for ever.
        if (moment - quietSince > idleMs + limits.queryMs) socket.destroy();
      }
    },
  };
}

import type { Socket } from "node:net";
import type { Client } from "../query/client.js";
import { TRANSPORT } from "../query/counters.js";
import { HANDED_OVER, type Respond } from "../query/respond.js";
import type { OutgoingTransfer, SendPart } from "../transfer/service.js";
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
 * Octets kept of one query: more than any sound query has, padded ones (RFC 8467) included. Of a longer one the
 * beginning is decoded, so that it gets its FORMERR, and the rest is skipped.
 */
const MAX_QUERY_OCTETS = 8_192;

/** Octets of replies that may wait for a client before no more of its queries are answered, and none read. */
const MAX_UNREAD_OCTETS = 1 << 14;

/** Who makes the transfer for which a query was handed over last. */
export interface HandedOver {
  /** @param send takes each message as it can be sent */
  begin(send: SendPart): OutgoingTransfer;
}

/** One connection that is served. */
export interface TcpConnection {
  readonly socket: Socket;
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
 * @param transfers absent: no transfer is granted
 */
export function serveConnection(
  socket: Socket,
  client: Client,
  respond: Respond,
  now: () => number,
  onArrival: () => void,
  transfers?: HandedOver,
): TcpConnection {
  const connection = new ServedConnection(socket, client, respond, now, transfers);
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    onArrival();
    connection.receive(chunk);
  });
  socket.on("drain", () => connection.resume());
  // A half-closed client still gets its replies (RFC 7766 §6.2.4).
  socket.on("end", () => connection.clientEnded());
  socket.on("close", () => connection.closed());
  return connection;
}

/** The octets that have come and are not answered, and since when a connection waits for its client. */
class ServedConnection implements TcpConnection {
  readonly socket: Socket;
  readonly #client: Client;
  readonly #respond: Respond;
  readonly #now: () => number;
  readonly #transfers: HandedOver | undefined;
  /** The transfer under way; what comes meanwhile waits for its end. */
  #transfer: OutgoingTransfer | undefined;
  #hasClientEnded = false;
  /** What has come and is not answered. A copy, since a piece of what the socket gave would keep all of it in memory. */
  #pending: Buffer = NOTHING;
  /** Octets still to come of a query that has been answered. */
  #skip = 0;
  #isFinishing = false;
  #quietSince: number;
  /** When the first octet of a query came that is not whole; 0 without one. */
  #queryBegan = 0;
  /** Since when there has been a reply that the client has not taken; 0 without one. */
  #repliesBegan = 0;

  constructor(socket: Socket, client: Client, respond: Respond, now: () => number, transfers: HandedOver | undefined) {
    this.#transfers = transfers;
    this.socket = socket;
    this.#client = client;
    this.#respond = respond;
    this.#now = now;
    this.#quietSince = now();
  }

  /** Takes what has come. */
  receive(chunk: Buffer): void {
    this.#take(this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]), true);
  }

  /** Goes on once the client has taken all replies. */
  resume(): void {
    this.#repliesBegan = 0;
    this.#take(this.#pending, false);
    if (this.#transfer === undefined && this.socket.writableLength <= MAX_UNREAD_OCTETS) this.socket.resume();
  }

  /** The client has closed its own side. */
  clientEnded(): void {
    this.#hasClientEnded = true;
    this.#endIfDone();
  }

  /** The connection is gone. */
  closed(): void {
    this.#transfer?.end(false);
    this.#transfer = undefined;
  }

  finish(): void {
    this.#isFinishing = true;
    this.#endIfDone();
  }

  judge(moment: number, limits: TcpLimits, idleMs: number): void {
    const { socket } = this;
    if (socket.writableLength > 0) {
      if (this.#repliesBegan === 0) this.#repliesBegan = moment;
      if (moment - this.#repliesBegan > limits.replyMs) socket.destroy();
      return;
    }
    this.#repliesBegan = 0;
    // A transfer that waits for its turn is not the client's fault.
    if (this.#transfer !== undefined) return;
    if (this.#isWithinQuery) {
      if (moment - this.#queryBegan > limits.queryMs) socket.destroy();
      return;
    }
    const idle = moment - this.#quietSince;
    if (idle > idleMs) socket.end();
    // The client's own side may stay open for ever.
    if (idle > idleMs + limits.queryMs) socket.destroy();
  }

  /** Whether a part of a query has come, and the rest has not. */
  get #isWithinQuery(): boolean {
    return this.#pending.length > 0 || this.#skip > 0;
  }

  /** Answers what is whole in `data`, and keeps the rest. @param isNew whether `data` is more than what is kept already */
  #take(data: Buffer, isNew: boolean): void {
    const { socket } = this;
    if (socket.writableEnded) {
      this.#pending = NOTHING;
      return;
    }
    // Replies to one piece leave together.
    socket.cork();
    const done = this.#answer(data);
    socket.uncork();
    if (done === data.length) this.#pending = NOTHING;
    else if (isNew || done > 0) this.#pending = Buffer.from(data.subarray(done));
    const moment = this.#now();
    this.#quietSince = moment;
    if (!this.#isWithinQuery) this.#queryBegan = 0;
    else if (this.#queryBegan === 0) this.#queryBegan = moment;
    if (socket.writableLength > 0 && this.#repliesBegan === 0) this.#repliesBegan = moment;
    if (socket.writableLength > MAX_UNREAD_OCTETS) socket.pause();
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#transfer !== undefined) return;
    // Whole queries that wait behind replies are still answered; the rest of another cannot come any more.
    const isAnswered = this.#hasClientEnded ? !beginsWithQuery(this.#pending, 0) : this.#pending.length === 0;
    if (isAnswered && (this.#hasClientEnded || this.#isFinishing)) this.socket.end();
  }

  #canAnswer(): boolean {
    const { socket } = this;
    if (this.#transfer !== undefined || socket.writableEnded) return false;
    return !socket.destroyed && socket.writableLength <= MAX_UNREAD_OCTETS;
  }

  /** Sends a message of the transfer, and asks for the next one once it is on its way. */
  #sendPart(message: Uint8Array | undefined, isLast: boolean): void {
    const { socket } = this;
    if (message === undefined || socket.destroyed) {
      socket.destroy();
      return;
    }
    socket.write(framed(message), (error) => {
      this.#repliesBegan = 0;
      if (error != null) return;
      if (!isLast) {
        this.#transfer?.more();
        return;
      }
      this.#transfer?.end(true);
      this.#transfer = undefined;
      this.#take(this.#pending, false);
      socket.resume();
    });
  }

  /** Answers the whole queries at the beginning of `data`. @returns how many octets are done with */
  #answer(data: Buffer): number {
    const { socket } = this;
    let at = Math.min(this.#skip, data.length);
    this.#skip -= at;
    while (beginsWithQuery(data, at) && this.#canAnswer()) {
      const length = data.readUInt16BE(at);
      const kept = Math.min(length, MAX_QUERY_OCTETS);
      const start = at + LENGTH_OCTETS;
      this.#queryBegan = 0;
      data.copy(request, 0, start, start + kept);
      const replyLength = this.#respond(request, 0, kept, reply, 0, TRANSPORT.tcp, this.#client);
      if (replyLength === HANDED_OVER && this.#transfers !== undefined) {
        this.#transfer = this.#transfers.begin((message, isLast) => this.#sendPart(message, isLast));
        socket.pause();
        const end = Math.min(start + length, data.length);
        this.#skip = start + length - end;
        return end;
      }
      if (replyLength <= 0) {
        // Silence is for UDP: over TCP a message that gets no reply ends the connection, behind the replies that are due.
        socket.destroySoon();
        return data.length;
      }
      socket.write(framed(reply.subarray(0, replyLength)));
      const next = start + length;
      at = Math.min(next, data.length);
      this.#skip = next - at;
    }
    return at;
  }
}

/** Whether a query stands at `at`, with as much of it as is kept of one. */
function beginsWithQuery(data: Buffer, at: number): boolean {
  const rest = data.length - at - LENGTH_OCTETS;
  return rest >= 0 && rest >= Math.min(data.readUInt16BE(at), MAX_QUERY_OCTETS);
}

/** A copy of a message behind its length. */
function framed(message: Uint8Array): Buffer {
  const octets = Buffer.allocUnsafe(LENGTH_OCTETS + message.length);
  octets.writeUInt16BE(message.length, 0);
  octets.set(message, LENGTH_OCTETS);
  return octets;
}

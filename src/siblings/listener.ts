import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Clock } from "../lib/clock.js";
import { listenError, type SocketAddress } from "../lib/listening.js";
import { Budget } from "./budget.js";
import { LineReader } from "./line-reader.js";
import { type Replied, SPOKEN_TYPES, type Spoken, spoken, understand } from "./messages.js";
import { type PreSharedKey, serverSettings } from "./pre-shared-key.js";

/** Time in which a connection must have a secret and a name, milliseconds. */
const OPEN_WITHIN_MS = 3_000;

/** Connections that have not named a sibling yet: from the addresses of siblings, and from all others. */
const MAX_NAMELESS = { known: 32, strangers: 8 };

/** Connections that strangers may open, a second and in a burst; further ones are closed before anything is read. */
const STRANGERS = { perSecond: 5, burst: 20 };

/** The same for each address of a sibling, which opens a few whenever it starts. */
const KNOWN = { perSecond: 10, burst: 64 };

/**
 * What a sibling may send, a second and in a burst, on all its connections together. The status of 10,000 endpoints has 3 MB; a change of all of them at once
 * some 50 lines. Whoever sends more is read more slowly.
 */
const LINES = { perSecond: 200, burst: 1_000 };
const OCTETS = { perSecond: 512 * 1024, burst: 16 * 1024 * 1024 };

/** Octets of replies that a sibling may leave unread. */
const MAX_UNREAD_OCTETS = 256 * 1024;

/** A connection on which a sibling speaks. */
export interface Hearing {
  reply(message: Replied): void;
  close(): void;
}

/** What is done with what a sibling says. */
export interface Hearer {
  /**
   * A sibling names itself.
   *
   * @returns takes what it says, in order; undefined if there is no such sibling
   */
  admit(hello: Extract<Spoken, { t: "hello" }>, hearing: Hearing): HearerOf | undefined;
}

export interface HearerOf {
  hear(message: Spoken): void;
  /** Its connection has ended. */
  closed(): void;
}

export interface ListenerOptions {
  readonly clock: Clock;
  keys(): readonly PreSharedKey[];
  /** Addresses from which siblings are expected. */
  isExpected(address: string): boolean;
  readonly hearer: Hearer;
}

/** Where siblings connect. Who has no secret gets no further than the first message of TLS. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #tls;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #nameless = { known: 0, strangers: 0 };
  readonly #strangers: Budget;
  /** Of connections, by address of a sibling. */
  readonly #known = new Map<string, Budget>();
  /** Of what siblings send, by name. */
  readonly #sent = new Map<string, Sent>();
  /** Notes that the connection from an address and port has named itself. */
  readonly #named = new Map<string, () => void>();
  /** Names of the keys by which connections were opened. */
  readonly #identities = new WeakMap<TLSSocket, string>();
  /** Connections whose handshake is done. */
  readonly #opened = new Set<TLSSocket>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#strangers = new Budget(STRANGERS, options.clock.monotonicMs());
    this.#tls = createTlsServer({
      ...serverSettings(options.keys, (socket, identity) => this.#identities.set(socket, identity)),
      handshakeTimeout: OPEN_WITHIN_MS,
    });
    this.#tls.on("secureConnection", (socket) => {
      // A session that is resumed names no key: whoever holds its ticket may not have the secret any more.
      if (this.#isKnown(socket)) this.#hear(socket);
      else socket.destroy();
    });
    this.#tls.on("tlsClientError", (_error, socket) => socket.destroy());
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  /** @returns where it listens; the real port. @throws UserError */
  listen(at: SocketAddress): Promise<SocketAddress> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (error) => reject(listenError("TCP", at, error)));
      this.#server.listen({ host: at.address, port: at.port }, () => {
        const address = this.#server.address();
        resolve({
          address: at.address,
          port: typeof address === "object" && address !== null ? address.port : at.port,
        });
      });
    });
  }

  /** Other keys are accepted: closes what was opened with one that is not any more. */
  keysChanged(): void {
    for (const socket of [...this.#opened]) if (!this.#isKnown(socket)) socket.destroy();
  }

  #isKnown(socket: TLSSocket): boolean {
    const identity = this.#identities.get(socket);
    return this.#options.keys().some((key) => key.identity === identity);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }

  #accept(socket: Socket): void {
    const kind = this.#kindOf(socket);
    const isTooMany = this.#nameless[kind] >= MAX_NAMELESS[kind] || !this.#mayOpen(socket, kind);
    socket.on("error", () => {});
    if (isTooMany) {
      socket.resetAndDestroy();
      return;
    }
    this.#nameless[kind] += 1;
    this.#sockets.add(socket);
    const limit = this.#options.clock.after(OPEN_WITHIN_MS, () => socket.destroy());
    let isNameless = true;
    const named = (): void => {
      if (!isNameless) return;
      isNameless = false;
      limit.cancel();
      this.#nameless[kind] -= 1;
    };
    const place = placeOf(socket);
    this.#named.set(place, named);
    socket.on("close", () => {
      named();
      this.#named.delete(place);
      this.#sockets.delete(socket);
    });
    this.#tls.emit("connection", socket);
  }

  #kindOf(socket: Socket): "known" | "strangers" {
    return this.#options.isExpected(addressOf(socket)) ? "known" : "strangers";
  }

  /** Whether not too many connections were opened of late. */
  #mayOpen(socket: Socket, kind: "known" | "strangers"): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (kind === "strangers") return this.#strangers.spend(1, nowMs) === 0;
    const address = addressOf(socket);
    const budget = this.#known.get(address) ?? new Budget(KNOWN, nowMs);
    this.#known.set(address, budget);
    return budget.spend(1, nowMs) === 0;
  }

  /** What a sibling may send still: on a new connection no more than on the one before. */
  #sentBy(name: string): Sent {
    const key = name.toLowerCase();
    const sent = this.#sent.get(key) ?? newSent(this.#options.clock.monotonicMs());
    this.#sent.set(key, sent);
    return sent;
  }

  #hear(socket: TLSSocket): void {
    const { clock, hearer } = this.#options;
    const named = this.#named.get(placeOf(socket));
    const hearing: Hearing = {
      reply(message) {
        if (socket.writableLength > MAX_UNREAD_OCTETS) socket.destroy();
        else socket.write(`${JSON.stringify(message)}\n`);
      },
      close: () => socket.destroy(),
    };
    const reader = new LineReader();
    let sent = newSent(clock.monotonicMs());
    let sibling: HearerOf | undefined;
    const take = (text: string): boolean => {
      const understood = understand(text, spoken, SPOKEN_TYPES);
      if (understood === "ignored") return sibling !== undefined;
      if (understood === "nonsense") return false;
      const { message } = understood;
      if (sibling !== undefined) sibling.hear(message);
      else if (message.t === "hello") {
        sibling = hearer.admit(message, hearing);
        if (sibling !== undefined) sent = this.#sentBy(message.name);
      }
      if (sibling !== undefined) named?.();
      return sibling !== undefined;
    };
    this.#opened.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#opened.delete(socket);
      sibling?.closed();
    });
    socket.on("data", (chunk: Buffer) => {
      const read = reader.read(chunk);
      if (read === "too-long" || !read.every(take)) {
        socket.destroy();
        return;
      }
      const nowMs = clock.monotonicMs();
      const pauseMs = Math.max(sent.lines.spend(read.length, nowMs), sent.octets.spend(chunk.length, nowMs));
      if (pauseMs === 0) return;
      socket.pause();
      clock.after(pauseMs, () => socket.resume());
    });
  }
}

/** What was sent, against what may be. */
interface Sent {
  readonly lines: Budget;
  readonly octets: Budget;
}

function newSent(nowMs: number): Sent {
  return { lines: new Budget(LINES, nowMs), octets: new Budget(OCTETS, nowMs) };
}

function addressOf({ remoteAddress = "" }: Socket): string {
  return remoteAddress.replace(/^::ffff:/, "");
}

function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

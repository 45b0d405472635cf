import { connect, type TLSSocket } from "node:tls";
import type { Clock, Timer } from "../lib/clock.js";
import { codeOf, messageOf } from "../lib/errors.js";
import type { SocketAddress } from "../lib/listening.js";
import { LineReader } from "./line-reader.js";
import { REPLIED_TYPES, type Replied, type Reply, replied, understand } from "./messages.js";
import { Nudging } from "./nudging.js";
import { clientSettings, type PreSharedKey } from "./pre-shared-key.js";

/** Shortest and longest pause before a connection is tried again, milliseconds; each is shortened by chance by up to half. */
const MIN_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;

/** Time in which a connection must be made and the sibling must have named itself, milliseconds. */
const OPEN_WITHIN_MS = 3_000;

/** Octets that a sibling may leave unread; more, and the connection is given up. */
const MAX_UNREAD_OCTETS = 4 * 1024 * 1024;

/** Octets below which beats are still added to what waits. */
const BUSY_OCTETS = 64 * 1024;

/** Time for which a sibling may take nothing while something waits, milliseconds. */
const STUCK_MS = 5_000;

export interface SpeakerOptions {
  readonly clock: Clock;
  /** 0 (included) to 1 (not included). */
  readonly random: () => number;
  readonly peer: SocketAddress & { readonly name: string };
  /** The first is tried first, the other one if it is not accepted. */
  keys(): readonly PreSharedKey[];
  /** Number of a question that no connection of the link has used. */
  nextId(): number;
  /** Said first. */
  hello(): object;
  /** The connection is there and the sibling has named itself: say everything. */
  onOpen(welcome: Extract<Replied, { t: "welcome" }>): void;
  onWant(what: "endpoints" | "overrides"): void;
  /** @param why in plain words, for people */
  onClosed(why: string): void;
}

interface Waiting {
  readonly timer: Timer;
  done(reply: Reply | undefined): void;
}

/** The connection on which this server speaks to one sibling: opened again whenever it ends. */
export class Speaker {
  readonly #options: SpeakerOptions;
  #socket: TLSSocket | undefined;
  #isOpen = false;
  #isStopped = false;
  #timer: Timer | undefined;
  #pauseMs = MIN_PAUSE_MS;
  /** Which key is tried. */
  #keyIndex = 0;
  /** Name of the key of the present connection. */
  #identity = "";
  readonly #waiting = new Map<number, Waiting>();
  /** Monotonic moment since which something waits to be taken. */
  #stuckSinceMs: number | undefined;
  #nudging: Nudging | undefined;

  constructor(options: SpeakerOptions) {
    this.#options = options;
  }

  /** Whether what is said now is on its way. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  start(): void {
    if (this.#isStopped || this.#socket !== undefined) return;
    this.#connect();
  }

  /** Other keys hold: ends a connection with one that does not any more, and tries the first one soon. */
  keysChanged(): void {
    if (this.#options.keys().some(({ identity }) => identity === this.#identity)) return;
    this.#keyIndex = 0;
    this.#pauseMs = MIN_PAUSE_MS;
    if (this.#socket !== undefined) this.#end("its secret holds no more");
    else if (this.#timer !== undefined) this.#again("its secret holds no more");
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#end("stopped");
  }

  /** Says something. @returns false if nobody listens */
  say(message: object): boolean {
    const socket = this.#socket;
    if (!this.#isOpen || socket === undefined) return false;
    if (socket.writableLength > MAX_UNREAD_OCTETS) {
      this.#end("it does not read");
      return false;
    }
    return this.#write(socket, message);
  }

  /** Says something that soon follows anew; left out while the sibling is behind. */
  sayIfQuick(message: object): void {
    const socket = this.#socket;
    if (!this.#isOpen || socket === undefined) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (socket.writableLength === 0) this.#stuckSinceMs = undefined;
    else this.#stuckSinceMs ??= nowMs;
    if (this.#stuckSinceMs !== undefined && nowMs - this.#stuckSinceMs > STUCK_MS) this.#end("it does not read");
    else if (socket.writableLength < BUSY_OCTETS) this.#write(socket, message);
  }

  /**
   * Asks, and resolves with the reply; undefined if none comes in time.
   *
   * @param withinMs milliseconds
   * @param id of the question: the same on each connection on which it is asked
   */
  ask(message: object, withinMs: number, id = this.#options.nextId()): Promise<Reply | undefined> {
    return new Promise((resolve) => {
      const done = (reply: Reply | undefined): void => {
        this.#waiting.get(id)?.timer.cancel();
        this.#waiting.delete(id);
        resolve(reply);
      };
      this.#waiting.set(id, { timer: this.#options.clock.after(withinMs, () => done(undefined)), done });
      if (!this.say({ ...message, id })) done(undefined);
    });
  }

  #write(socket: TLSSocket, message: object): boolean {
    socket.write(`${JSON.stringify(message)}\n`);
    this.#nudging?.said();
    return true;
  }

  #newNudging(socket: TLSSocket): Nudging {
    return new Nudging({
      clock: this.#options.clock,
      nudge: (n) => {
        if (socket.writableLength < BUSY_OCTETS) socket.write(`${JSON.stringify({ t: "nudge", n })}\n`);
      },
      isWaiting: () => this.#waiting.size > 0,
      onGivenUp: () => this.#end("what is said does not arrive", socket),
    });
  }

  #connect(): void {
    const { clock, peer, keys } = this.#options;
    const all = keys();
    const key = all[this.#keyIndex % Math.max(1, all.length)];
    if (key === undefined) {
      this.#again("there is no secret");
      return;
    }
    this.#identity = key.identity;
    const socket = connect({ host: peer.address, port: peer.port, ...clientSettings(key) });
    this.#socket = socket;
    let isConnected = false;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, STUCK_MS);
    const limit = clock.after(OPEN_WITHIN_MS, () => this.#end("no reply in time", socket));
    const reader = new LineReader();
    socket.on("connect", () => {
      isConnected = true;
    });
    socket.on("secureConnect", () => this.#write(socket, this.#options.hello()));
    socket.on("data", (chunk) => this.#read(socket, reader, chunk, limit));
    socket.on("error", (error) => {
      // It may know the other secret only.
      if (isConnected && !socket.authorized && !this.#isOpen) this.#keyIndex += 1;
      this.#end(whyNot(error, isConnected), socket);
    });
    socket.on("close", () => {
      limit.cancel();
      this.#end("it closed the connection", socket);
    });
  }

  #read(socket: TLSSocket, reader: LineReader, chunk: Buffer, limit: Timer): void {
    const lines = reader.read(chunk);
    for (const line of lines === "too-long" ? [lines] : lines) {
      const understood = understand(line, replied, REPLIED_TYPES);
      if (understood === "ignored") continue;
      if (understood === "nonsense") {
        this.#end("it sent what makes no sense", socket);
        return;
      }
      this.#take(socket, understood.message, limit);
    }
  }

  #take(socket: TLSSocket, message: Replied, limit: Timer): void {
    const { onOpen, onWant } = this.#options;
    if (message.t === "reply") {
      const { t: _, id, ...reply } = message;
      this.#waiting.get(id)?.done(reply);
    } else if (message.t === "want") {
      onWant(message.what);
    } else if (message.t === "heard") {
      this.#nudging?.heard(message.n);
    } else if (!this.#isOpen) {
      limit.cancel();
      this.#isOpen = true;
      this.#pauseMs = MIN_PAUSE_MS;
      this.#nudging = this.#newNudging(socket);
      onOpen(message);
    }
  }

  /** Ends the connection, or only takes note that it has ended, and plans the next one. */
  #end(why: string, socket = this.#socket): void {
    if (socket === undefined || socket !== this.#socket) return;
    this.#socket = undefined;
    this.#isOpen = false;
    this.#stuckSinceMs = undefined;
    this.#nudging?.stop();
    this.#nudging = undefined;
    socket.destroy();
    for (const { done } of [...this.#waiting.values()]) done(undefined);
    this.#again(why);
  }

  #again(why: string): void {
    if (this.#isStopped) return;
    const { clock, random, onClosed } = this.#options;
    onClosed(why);
    this.#timer?.cancel();
    this.#timer = clock.after(this.#pauseMs * (1 - random() / 2), () => this.start());
    this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2);
  }
}

function whyNot(error: Error, isConnected: boolean): string {
  const code = codeOf(error);
  if (code === "ECONNREFUSED") return "nothing listens there";
  if (isConnected && code.startsWith("ERR_SSL")) return "it has another secret";
  return messageOf(error).split("\n")[0] ?? "";
}

import type { Clock } from "../../src/lib/clock.js";
import type { SiblingTransport, Speaking } from "../../src/siblings/host.js";
import type { HearerOf, ListenerOptions } from "../../src/siblings/listener.js";
import { REPLIED_TYPES, type Reply, replied, SPOKEN_TYPES, spoken, understand } from "../../src/siblings/messages.js";
import type { SpeakerOptions } from "../../src/siblings/speaker.js";

/** Pause before a connection is tried again, and time after which one is given up on which nothing arrives, milliseconds. */
const AGAIN_MS = 500;
const GIVE_UP_MS = 5_000;

/** What may happen to a link. */
export type LinkState = "up" | "lossy" | "cut";

interface Connection {
  isClosed: boolean;
  heardBy?: HearerOf | undefined;
  /** Until when what was sent before is on its way, by direction: order is kept. */
  readonly busyUntilMs: { out: number; back: number };
}

/** A network in fake time. Servers are known by the ports that they listen on. */
export class SiblingNetwork {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #listeners = new Map<number, ListenerOptions>();
  readonly #links = new Map<string, LinkState>();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Both ways. */
  setLink(a: number, b: number, state: LinkState): void {
    this.#links.set(keyOf(a, b), state);
  }

  /** What carries the messages of the server with this port. */
  transport(port: number): SiblingTransport {
    return {
      listener: (options) => ({
        listen: async (at) => {
          this.#listeners.set(port, options);
          return at;
        },
        stop: async () => void this.#listeners.delete(port),
        keysChanged: () => {},
      }),
      speaker: (options) => this.#speaker(port, options),
    };
  }

  #linkTo(from: number, to: number): LinkState {
    return this.#links.get(keyOf(from, to)) ?? "up";
  }

  /** How long one message takes: TCP repeats what is lost after 200 ms, and after twice as long each further time. */
  #delayMs(state: LinkState): number {
    let delayMs = 1 + this.#random() * 20;
    for (let pauseMs = 200; state === "lossy" && this.#random() < 0.3; pauseMs *= 2) delayMs += pauseMs;
    return delayMs;
  }

  #speaker(from: number, options: SpeakerOptions): Speaking {
    const { clock, peer, hello, onOpen, onWant, onClosed, nextId } = options;
    const waiting = new Map<number, (reply: Reply | undefined) => void>();
    let connection: Connection | undefined;
    let isOpen = false;
    let isStopped = false;
    const close = (one: Connection): void => {
      if (one.isClosed) return;
      one.isClosed = true;
      one.heardBy?.closed();
      if (one !== connection) return;
      connection = undefined;
      isOpen = false;
      for (const done of [...waiting.values()]) done(undefined);
      onClosed("closed");
      if (!isStopped) this.#clock.after(AGAIN_MS, start);
    };
    const send = (one: Connection, way: "out" | "back", text: string, take: (text: string) => void): void => {
      const nowMs = this.#clock.monotonicMs();
      const atMs = Math.max(one.busyUntilMs[way], nowMs + this.#delayMs(this.#linkTo(from, peer.port)));
      one.busyUntilMs[way] = atMs;
      if (atMs - nowMs > GIVE_UP_MS) this.#clock.after(GIVE_UP_MS, () => close(one));
      this.#clock.after(atMs - nowMs, () => {
        if (one.isClosed) return;
        if (this.#linkTo(from, peer.port) === "cut") this.#clock.after(GIVE_UP_MS, () => close(one));
        else take(text);
      });
    };
    const takeBack = (text: string): void => {
      const understood = understand(text, replied, REPLIED_TYPES);
      if (typeof understood === "string") throw new Error(`${understood}: ${text}`);
      const { message } = understood;
      if (message.t === "reply") {
        const { t: _, id, ...reply } = message;
        waiting.get(id)?.(reply);
      } else if (message.t === "want") onWant(message.what);
      else if (message.t === "welcome") {
        isOpen = true;
        onOpen(message);
      }
    };
    const hear = (one: Connection, text: string): void => {
      const understood = understand(text, spoken, SPOKEN_TYPES);
      if (typeof understood === "string") throw new Error(`${understood}: ${text}`);
      const { message } = understood;
      const listener = this.#listeners.get(peer.port);
      if (listener === undefined) close(one);
      else if (message.t !== "hello") one.heardBy?.hear(message);
      else {
        one.heardBy = listener.hearer.admit(message, {
          reply: (reply) => send(one, "back", JSON.stringify(reply), takeBack),
          close: () => close(one),
        });
      }
    };
    const start = (): void => {
      if (isStopped || connection !== undefined) return;
      if (this.#linkTo(from, peer.port) === "cut") {
        this.#clock.after(AGAIN_MS, start);
        return;
      }
      const one: Connection = { isClosed: false, busyUntilMs: { out: 0, back: 0 } };
      connection = one;
      send(one, "out", JSON.stringify(hello()), (text) => hear(one, text));
    };
    const say = (message: object): boolean => {
      const one = connection;
      if (!isOpen || one === undefined) return false;
      send(one, "out", JSON.stringify(message), (text) => hear(one, text));
      return true;
    };
    return {
      get isOpen() {
        return isOpen;
      },
      start,
      stop() {
        isStopped = true;
        if (connection !== undefined) close(connection);
      },
      say,
      sayIfQuick: (message) => void say(message),
      keysChanged: () => {},
      ask: (message, withinMs, id = nextId()) =>
        new Promise((resolve) => {
          const done = (reply: Reply | undefined): void => {
            timer.cancel();
            waiting.delete(id);
            resolve(reply);
          };
          const timer = clock.after(withinMs, () => done(undefined));
          waiting.set(id, done);
          if (!say({ ...message, id })) done(undefined);
        }),
    };
  }
}

function keyOf(a: number, b: number): string {
  return [a, b].sort().join();
}

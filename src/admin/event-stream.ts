import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "../lib/clock.js";
import type { EventLog } from "./event-ring.js";
import type { AdminEvent } from "./schemas.js";

/** Subscribers at once, over all ways in. */
export const MAX_SUBSCRIBERS = 1_000;

/** Octets that may wait for one subscriber; one that lets more pile up is dropped and may come back. */
const MAX_WAITING_OCTETS = 256 * 1024;

/** Milliseconds between signs of life, below the usual 60 s after which proxies give up. */
const HEARTBEAT_MS = 15_000;

const HEARTBEAT = Buffer.from(":\n\n");

/** Sends events to subscribers as `text/event-stream`. */
export interface EventStreams {
  readonly subscribers: number;
  /** Subscribers that were dropped for reading too slowly. */
  readonly dropped: number;
  /**
   * Makes a response a stream of events, after those that were missed.
   *
   * When what was missed is not there any more, the stream begins with an event of type `reset`.
   *
   * @param lastId the newest event the reader knows; absent = begin now
   * @returns false when there are too many subscribers: nothing was written
   */
  open(response: ServerResponse, lastId: string | undefined): boolean;
  /** Ends every stream. */
  stop(): void;
}

/** Begins with no subscriber. */
export function createEventStreams(log: EventLog, clock: Clock, maxSubscribers = MAX_SUBSCRIBERS): EventStreams {
  return new OpenStreams(log, clock, maxSubscribers);
}

class OpenStreams implements EventStreams {
  readonly #log: EventLog;
  readonly #clock: Clock;
  readonly #maxSubscribers: number;
  readonly #open = new Set<ServerResponse>();
  readonly #unsubscribe: () => void;
  #heartbeat: Timer | undefined;
  dropped = 0;

  constructor(log: EventLog, clock: Clock, maxSubscribers: number) {
    this.#log = log;
    this.#clock = clock;
    this.#maxSubscribers = maxSubscribers;
    this.#unsubscribe = log.subscribe((event) => {
      // Written once for all: most of the cost of a change with many readers.
      if (this.#open.size > 0) this.#sendAll(frameOf(event));
    });
  }

  get subscribers(): number {
    return this.#open.size;
  }

  open(response: ServerResponse, lastId: string | undefined): boolean {
    if (this.#open.size >= this.#maxSubscribers) return false;
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-accel-buffering": "no",
    });
    // It is idle by design; the heartbeat finds out when nobody is there.
    response.socket?.setTimeout(0);
    response.socket?.setNoDelay(true);
    const missed = lastId === undefined ? [] : this.#log.since(lastId);
    response.write(missed === undefined ? `id: ${this.#log.lastId}\nevent: reset\ndata: {}\n\n` : ":\n\n");
    for (const event of missed ?? []) response.write(frameOf(event));
    this.#open.add(response);
    response.once("close", () => this.#leave(response));
    if (this.#heartbeat === undefined) this.#beat();
    return true;
  }

  stop(): void {
    this.#unsubscribe();
    for (const response of this.#open) response.end();
    this.#open.clear();
    this.#heartbeat?.cancel();
  }

  #sendAll(frame: Buffer): void {
    for (const response of this.#open) {
      if (response.writableLength <= MAX_WAITING_OCTETS) {
        response.write(frame);
        continue;
      }
      this.dropped += 1;
      this.#leave(response);
      response.destroy();
    }
  }

  #leave(response: ServerResponse): void {
    this.#open.delete(response);
    if (this.#open.size > 0) return;
    this.#heartbeat?.cancel();
    this.#heartbeat = undefined;
  }

  #beat(): void {
    this.#heartbeat = this.#clock.after(HEARTBEAT_MS, () => {
      this.#beat();
      this.#sendAll(HEARTBEAT);
    });
  }
}

function frameOf(event: AdminEvent): Buffer {
  return Buffer.from(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "../lib/clock.js";
import type { EventLog } from "./event-log.js";
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
  const open = new Set<ServerResponse>();
  let dropped = 0;
  let heartbeat: Timer | undefined;

  function send(response: ServerResponse, frame: Buffer): void {
    if (response.writableLength > MAX_WAITING_OCTETS) {
      dropped += 1;
      leave(response);
      response.destroy();
      return;
    }
    response.write(frame);
  }

  const unsubscribe = log.subscribe((event) => {
    if (open.size === 0) return;
    // Written once for all: most of the cost of a change with many readers.
    const frame = frameOf(event);
    for (const response of open) send(response, frame);
  });

  function leave(response: ServerResponse): void {
    open.delete(response);
    if (open.size > 0) return;
    heartbeat?.cancel();
    heartbeat = undefined;
  }

  function beat(): void {
    heartbeat = clock.after(HEARTBEAT_MS, () => {
      beat();
      for (const response of open) send(response, HEARTBEAT);
    });
  }

  return {
    get subscribers() {
      return open.size;
    },
    get dropped() {
      return dropped;
    },
    open(response, lastId) {
      if (open.size >= maxSubscribers) return false;
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "x-accel-buffering": "no",
      });
      // It is idle by design; the heartbeat finds out when nobody is there.
      response.socket?.setTimeout(0);
      response.socket?.setNoDelay(true);
      const missed = lastId === undefined ? [] : log.since(lastId);
      response.write(missed === undefined ? `id: ${log.lastId}\nevent: reset\ndata: {}\n\n` : ":\n\n");
      for (const event of missed ?? []) response.write(frameOf(event));
      open.add(response);
      response.once("close", () => leave(response));
      if (heartbeat === undefined) beat();
      return true;
    },
    stop() {
      unsubscribe();
      for (const response of open) response.end();
      open.clear();
      heartbeat?.cancel();
    },
  };
}

function frameOf(event: AdminEvent): Buffer {
  return Buffer.from(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

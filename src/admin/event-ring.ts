import type { AdminEvent } from "./schemas.js";
import type { EventContent } from "./service.js";

/** Events kept for those who come back: some minutes of a bad day, a few hundred KiB. */
const RING_EVENTS = 1_000;

/** Gets every event as it happens. */
export type EventListener = (event: AdminEvent) => void;

/** The newest events, and whoever listens. */
export interface EventLog {
  /** Numbers an event, keeps it and tells every listener. */
  publish(content: EventContent): void;
  /** Id of the newest event. */
  readonly lastId: string;
  /**
   * The events after the one with this id; undefined when they are not all there any more, or the id is not from
   * this run of the server: the reader has to look at everything anew.
   */
  since(id: string): readonly AdminEvent[] | undefined;
  /** The newest events, oldest first. */
  newest(count: number): readonly AdminEvent[];
  /** @returns ends the subscription */
  subscribe(listener: EventListener): () => void;
}

/**
 * Begins an empty log.
 *
 * @param startedMs start of the server: ids of another run are told apart by it
 */
export function createEventLog(clock: { wallMs(): number }, startedMs: number, ringEvents = RING_EVENTS): EventLog {
  const run = Math.floor(startedMs).toString(36);
  const ring: AdminEvent[] = [];
  const listeners = new Set<EventListener>();
  let count = 0;
  const idOf = (number: number) => `${run}-${number}`;

  return {
    publish(content) {
      count += 1;
      const event = { id: idOf(count), atMs: clock.wallMs(), ...content } as AdminEvent;
      ring.push(event);
      if (ring.length > ringEvents) ring.shift();
      for (const listener of listeners) listener(event);
    },
    get lastId() {
      return idOf(count);
    },
    since(id) {
      const match = /^([0-9a-z]{1,16})-(0|[1-9][0-9]{0,14})$/.exec(id);
      const number = Number(match?.[2]);
      if (match?.[1] !== run || number > count || number < count - ring.length) return undefined;
      return ring.slice(ring.length - (count - number));
    },
    newest: (count) => ring.slice(-count),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

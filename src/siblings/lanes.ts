import type { Speaking } from "./host.js";
import type { Reply } from "./messages.js";

/**
 * Connections to one sibling beside the first. Where packets are lost, TCP waits twice as long after each further loss, and a
 * connection that waits delays everything behind it. What must arrive soon is said on all of them, and the first reply counts:
 * at 30 % loss, one connection in twelve needs more than two seconds, and hardly ever four at once.
 */
export const LANES = 3;

type Spoke = Pick<Speaking, "start" | "stop" | "ask" | "keysChanged">;

/** The connections to one sibling: the first one, and the lanes beside it. */
export class Lanes {
  readonly #first: Pick<Speaking, "ask">;
  readonly #newLane: (lane: number) => Spoke;
  #lanes: readonly Spoke[] = [];
  readonly #nextId: () => number;

  /**
   * @param nextId number of a question that no connection of the link has used
   * @param newLane makes a lane by its number, from 1
   */
  constructor(first: Pick<Speaking, "ask">, nextId: () => number, newLane: (lane: number) => Spoke) {
    this.#first = first;
    this.#nextId = nextId;
    this.#newLane = newLane;
  }

  /** Has as many lanes from now on as the sibling takes. */
  open(count: number): void {
    const wanted = Math.min(LANES, count);
    for (const lane of this.#lanes.slice(wanted)) lane.stop();
    const kept = this.#lanes.slice(0, wanted);
    const added = Array.from({ length: wanted - kept.length }, (_, index) => this.#newLane(kept.length + index + 1));
    this.#lanes = [...kept, ...added];
    for (const lane of added) lane.start();
  }

  keysChanged(): void {
    for (const lane of this.#lanes) lane.keysChanged();
  }

  stop(): void {
    this.open(0);
  }

  /** Asks on all connections. @returns the first reply; undefined if none comes in time. @param withinMs milliseconds */
  ask(message: object, withinMs: number): Promise<Reply | undefined> {
    // The same on each: so the sibling knows that it is one question.
    const id = this.#nextId();
    const asked = [this.#first, ...this.#lanes].map((one) => one.ask(message, withinMs, id));
    return new Promise((resolve) => {
      let open = asked.length;
      for (const one of asked) {
        void one.then((reply) => {
          open -= 1;
          if (reply !== undefined || open === 0) resolve(reply);
        });
      }
    });
  }
}

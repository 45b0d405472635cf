import type { Clock } from "./clock.js";

/**
 * A moment on a hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): it follows the wall clock, but never
 * goes back, and is later than every stamp that was seen before. So servers whose clocks differ agree on what was said last.
 */
export interface Stamp {
  /** Milliseconds since 1970, of the furthest wall clock that was heard of. */
  readonly ms: number;
  /** Tells stamps of one millisecond apart. */
  readonly count: number;
  /** The server that made it; the empty string for one without siblings. Breaks ties. */
  readonly by: string;
}

/** Largest `ms`: a Date holds no more. */
export const MAX_STAMP_MS = 8.64e15;

/** Largest `count`. */
export const MAX_STAMP_COUNT = 2 ** 31;

/** Below 0 if `a` is before `b`, 0 if they are the same, above 0 if it is after. */
export function compareStamps(a: Stamp, b: Stamp): number {
  if (a.ms !== b.ms) return a.ms - b.ms;
  if (a.count !== b.count) return a.count - b.count;
  return a.by < b.by ? -1 : Number(a.by > b.by);
}

/** Makes stamps that are later than every one that it made or saw. */
export class HybridClock {
  readonly #clock: Pick<Clock, "wallMs">;
  #ms = 0;
  #count = 0;

  constructor(clock: Pick<Clock, "wallMs">) {
    this.#clock = clock;
  }

  /** @param by the server that it is made by */
  next(by: string): Stamp {
    const wallMs = Math.floor(this.#clock.wallMs());
    if (wallMs > this.#ms) {
      this.#ms = wallMs;
      this.#count = 0;
    } else if (this.#count >= MAX_STAMP_COUNT) {
      this.#ms += 1;
      this.#count = 0;
    } else {
      this.#count += 1;
    }
    return { ms: this.#ms, count: this.#count, by };
  }

  /** Takes note of a stamp: the next one is later. */
  see({ ms, count }: Stamp): void {
    if (ms > this.#ms) {
      this.#ms = ms;
      this.#count = count;
    } else if (ms === this.#ms) this.#count = Math.max(this.#count, count);
  }
}

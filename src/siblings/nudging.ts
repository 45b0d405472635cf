import type { Clock, Timer } from "../lib/clock.js";

/**
 * Time between two nudges, milliseconds. TCP repeats a lost segment at once when it sees that a later one has arrived (RFC 8985);
 * with nothing behind it, only after 200 ms, and after twice the time before for each further loss. So nudges follow whatever is
 * said, a few of them within those 200 ms.
 */
const NUDGE_MS = 10;

/** Nudges after which they come more rarely: something else than loss is amiss. */
const MANY = 100;
const RARE_MS = 200;

/** Time without a confirmation after which the connection is given up, milliseconds. A new one is quicker than a TCP that waits. */
const GIVE_UP_MS = 5_000;

export interface NudgingOptions {
  readonly clock: Clock;
  nudge(n: number): void;
  /** Whether a reply is waited for: its way is nudged too, since each nudge is confirmed behind it. */
  isWaiting(): boolean;
  /** Nothing arrives. */
  onGivenUp(): void;
}

/** Sees to it that what was said on a connection arrives soon, and finds out if it does not. */
export class Nudging {
  readonly #options: NudgingOptions;
  #said = 0;
  #confirmed = 0;
  #nudges = 0;
  /** Monotonic moment since which something is not confirmed. */
  #sinceMs = 0;
  #timer: Timer | undefined;

  constructor(options: NudgingOptions) {
    this.#options = options;
  }

  /** Something was said. */
  said(): void {
    if (this.#said === this.#confirmed) this.#sinceMs = this.#options.clock.monotonicMs();
    this.#said += 1;
    if (this.#timer === undefined) this.#plan();
  }

  /** The nudge `n` has arrived. */
  heard(n: number): void {
    if (n <= this.#confirmed || n > this.#said) return;
    this.#confirmed = n;
    this.#sinceMs = this.#options.clock.monotonicMs();
    this.#nudges = 0;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #plan(): void {
    const { clock } = this.#options;
    this.#timer = clock.after(this.#nudges < MANY ? NUDGE_MS : RARE_MS, () => {
      this.#timer = undefined;
      this.#look();
    });
  }

  #look(): void {
    const { clock, nudge, isWaiting, onGivenUp } = this.#options;
    const isUnconfirmed = this.#said > this.#confirmed;
    if (!isUnconfirmed && !isWaiting()) return;
    if (isUnconfirmed && clock.monotonicMs() - this.#sinceMs > GIVE_UP_MS) {
      onGivenUp();
      return;
    }
    this.#nudges += 1;
    nudge(this.#said);
    this.#plan();
  }
}

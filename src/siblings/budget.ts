/** What one connection may bring: lines and octets a second on average, and in a burst. */
export interface BudgetLimits {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket over the monotonic clock. */
export class Budget {
  readonly #limits: BudgetLimits;
  #left: number;
  #atMs: number;

  constructor(limits: BudgetLimits, nowMs: number) {
    this.#limits = limits;
    this.#left = limits.burst;
    this.#atMs = nowMs;
  }

  /** Takes note of what came. @returns milliseconds until there is room again; 0 = there is */
  spend(amount: number, nowMs: number): number {
    const { perSecond, burst } = this.#limits;
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#atMs) * perSecond) / 1_000) - amount;
    this.#atMs = nowMs;
    return this.#left >= 0 ? 0 : Math.ceil((-this.#left * 1_000) / perSecond);
  }
}

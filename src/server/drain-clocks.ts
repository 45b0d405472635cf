import type { Answerable } from "../health/answerable.js";
import { type DrainClock, newDrainClock, tick, untilSafeMs } from "../health/drain-clock.js";
import type { Clock } from "../lib/clock.js";

/** What a drain clock is told of an endpoint: its targets as configured, and the answers. */
export interface AnsweredEndpoint {
  readonly config: {
    readonly fqdn: string;
    /** Seconds. */
    readonly ttl: number;
    readonly targets: readonly { readonly id: string; readonly addresses: readonly string[] }[];
  };
  readonly answerable: Answerable;
}

/** The drain clock of every target, and of those that have gone for as long as caches may hold them. */
export class DrainClocks {
  readonly #clock: Clock;
  readonly #startedMs: number;
  /** By fqdn and target. */
  readonly #clocks = new Map<string, DrainClock>();
  /** Targets that have gone, in the order in which they went. */
  readonly #gone = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** Takes note of what an endpoint answers from now on, by the addresses: a policy may name them without a target. */
  answered({ config: { fqdn, ttl, targets }, answerable }: AnsweredEndpoint): void {
    const nowMs = this.#clock.monotonicMs();
    const named = new Set(answerable.addresses.map(({ address }) => address));
    for (const { id, addresses } of targets) {
      const key = `${fqdn} ${id}`;
      const before = this.#clocks.get(key) ?? newDrainClock(ttl, this.#startedMs);
      const isNamed = addresses.some((address) => named.has(address));
      this.#clocks.set(key, tick(before, isNamed ? ttl : undefined, nowMs));
      this.#gone.delete(key);
    }
  }

  /** Takes note that targets are gone: those of `before` that are not among `stay`. */
  gone({ config: { fqdn, targets } }: AnsweredEndpoint, stay: ReadonlySet<string>): void {
    const nowMs = this.#clock.monotonicMs();
    for (const { id } of targets) {
      const key = `${fqdn} ${id}`;
      const clock = this.#clocks.get(key);
      if (stay.has(id) || clock === undefined) continue;
      this.#clocks.set(key, tick(clock, undefined, nowMs));
      this.#gone.add(key);
    }
    this.#forgetSafe(nowMs);
  }

  /** Milliseconds until no cache can hold the target; `undefined` while answers name it, or if nothing is known of it. */
  untilSafeMs(fqdn: string, target: string): number | undefined {
    const clock = this.#clocks.get(`${fqdn} ${target}`);
    return clock && untilSafeMs(clock, this.#clock.monotonicMs());
  }

  /** Lets go of targets that went first and that no cache holds any more. */
  #forgetSafe(nowMs: number): void {
    for (const key of this.#gone) {
      const clock = this.#clocks.get(key);
      if (clock !== undefined && untilSafeMs(clock, nowMs) !== 0) return;
      this.#clocks.delete(key);
      this.#gone.delete(key);
    }
  }
}

import type { Clock } from "../lib/clock.js";
import type { QueryTotals } from "../query/counters.js";
import { RCODE } from "../wire/constants.js";

/** Milliseconds between two samples. */
export const SAMPLE_EVERY_MS = 10_000;

/** Samples kept: an hour. */
export const KEPT_SAMPLES = 360;

/** What is counted, in the order in which the page stacks it. */
const COUNTED_REPLIES = ["noerror", "nxdomain", "refused", "servfail", "other", "dropped"] as const;
export type CountedReply = (typeof COUNTED_REPLIES)[number];

const NAMED: Readonly<Record<number, CountedReply>> = {
  [RCODE.NOERROR]: "noerror",
  [RCODE.NXDOMAIN]: "nxdomain",
  [RCODE.REFUSED]: "refused",
  [RCODE.SERVFAIL]: "servfail",
};

function countsOf({ responses, dropped }: QueryTotals): Record<CountedReply, number> {
  const counts = { noerror: 0, nxdomain: 0, refused: 0, servfail: 0, other: 0, dropped: 0 };
  for (const { rcode, count } of responses) counts[NAMED[rcode] ?? "other"] += count;
  for (const { count } of dropped) counts.dropped += count;
  return counts;
}

/** Replies a second in the last hour, by what they were. */
export class QueryHistory {
  readonly #clock: Clock;
  readonly #totals: () => QueryTotals;
  readonly #isStopping: () => boolean;
  /** One column for each of {@link COUNTED_REPLIES}. */
  readonly #rates = COUNTED_REPLIES.map(() => new Float32Array(KEPT_SAMPLES));
  #before: Record<CountedReply, number>;
  #beforeMs: number;
  #count = 0;
  #untilMs = 0;

  constructor(clock: Clock, totals: () => QueryTotals, isStopping: () => boolean) {
    this.#clock = clock;
    this.#totals = totals;
    this.#isStopping = isStopping;
    this.#before = countsOf(totals());
    this.#beforeMs = clock.monotonicMs();
    this.#wait();
  }

  #wait(): void {
    this.#clock.after(SAMPLE_EVERY_MS, () => {
      if (this.#isStopping()) return;
      this.#sample();
      this.#wait();
    });
  }

  #sample(): void {
    const counts = countsOf(this.#totals());
    const nowMs = this.#clock.monotonicMs();
    const seconds = Math.max(0.001, (nowMs - this.#beforeMs) / 1000);
    COUNTED_REPLIES.forEach((name, column) => {
      // A thread that was replaced counts from 0 again.
      const rate = Math.max(0, counts[name] - this.#before[name]) / seconds;
      (this.#rates[column] as Float32Array)[this.#count % KEPT_SAMPLES] = rate;
    });
    this.#count += 1;
    this.#before = counts;
    this.#beforeMs = nowMs;
    this.#untilMs = this.#clock.wallMs();
  }

  /** Samples, oldest first; the last one ended at `untilMs`, milliseconds since 1970. */
  read(): { readonly untilMs: number; readonly rates: Record<CountedReply, number[]> } {
    const kept = Math.min(this.#count, KEPT_SAMPLES);
    const column = (index: number) =>
      Array.from({ length: kept }, (_, sample) => {
        const rate = this.#rates[index]?.[(this.#count - kept + sample) % KEPT_SAMPLES] ?? 0;
        return Math.round(rate * 10) / 10;
      });
    const rates = Object.fromEntries(COUNTED_REPLIES.map((name, index) => [name, column(index)]));
    return { untilMs: this.#untilMs, rates: rates as Record<CountedReply, number[]> };
  }
}

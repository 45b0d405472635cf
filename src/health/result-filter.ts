import type { ProbeConfig } from "../config/config.js";
import type { Clock } from "../lib/clock.js";
import type { ProbeResult, ResultClass } from "./health.js";
import {
  type IsolationState,
  type NetworkObservation,
  NOT_ISOLATED,
  observeNetwork,
  withoutPresumption,
} from "./isolation.js";
import { isNetworkFailure } from "./state.js";
import { createWatchdog, type Watchdog } from "./watchdog.js";

/** A failure that our own trouble can cause counts for nothing if this process stood still for this part of the timeout. */
const STALL_PART = 0.25;

/** Failures that our own trouble can cause: the probe began or listened too late. */
const SOFT_CLASSES: ReadonlySet<ResultClass> = new Set(["timeout", "unreachable", "reset"]);

/**
 * Why a failure is not held against an address: `stalled`, this process did not run properly meanwhile; `isolated`,
 * no connection can be made to any address.
 */
export type Ignored = "stalled" | "isolated";

/** What is remembered of one probe job. */
export interface FilteredJob {
  /** Its newest result is a network failure. */
  cutOff: boolean;
}

export interface ResultFilterOptions {
  readonly clock: Clock;
  /** Whether somebody else knows if this server is cut off, so that it need not presume it. */
  knowsBetter(): boolean;
  /** See {@link createWatchdog}. */
  onStall(lengthMs: number): void;
  /** Called before the result that shows it is counted or not. */
  onIsolation(isolated: boolean): void;
}

/** One finished probe. */
export interface FilteredResult {
  readonly config: ProbeConfig;
  readonly result: ProbeResult;
  /** Monotonic, as is the end. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** Probe jobs that there are. */
  readonly addresses: number;
}

/** Tells failures of targets from failures of this process and its network. */
export class ResultFilter {
  readonly #clock: Clock;
  readonly #watchdog: Watchdog;
  readonly #onIsolation: (isolated: boolean) => void;
  readonly #knowsBetter: () => boolean;
  #isolation: IsolationState = NOT_ISOLATED;
  /** Jobs whose newest result is a network failure. */
  #cutOff = 0;

  constructor({ clock, knowsBetter, onStall, onIsolation }: ResultFilterOptions) {
    this.#clock = clock;
    this.#watchdog = createWatchdog(clock, onStall);
    this.#onIsolation = onIsolation;
    this.#knowsBetter = knowsBetter;
  }

  start(): void {
    this.#watchdog.start();
  }

  stop(): void {
    this.#watchdog.stop();
  }

  /** Takes note of a finished probe, and says whether to leave it out. */
  judge(job: FilteredJob, { config, result, startedMs, endedMs, addresses }: FilteredResult): Ignored | undefined {
    const { intervalMs, timeoutMs } = config;
    const isSoft = SOFT_CLASSES.has(result.class);
    if (isSoft && this.#watchdog.longestStallMs(startedMs) >= STALL_PART * timeoutMs) return "stalled";
    const isCutOff = isNetworkFailure(result);
    this.#mark(job, isCutOff);
    this.#observe({ isCutOff, endedMs, intervalMs, addresses, cutOff: this.#cutOff });
    return isCutOff && (this.#isolation.isolated || startedMs < this.#isolation.trustFromMs) ? "isolated" : undefined;
  }

  /**
   * Takes note of a probe that has no connection yet, for longer than any network takes.
   *
   * @param addresses probe jobs that there are
   */
  noteUnconnected(job: FilteredJob, intervalMs: number, addresses: number): void {
    this.#mark(job, true);
    this.#observe({ isCutOff: true, endedMs: this.#clock.monotonicMs(), intervalMs, addresses, cutOff: this.#cutOff });
  }

  /** Takes note that a job is gone. */
  forget(job: FilteredJob): void {
    this.#mark(job, false);
  }

  get isolated(): boolean {
    return this.#isolation.isolated;
  }

  /**
   * See {@link IsolationState.connectedMs}. Undefined while others know whether this server is cut off: then no failure of an
   * address is presumed to be our own.
   */
  get connectedMs(): number | undefined {
    return this.#knowsBetter() ? undefined : this.#isolation.connectedMs;
  }

  #observe(seen: NetworkObservation): void {
    const { isolated: wasIsolated } = this.#isolation;
    const next = observeNetwork(this.#isolation, seen);
    this.#isolation = next.isolated && this.#knowsBetter() ? withoutPresumption(next) : next;
    if (wasIsolated !== this.#isolation.isolated) this.#onIsolation(this.#isolation.isolated);
  }

  #mark(job: FilteredJob, isCutOff: boolean): void {
    if (job.cutOff !== isCutOff) this.#cutOff += isCutOff ? 1 : -1;
    job.cutOff = isCutOff;
  }
}

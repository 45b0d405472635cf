import type { ProbeConfig } from "../config/config.js";
import type { Clock } from "../lib/clock.js";
import type { ProbeResult, ResultClass } from "./health.js";
import { type IsolationState, NOT_ISOLATED, observeNetwork } from "./isolation.js";
import { isNetworkClass } from "./state.js";
import { createWatchdog } from "./watchdog.js";

/** A failure that can come of our own trouble counts for nothing if we stood still for this part of the timeout. */
const STALL_PART = 0.25;

/** Failures that can come of our own trouble: we asked or listened too late. */
const SOFT_CLASSES: ReadonlySet<ResultClass> = new Set(["timeout", "unreachable", "reset"]);

/**
 * Why a failure is not held against an address: `stalled`, this process did not run properly meanwhile; `isolated`,
 * nothing gets through to anybody.
 */
export type Ignored = "stalled" | "isolated";

/** What is remembered of one thing that is probed. */
export interface Doubted {
  /** Its newest result is of a class that a prober without a network would see. */
  cutOff: boolean;
}

export interface DoubtsOptions {
  readonly clock: Clock;
  /** See {@link createWatchdog}. */
  onStall(lengthMs: number): void;
  /** Called before the result that shows it is counted or not. */
  onIsolation(isolated: boolean): void;
}

/** One finished probe. */
export interface Finished {
  readonly config: ProbeConfig;
  readonly result: ProbeResult;
  /** Monotonic, as is the end. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** Things that are probed. */
  readonly addresses: number;
}

/** Tells failures of targets from failures of ours: the watchdog and the isolation of the prober together. */
export interface Doubts {
  start(): void;
  stop(): void;
  /** Takes note of a finished probe, and says whether to leave it out. */
  judge(check: Doubted, finished: Finished): Ignored | undefined;
  /** Takes note that a thing is not probed any more. */
  forget(check: Doubted): void;
  readonly isolated: boolean;
  /** See {@link IsolationState.connectedMs}. */
  readonly connectedMs: number;
}

export function createDoubts({ clock, onStall, onIsolation }: DoubtsOptions): Doubts {
  const watchdog = createWatchdog(clock, onStall);
  let isolation: IsolationState = NOT_ISOLATED;
  /** Things that are {@link Doubted.cutOff}. */
  let cutOff = 0;

  function mark(check: Doubted, isCutOff: boolean): void {
    if (check.cutOff !== isCutOff) cutOff += isCutOff ? 1 : -1;
    check.cutOff = isCutOff;
  }

  return {
    start: watchdog.start,
    stop: watchdog.stop,
    judge(check, { config: { intervalMs, timeoutMs }, result, startedMs, endedMs, addresses }) {
      const isSoft = SOFT_CLASSES.has(result.class);
      if (isSoft && watchdog.longestStallMs(startedMs) >= STALL_PART * timeoutMs) return "stalled";
      const isCutOff = isNetworkClass(result.class);
      mark(check, isCutOff);
      const { isolated: wasIsolated } = isolation;
      isolation = observeNetwork(isolation, { isCutOff, endedMs, intervalMs, addresses, cutOff });
      if (wasIsolated !== isolation.isolated) onIsolation(isolation.isolated);
      return isCutOff && (isolation.isolated || startedMs < isolation.trustFromMs) ? "isolated" : undefined;
    },
    forget: (check) => mark(check, false),
    get isolated() {
      return isolation.isolated;
    },
    get connectedMs() {
      return isolation.connectedMs;
    },
  };
}

import type { Clock, Timer } from "../lib/clock.js";

/** Time between two looks at the clocks, milliseconds. */
const LOOK_EVERY_MS = 200;

/** Stalls shorter than this are the ordinary course of a busy process, milliseconds. */
const MIN_STALL_MS = 100;

/** Stalls that are remembered, newest last; those of many minutes fit. */
const MAX_STALLS = 32;

/** A time in which this process did not run, or not properly. Monotonic, milliseconds. */
interface Stall {
  readonly endedMs: number;
  readonly lengthMs: number;
}

/** Notices when this process did not get to run: a busy event loop, a stopped process, a suspended machine. */
export interface Watchdog {
  start(): void;
  stop(): void;
  /** The longest stall, milliseconds, that ended after this monotonic moment; 0 without one. Up to date when asked. */
  longestStallMs(sinceMs: number): number;
}

/**
 * The monotonic clock stands still while a machine is suspended; the boot time goes on. Where the machine does not tell
 * its boot time, a suspended machine is not noticed. The wall clock is not asked: it may be set.
 *
 * @param onStall called once for each stall, as soon as the process runs again
 */
export function createWatchdog(clock: Clock, onStall: (lengthMs: number) => void): Watchdog {
  const stalls: Stall[] = [];
  let timer: Timer | undefined;
  let lookedMs = 0;
  let lookedBootMs: number | undefined;

  function look(): void {
    const nowMs = clock.monotonicMs();
    const bootMs = bootTime(clock);
    const lateMs = nowMs - lookedMs - LOOK_EVERY_MS;
    const bootPassedMs = bootMs === undefined || lookedBootMs === undefined ? undefined : bootMs - lookedBootMs;
    const jumpMs = (bootPassedMs ?? nowMs - lookedMs) - (nowMs - lookedMs);
    const lengthMs = Math.max(lateMs, jumpMs);
    lookedMs = nowMs;
    lookedBootMs = bootMs;
    if (lengthMs < MIN_STALL_MS) return;
    stalls.push({ endedMs: nowMs, lengthMs });
    if (stalls.length > MAX_STALLS) stalls.shift();
    onStall(lengthMs);
  }

  function lookAgain(): void {
    timer = clock.after(LOOK_EVERY_MS, () => {
      look();
      lookAgain();
    });
  }

  return {
    start() {
      lookedMs = clock.monotonicMs();
      lookedBootMs = bootTime(clock);
      lookAgain();
    },
    stop: () => timer?.cancel(),
    longestStallMs(sinceMs) {
      if (clock.monotonicMs() - lookedMs >= LOOK_EVERY_MS) look();
      let longestMs = 0;
      for (const { endedMs, lengthMs } of stalls) if (endedMs > sinceMs) longestMs = Math.max(longestMs, lengthMs);
      return longestMs;
    },
  };
}

/** Undefined where the machine does not tell, or not at the moment. */
function bootTime(clock: Clock): number | undefined {
  try {
    return clock.bootMs?.();
  } catch {
    return undefined;
  }
}

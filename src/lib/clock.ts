import { openSync, readSync } from "node:fs";

/**
 * The two clocks and the timers livezone runs on, as one seam that tests replace.
 *
 * Health decisions use the monotonic clock only, so that a stepped wall clock never moves a target; the wall
 * clock appears in serials, certificates' dates and what people read.
 */
export interface Clock {
  /** Milliseconds on a clock that never jumps; its zero is arbitrary. Fractions carry microseconds. */
  monotonicMs(): number;
  /** Milliseconds since 1970-01-01T00:00:00Z by the system's clock. May jump. */
  wallMs(): number;
  /**
   * Milliseconds since the machine was started, the time for which it was suspended included; its zero is arbitrary.
   * Absent where the machine does not tell. With {@link monotonicMs}, which stands still meanwhile, it tells a suspended
   * machine from a wall clock that was set.
   */
  bootMs?(): number;
  /** Runs `task` once after `delayMs` (at least 0). The timer does not keep the process alive. */
  after(delayMs: number, task: () => void): Timer;
}

/** A pending task of {@link Clock.after}. */
export interface Timer {
  /** Forgets the task; harmless once it has run. */
  cancel(): void;
}

/** Linux: seconds since the start with two digits, by CLOCK_BOOTTIME. Read some times a second: the file stays open. */
const UPTIME_FILE = "/proc/uptime";
const uptime = { file: -1, text: Buffer.alloc(64) };

function bootMs(): number {
  if (uptime.file < 0) uptime.file = openSync(UPTIME_FILE, "r");
  const length = readSync(uptime.file, uptime.text, 0, uptime.text.length, 0);
  return Number.parseFloat(uptime.text.toString("latin1", 0, length)) * 1000;
}

function hasBootTime(): boolean {
  try {
    return Number.isFinite(bootMs());
  } catch {
    return false;
  }
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  ...(hasBootTime() ? { bootMs } : {}),
  after(delayMs, task) {
    const handle = setTimeout(task, delayMs);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs`. Like every timer of a {@link Clock}, it does not keep the process alive. */
export function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(delayMs, resolve));
}

/**
 * A clock that is read once for a batch of queries, since reading the machine's takes 40 ns. Between batches it is the
 * clock that it was made of.
 */
export class BatchClock {
  private isInBatch = false;
  /** What was read in this batch; NaN before the first reading. */
  private batchMonotonicMs = Number.NaN;
  private batchWallMs = Number.NaN;

  constructor(private readonly clock: Pick<Clock, "monotonicMs" | "wallMs">) {}

  /** Begins a batch: until {@link endBatch} the clocks stand still. */
  beginBatch(): void {
    this.isInBatch = true;
    this.batchMonotonicMs = Number.NaN;
    this.batchWallMs = Number.NaN;
  }

  endBatch(): void {
    this.isInBatch = false;
  }

  /** As {@link Clock.monotonicMs}. */
  monotonicMs(): number {
    if (!this.isInBatch) return this.clock.monotonicMs();
    if (Number.isNaN(this.batchMonotonicMs)) this.batchMonotonicMs = this.clock.monotonicMs();
    return this.batchMonotonicMs;
  }

  /** As {@link Clock.wallMs}. */
  wallMs(): number {
    if (!this.isInBatch) return this.clock.wallMs();
    if (Number.isNaN(this.batchWallMs)) this.batchWallMs = this.clock.wallMs();
    return this.batchWallMs;
  }
}

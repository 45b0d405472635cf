import type { Clock } from "../../src/lib/clock.js";

/** A {@link Clock} that stands still until told. */
export interface FakeClock extends Clock {
  /**
   * Lets `ms` pass: runs each timer that falls due at its own moment, in order, and after each moment everything
   * that was promised, so that what a timer sets going may set the next timer.
   */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone, as an administrator or NTP would. */
  stepWall(ms: number): void;
  /** Timers that are pending. */
  readonly pendingTimers: number;
}

interface Pending {
  readonly atMs: number;
  readonly order: number;
  readonly task: () => void;
}

/** @param wallStartMs the wall clock at the beginning; default 2026-01-01T00:00:00Z. The monotonic clock starts at 0. */
export function createFakeClock(wallStartMs = Date.UTC(2026, 0, 1)): FakeClock {
  let nowMs = 0;
  let wallOffsetMs = wallStartMs;
  let order = 0;
  /** A binary heap, earliest first; cancelled timers leave when they come to the top. */
  const heap: Pending[] = [];
  const live = new Set<Pending>();

  const before = (a: Pending, b: Pending) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

  function push(item: Pending): void {
    let index = heap.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(item, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = item;
  }

  function pop(): void {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
      if (!before(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }

  /** The earliest timer that is not cancelled. */
  function earliest(): Pending | undefined {
    while (heap[0] !== undefined && !live.has(heap[0])) pop();
    return heap[0];
  }

  return {
    monotonicMs: () => nowMs,
    wallMs: () => wallOffsetMs + nowMs,
    after(delayMs, task) {
      order += 1;
      const item = { atMs: nowMs + Math.max(0, delayMs), order, task };
      live.add(item);
      push(item);
      return { cancel: () => live.delete(item) };
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      await settled();
      for (let next = earliest(); next !== undefined && next.atMs <= endMs; next = earliest()) {
        nowMs = next.atMs;
        live.delete(next);
        next.task();
        // Others of the same moment run before anything that this one promised, as with the machine's timers.
        const following = earliest();
        if (following === undefined || following.atMs > nowMs) await settled();
      }
      nowMs = endMs;
    },
    stepWall(ms) {
      wallOffsetMs += ms;
    },
    get pendingTimers() {
      return live.size;
    },
  };
}

/**
 * Lets time pass in steps of 10 ms until `condition` holds.
 *
 * @throws Error after 10 minutes of that time
 */
export async function advanceUntil(advance: (ms: number) => Promise<void>, condition: () => boolean): Promise<void> {
  for (let step = 0; !condition(); step += 1) {
    if (step === 60_000) throw new Error(`10 minutes passed in vain for ${condition}`);
    await advance(10);
  }
}

/** Resolves when every promise chain that could move has done so. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

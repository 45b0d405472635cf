import type { Clock } from "../lib/clock.js";

/** Waits, and keeps the process alive meanwhile as a command must. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 1_000);
    clock.after(ms, () => {
      clearInterval(alive);
      resolve();
    });
  });
}

/** Runs `task` on every item, at most `limit` at a time; the results are in the order of the items. */
export async function mapLimited<T, R>(
  items: readonly T[],
  limit: number,
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await task(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  return results;
}

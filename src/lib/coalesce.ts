/**
 * Makes of a task one that runs once at a time: calls made while it runs share one run after it, however many they are,
 * since that run sees whatever any of them was about.
 *
 * @param run may reject; so do the calls it was for
 */
export function coalesce<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let waiting: Promise<T> | undefined;

  function start(): Promise<T> {
    const mine = run().finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    return mine;
  }

  return () => {
    if (running === undefined) return start();
    waiting ??= running
      .catch(() => undefined)
      .then(() => {
        waiting = undefined;
        return start();
      });
    return waiting;
  };
}

/** How long to wait, and for what. */
export interface WaitOptions {
  /** Milliseconds until it counts as failed. Default 20 000. */
  readonly timeoutMs?: number;
  /** Milliseconds between two looks. Default 20. */
  readonly everyMs?: number;
  /** What is awaited, for the error; a function is asked at the end, so that it can tell what there was instead. */
  readonly describe?: string | (() => string);
}

/**
 * Looks again and again until `look` gives something truthy, and returns that. An error thrown by `look` counts as
 * "not yet" and is named if time runs out.
 */
export async function waitUntil<T>(look: () => T | Promise<T>, options: WaitOptions = {}): Promise<T & {}> {
  const { timeoutMs = 20_000, everyMs = 20, describe = "a condition" } = options;
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  while (true) {
    try {
      const found = await look();
      if (found) return found;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() >= deadline) {
      const what = typeof describe === "string" ? describe : describe();
      throw new Error(`waited ${timeoutMs} ms in vain for ${what}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

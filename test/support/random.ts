/**
 * The seed of this run, printed when it begins: `LIVEZONE_TEST_SEED` of the environment, where the set-up of the run has
 * put one if it was not given. 1 outside a run.
 */
export const RUN_SEED = Number(process.env.LIVEZONE_TEST_SEED ?? 1);

/**
 * Numbers as `Math.random` makes them, the same in every run with the same {@link RUN_SEED}.
 *
 * @param which tells several sources of one test apart
 */
export function runRandom(which = 0): () => number {
  return seededRandom(RUN_SEED + which);
}

/** Numbers from 0 (included) to 1 (not included) that one seed makes again and again: mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One element of a list that has some. */
export function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

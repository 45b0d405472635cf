/** Statistics of a cell. Pure. */

/** The middle one, or the mean of the two in the middle; NaN of nothing. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The largest; NaN of nothing. */
export const worst = (numbers) => (numbers.length === 0 ? Number.NaN : Math.max(...numbers));

export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Random numbers from a seed (mulberry32), from 0 to 1. */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The same things in random order (Fisher and Yates). */
export function shuffled(list, random) {
  const result = [...list];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other], result[last]];
  }
  return result;
}

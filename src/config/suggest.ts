/**
 * The candidate that `word` was probably meant to be, or `undefined` when none is close.
 *
 * Close is an edit distance of at most a third of the longer word's length, at least 1, or a word of which the other
 * is the start (`warning` and `warn`), from 4 letters on; letter case does not count.
 */
export function suggest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const length = Math.max(word.length, candidate.length);
    // A longer difference than this cannot be close; it also bounds the work for a very long word.
    const limit = Math.max(1, Math.floor(length / 3));
    if (Math.abs(word.length - candidate.length) > limit) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  const lower = word.toLowerCase();
  return (
    best ?? [...candidates].find((it) => startsWith(lower, it.toLowerCase()) || startsWith(it.toLowerCase(), lower))
  );
}

function startsWith(word: string, start: string): boolean {
  return start.length >= 4 && word.startsWith(start);
}

/**
 * Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string
 * alignment): a swap is the most common slip of the hand, so it costs one.
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      }
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

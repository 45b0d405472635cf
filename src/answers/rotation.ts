/**
 * The orders in which `count` records are sent, one after the other: a sequence balanced for first-order effects
 * (E. J. Williams, 1949). Over one round of it every record comes first equally often, and every record follows every
 * other equally often, so that the clients of a dead first address are spread over all that remain.
 *
 * @param count records, 1 to 255
 * @returns `count` (even) or 2 × `count` (odd) rows of `count` indexes each, row after row
 */
export function balancedOrders(count: number): Uint8Array {
  const zigzag: number[] = [];
  for (let i = 0; i < count; i += 1) zigzag.push(i % 2 === 0 ? (count - i / 2) % count : (i + 1) / 2);
  const rows = Array.from({ length: count }, (_, shift) => zigzag.map((index) => (index + shift) % count));
  const mirrored = count % 2 === 0 ? [] : rows.map((row) => [...row].reverse());
  return Uint8Array.from([...rows, ...mirrored].flat());
}

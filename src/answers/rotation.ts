/** Above this many records the balanced orders would take more memory than they are worth: they are rotated. */
const MAX_BALANCED = 64;

/** No table of orders: the records are rotated by one place each time. */
const ROTATED = new Uint8Array(0);

/** Balanced orders by number of records, made when first needed. */
const ORDERS: Uint8Array[] = Array.from({ length: MAX_BALANCED + 1 }, () => ROTATED);

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

/** As {@link balancedOrders}, made once; empty above 64 records, which are rotated. */
export function ordersFor(count: number): Uint8Array {
  if (count > MAX_BALANCED) return ROTATED;
  const known = ORDERS[count] as Uint8Array;
  if (known.length > 0) return known;
  const orders = balancedOrders(count);
  ORDERS[count] = orders;
  return orders;
}

/** How many replies it takes until an answer repeats that sends `sent` of its `count` records, at least 1 each. */
export function rotationsOf(count: number, sent: number): number {
  const isOdd = (sent & 1) === 1;
  const rows = sent > MAX_BALANCED || !isOdd ? sent : 2 * sent;
  return sent < count ? count * rows : rows;
}

/** Serials are numbers modulo 2³² (RFC 1982 §2). */
const MODULUS = 2 ** 32;

/**
 * The serial that follows `last`: seconds since 1970 or `last` + 1, whichever is greater in the sense of RFC 1982 §3.2.
 *
 * @param last the serial published before; undefined for the first
 * @param wallMs the present, milliseconds since 1970
 */
export function nextSerial(last: number | undefined, wallMs: number): number {
  const now = Math.floor(wallMs / 1000) % MODULUS;
  if (last === undefined) return now;
  return isSerialNewer(now, last) ? now : (last + 1) % MODULUS;
}

/** Whether `a` comes after `b` (RFC 1982 §3.2); false where the two cannot be compared. */
export function isSerialNewer(a: number, b: number): boolean {
  const distance = (a - b + MODULUS) % MODULUS;
  return distance > 0 && distance < MODULUS / 2;
}

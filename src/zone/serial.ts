/** Serials are numbers modulo 2³² (RFC 1982 §2). */
const MODULUS = 2 ** 32;

/** The serials that one of several primaries of a zone uses: those that leave `remainder` when divided by `modulus`. */
export interface SerialModulo {
  /** 0 to `modulus` - 1. */
  readonly remainder: number;
  /** How many primaries there may be, 2 to 16. */
  readonly modulus: number;
}

/**
 * The serial that follows `last`: seconds since 1970 or `last` + 1, whichever is greater in the sense of RFC 1982 §3.2.
 *
 * @param last the serial published before; undefined for the first
 * @param wallMs the present, milliseconds since 1970
 * @param modulo the first such serial from there on; absent = every serial
 */
export function nextSerial(last: number | undefined, wallMs: number, modulo?: SerialModulo): number {
  const now = serialAt(wallMs);
  const next = last === undefined || isSerialNewer(now, last) ? now : serialAfter(last, 1);
  return modulo === undefined ? next : firstFitting(next, modulo);
}

function firstFitting(serial: number, { remainder, modulus }: SerialModulo): number {
  const fitting = serial + ((remainder - (serial % modulus) + modulus) % modulus);
  // 2³² is no multiple of most moduli, so the count begins anew behind it.
  return fitting < MODULUS ? fitting : remainder;
}

/** The serial that a moment gives: seconds since 1970. @param wallMs milliseconds since 1970 */
export function serialAt(wallMs: number): number {
  return Math.floor(wallMs / 1000) % MODULUS;
}

/** The serial `count` further on. @param count 0 to 2³¹ - 1 */
export function serialAfter(serial: number, count: number): number {
  return (serial + count) % MODULUS;
}

/** The one that comes after the other; the first where the two cannot be compared. */
export function laterSerial(a: number, b: number): number {
  return isSerialNewer(b, a) ? b : a;
}

/** Whether `a` comes after `b` (RFC 1982 §3.2); false where the two cannot be compared. */
export function isSerialNewer(a: number, b: number): boolean {
  const distance = (a - b + MODULUS) % MODULUS;
  return distance > 0 && distance < MODULUS / 2;
}

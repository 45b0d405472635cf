/** Octets of the key (J.-P. Aumasson, D. J. Bernstein: SipHash, 2012, §2.1). */
export const SIPHASH_KEY_OCTETS = 16;

/** Octets of the result. */
export const SIPHASH_OCTETS = 8;

/** The four 64-bit words of the state as pairs of 32-bit halves, low half first. */
const state = new Uint32Array(8);

/**
 * SipHash-2-4 (the paper above, §2), the keyed hash of interoperable server cookies (RFC 9018 §4.4).
 *
 * @param key 16 octets
 * @param result takes the 8 octets of the hash from `resultAt` on, least significant first, as RFC 9018 has them
 */
export function sipHash24(key: Uint8Array, message: Uint8Array, result: Uint8Array, resultAt: number): void {
  const keyLow0 = u32(key, 0);
  const keyHigh0 = u32(key, 4);
  const keyLow1 = u32(key, 8);
  const keyHigh1 = u32(key, 12);
  // "somepseudorandomlygeneratedbytes", as the paper begins.
  state[0] = keyLow0 ^ 0x70736575;
  state[1] = keyHigh0 ^ 0x736f6d65;
  state[2] = keyLow1 ^ 0x6e646f6d;
  state[3] = keyHigh1 ^ 0x646f7261;
  state[4] = keyLow0 ^ 0x6e657261;
  state[5] = keyHigh0 ^ 0x6c796765;
  state[6] = keyLow1 ^ 0x79746573;
  state[7] = keyHigh1 ^ 0x74656462;

  const whole = message.length & ~7;
  for (let at = 0; at < whole; at += 8) compress(u32(message, at), u32(message, at + 4));
  let low = 0;
  let high = message.length << 24;
  for (let i = whole; i < message.length; i += 1) {
    const octet = message[i] as number;
    if (i - whole < 4) low |= octet << (8 * (i - whole));
    else high |= octet << (8 * (i - whole - 4));
  }
  compress(low, high);

  state[4] = word(4) ^ 0xff;
  for (let i = 0; i < 4; i += 1) round();
  put32(result, resultAt, word(0) ^ word(2) ^ word(4) ^ word(6));
  put32(result, resultAt + 4, word(1) ^ word(3) ^ word(5) ^ word(7));
}

function compress(low: number, high: number): void {
  state[6] = word(6) ^ low;
  state[7] = word(7) ^ high;
  round();
  round();
  state[0] = word(0) ^ low;
  state[1] = word(1) ^ high;
}

/** SipRound (§2.2). */
function round(): void {
  add(0, 2);
  rotate(2, 13);
  mix(2, 0);
  rotate(0, 32);
  add(4, 6);
  rotate(6, 16);
  mix(6, 4);
  add(0, 6);
  rotate(6, 21);
  mix(6, 0);
  add(4, 2);
  rotate(2, 17);
  mix(2, 4);
  rotate(4, 32);
}

/** The 64-bit word at `to` plus that at `from`. */
function add(to: number, from: number): void {
  const low = word(to) + word(from);
  state[to] = low;
  state[to + 1] = word(to + 1) + word(from + 1) + (low > 0xffff_ffff ? 1 : 0);
}

function mix(to: number, from: number): void {
  state[to] = word(to) ^ word(from);
  state[to + 1] = word(to + 1) ^ word(from + 1);
}

/** Rotates the 64-bit word at `at` to the left; `bits` is below 32, or 32. */
function rotate(at: number, bits: number): void {
  const low = word(at);
  const high = word(at + 1);
  if (bits === 32) {
    state[at] = high;
    state[at + 1] = low;
    return;
  }
  state[at] = (low << bits) | (high >>> (32 - bits));
  state[at + 1] = (high << bits) | (low >>> (32 - bits));
}

function word(at: number): number {
  return state[at] as number;
}

function u32(octets: Uint8Array, at: number): number {
  return (
    (octets[at] as number) |
    ((octets[at + 1] as number) << 8) |
    ((octets[at + 2] as number) << 16) |
    ((octets[at + 3] as number) << 24)
  );
}

function put32(octets: Uint8Array, at: number, value: number): void {
  octets[at] = value;
  octets[at + 1] = value >>> 8;
  octets[at + 2] = value >>> 16;
  octets[at + 3] = value >>> 24;
}

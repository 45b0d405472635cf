import type { Client } from "./client.js";

/** How often one prefix is answered over UDP; what `queries.rateLimit` configures. */
export interface RateLimitSettings {
  /** Responses a second and prefix, on average; a burst may take a second's worth at once. 1 to 1 000 000. */
  readonly perSecond: number;
  /** Every how-manieth limited response is sent all the same, truncated; 1: each, 0: none. 0 to 10. */
  readonly slip: number;
  /** Leading bits of an IPv4 address that count as one client. 8 to 32. */
  readonly ipv4Prefix: number;
  /** Of an IPv6 address. 16 to 128. */
  readonly ipv6Prefix: number;
}

/** What to do with a response: send it, send it cut to TC so that an honest client asks over TCP, or nothing. */
export type RateVerdict = "send" | "slip" | "drop";

/** Counts responses by the prefix of who gets them. */
export interface RateLimiter {
  /** Takes one response into account. */
  judge(client: Client): RateVerdict;
}

/** Prefixes in sight at once, a power of two: 16 384 of them take 256 KiB, whoever sends from wherever. */
const BUCKETS = 1 << 14;

/** Places where a prefix may stand; the one not used for longest gives way. */
const WAYS = 4;

/**
 * A token bucket per prefix in a table of fixed size. A flood from many prefixes pushes out old entries, which then
 * begin anew with a full bucket: under such a flood the limit fails open, it never blocks who did nothing.
 *
 * @param monotonicMs milliseconds on a clock that never jumps
 * @param seed makes it unforeseeable which prefixes share places; any 32-bit number
 */
export function createRateLimiter(settings: RateLimitSettings, monotonicMs: () => number, seed: number): RateLimiter {
  const { perSecond, slip, ipv4Prefix, ipv6Prefix } = settings;
  const keys = new Uint32Array(BUCKETS);
  const tokens = new Float32Array(BUCKETS);
  const touchedMs = new Float64Array(BUCKETS).fill(Number.NEGATIVE_INFINITY);
  const limited = new Uint32Array(BUCKETS);

  const bucketOf = (key: number): number => {
    const set = (Math.imul(key, 0x9e3779b1) >>> 18) & ~(WAYS - 1);
    let oldest = set;
    for (let i = set; i < set + WAYS; i += 1) {
      if (keys[i] === key && touchedMs[i] !== Number.NEGATIVE_INFINITY) return i;
      if ((touchedMs[i] as number) < (touchedMs[oldest] as number)) oldest = i;
    }
    keys[oldest] = key;
    tokens[oldest] = perSecond;
    touchedMs[oldest] = Number.NEGATIVE_INFINITY;
    limited[oldest] = 0;
    return oldest;
  };

  return {
    judge(client) {
      const bucket = bucketOf(prefixKey(client, client.length === 4 ? ipv4Prefix : ipv6Prefix, seed));
      const now = monotonicMs();
      const elapsed = now - (touchedMs[bucket] as number);
      const filled = Math.min(perSecond, (tokens[bucket] as number) + (elapsed * perSecond) / 1_000);
      touchedMs[bucket] = now;
      if (filled >= 1) {
        tokens[bucket] = filled - 1;
        return "send";
      }
      tokens[bucket] = filled;
      const count = (limited[bucket] as number) + 1;
      limited[bucket] = count;
      return slip > 0 && count % slip === 0 ? "slip" : "drop";
    },
  };
}

/** A hash of the leading bits of an address (FNV-1a, RFC 9923, begun with the seed). */
function prefixKey({ octets, at, length }: Client, bits: number, seed: number): number {
  let hash = seed ^ length;
  const whole = bits >>> 3;
  for (let i = 0; i < whole; i += 1) hash = Math.imul(hash ^ (octets[at + i] as number), 0x01000193);
  const rest = bits & 7;
  if (rest > 0) hash = Math.imul(hash ^ ((octets[at + whole] as number) & ((0xff00 >>> rest) & 0xff)), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

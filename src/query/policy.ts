import type { Clock } from "../lib/clock.js";
import type { Prefix } from "./access-list.js";
import { createServerCookies, type ServerCookies } from "./cookies.js";
import { createRateLimiter, type RateLimiter, type RateLimitSettings } from "./rate-limit.js";
import type { TransferPolicy } from "./transfer-access.js";

/** Whom to answer, how often, and what to tell of this server; plain data, so that it can be posted to threads. */
export interface PolicySettings {
  /** Who is answered; absent = everyone. */
  readonly allow?: readonly Prefix[];
  /** Absent = as often as asked. */
  readonly rateLimit?: RateLimitSettings;
  /** Secrets of DNS cookies, 16 octets each, the one in use first; empty = no cookies. */
  readonly cookieSecrets: readonly Uint8Array[];
  /** What NSID, `id.server` and `hostname.bind` say; absent = nothing. At most 128 octets. */
  readonly identity?: Uint8Array;
  /** What `version.server` and `version.bind` say; absent = nothing. At most 128 octets. */
  readonly version?: Uint8Array;
  /** Health cannot be told at present, and answers are those of before (the prober is cut off). Default false. */
  readonly isStale?: boolean;
  /** Who may transfer what, and the keys that queries may be signed with; absent = nobody, none. */
  readonly transfer?: TransferPolicy;
  /** How long an idle TCP connection is kept, told to clients that ask (RFC 7828). Milliseconds, 100 to 6 553 500. */
  readonly tcpIdleMs: number;
}

/** The settings at work in one thread. */
export interface QueryPolicy extends PolicySettings {
  readonly limiter?: RateLimiter;
  readonly cookies?: ServerCookies;
  /** Seconds since 1970, for signatures. */
  readonly nowSeconds?: () => number;
}

/**
 * Puts settings to work.
 *
 * @param random 0 (included) to 1 (not included), as `Math.random`
 */
export function createPolicy(
  settings: PolicySettings,
  clock: Pick<Clock, "monotonicMs" | "wallMs">,
  random: () => number,
): QueryPolicy {
  const { rateLimit, cookieSecrets } = settings;
  const seed = Math.floor(random() * 2 ** 32);
  return {
    ...settings,
    nowSeconds: () => Math.floor(clock.wallMs() / 1000),
    ...(rateLimit === undefined ? {} : { limiter: createRateLimiter(rateLimit, () => clock.monotonicMs(), seed) }),
    ...(cookieSecrets.length === 0 ? {} : { cookies: createServerCookies(cookieSecrets, () => clock.wallMs()) }),
  };
}

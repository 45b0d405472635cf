/*
 * The drain clock: from when on no cache that honours the TTL can still hold a target's address.
 *
 *   answered ──► withdrawn ──► + in flight ──► + TTL ──► safe
 */

/**
 * Allowance for answers that were on their way when the target was withdrawn, milliseconds: a worker thread that had
 * not yet taken the new answers, queues of sockets and network, and the resolver's own handling.
 */
export const IN_FLIGHT_MS = 1000;

/** What is known of the answers that named one target. Moments on the monotonic clock. */
export interface DrainClock {
  /** TTL of the answers that name it now, seconds; absent = none does. */
  readonly ttl?: number;
  /** By when the caches have forgotten every answer that was given before the present kind. */
  readonly safeMs: number;
}

/**
 * The clock of a target of which nothing is known but the TTL it would have been answered with: a process before
 * this one may have named it until now.
 */
export function newDrainClock(ttl: number, nowMs: number): DrainClock {
  return { safeMs: forgottenMs(ttl, nowMs) };
}

/**
 * Takes note of what is answered from now on.
 *
 * @param ttl seconds; undefined = the target is not named any more
 */
export function tick(clock: DrainClock, ttl: number | undefined, nowMs: number): DrainClock {
  if (clock.ttl === ttl) return clock;
  const safeMs = clock.ttl === undefined ? clock.safeMs : Math.max(clock.safeMs, forgottenMs(clock.ttl, nowMs));
  return ttl === undefined ? { safeMs } : { ttl, safeMs };
}

/**
 * Milliseconds until no cache that honours the TTL can hold the target; 0 = safe now; undefined = it is named in
 * answers now, and so there is no such moment.
 */
export function untilSafeMs(clock: DrainClock, nowMs: number): number | undefined {
  return clock.ttl === undefined ? Math.max(0, clock.safeMs - nowMs) : undefined;
}

function forgottenMs(ttl: number, lastAnswerMs: number): number {
  return lastAnswerMs + IN_FLIGHT_MS + ttl * 1000;
}

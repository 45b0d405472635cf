/** Least and longest pause after a failure, milliseconds. */
const MIN_MS = 1_000;
const MAX_MS = 30_000;

/** Longest pause while the credential is not accepted, milliseconds. */
const MAX_UNAUTHORIZED_MS = 300_000;

/** What failed, and how often in a row. */
export interface Failing {
  /** At least 1. */
  readonly failures: number;
  /** HTTP status; absent = no reply. */
  readonly status?: number;
  /** What the server asks for, milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * Milliseconds until the next try: what the server asks for, else a growing time, spread so that the servers of a zone do not
 * come together.
 *
 * @param random 0 (included) to 1 (not included)
 */
export function backoffMs({ failures, status, retryAfterMs }: Failing, random: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs + random * MIN_MS;
  const most = Math.min(status === 401 ? MAX_UNAUTHORIZED_MS : MAX_MS, MIN_MS * 2 ** Math.min(failures, 20));
  // A credential that is refused is not tried often: half of the time is fixed.
  const least = status === 401 ? most / 2 : MIN_MS;
  return least + random * (most - least);
}

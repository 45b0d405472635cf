import type { FlapSettings } from "../config/config.js";

/*
 * When a target counts as suppressed: it has changed more than `flap.limit` times within `flap.window`, and is then held
 * down until it has passed for long enough. `state.ts` asks here before it brings an address up.
 */

/** First hold of a target that flaps, milliseconds; each further one is twice as long, up to the window. */
export const FIRST_HOLD_MS = 30_000;

/** Most changes that are remembered; no limit is higher. */
const MAX_CHANGES = 100;

/** What is remembered of changes between `up` and `down`. */
export interface FlapState {
  /** Monotonic moments of the changes in the window, oldest first. */
  readonly changesMs: readonly number[];
  /** Holds so far: the next one is 2^holds times as long as the first. */
  readonly holds: number;
}

/** Nothing has changed yet, or all is forgiven. */
export const NO_FLAPS: FlapState = { changesMs: [], holds: 0 };

/** Milliseconds that an address must pass without a break before it returns; 0 for one that does not flap. */
export function holdMsNeeded(flap: FlapState, nowMs: number, settings: FlapSettings | undefined): number {
  if (settings === undefined) return 0;
  const recent = flap.changesMs.filter((ms) => ms > nowMs - settings.windowMs).length;
  return recent > settings.limit ? Math.min(settings.windowMs, FIRST_HOLD_MS * 2 ** flap.holds) : 0;
}

/** Takes a change into the window. One that follows on a quiet window begins at the shortest hold again. */
export function withChange(flap: FlapState, nowMs: number, settings: FlapSettings | undefined): FlapState {
  if (settings === undefined) return NO_FLAPS;
  const recent = flap.changesMs.filter((ms) => ms > nowMs - settings.windowMs);
  return { changesMs: [...recent, nowMs].slice(-MAX_CHANGES), holds: recent.length === 0 ? 0 : flap.holds };
}

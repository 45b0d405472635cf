import type { FlapSettings, ProbeSchedule } from "../config/config.js";
import type { Health, ResultClass } from "./health.js";

/**
 * Pause between the two failures that hard evidence needs, milliseconds, counted from the end of the first.
 * Long enough that one unlucky moment (a listener being swapped) is not seen twice, short enough to hurt nobody.
 */
export const HARD_RECHECK_MS = 200;

/** Failures in a row that suffice when all of them are hard evidence. */
const HARD_FAILURES = 2;

/** Most failures in a row that are remembered; no threshold is higher. */
const MAX_ROW = 100;

/** First hold of a target that flaps, milliseconds; each further one is twice as long, up to the window. */
export const FIRST_HOLD_MS = 30_000;

/**
 * Classes that say by themselves that no request can be served: nothing listens, or the server says so. Everything
 * else may be the network or a busy moment.
 */
export function isHardEvidence(resultClass: ResultClass): boolean {
  return resultClass === "refused" || resultClass === "not-ready";
}

/** Classes that a prober without a network would see: nothing came back from anybody. */
export function isNetworkClass(resultClass: ResultClass): boolean {
  return resultClass === "timeout" || resultClass === "unreachable";
}

/** The part of a probe's settings that decides. */
export type StateSettings = Pick<ProbeSchedule, "recheckMs" | "rise" | "fall" | "thresholds" | "flap">;

/** Failures in a row that bring `up` down when all of them are of this class, or need no more. */
export function failuresNeeded(resultClass: ResultClass, settings: Pick<StateSettings, "fall" | "thresholds">): number {
  const { fall, thresholds = {} } = settings;
  const own = resultClass === "ok" ? undefined : thresholds[resultClass];
  return own ?? (isHardEvidence(resultClass) ? Math.min(HARD_FAILURES, fall) : fall);
}

/** What the machine is told of one finished probe; all moments on the monotonic clock. */
export interface Observation {
  readonly class: ResultClass;
  readonly startedMs: number;
  readonly endedMs: number;
  /**
   * End of the newest probe, of any address, that got through to something. A target is not brought down by
   * network-class results alone while no probe has got through since the first of them: that may be our own network.
   * Absent = it is not asked.
   */
  readonly connectedMs?: number;
}

/** All that is remembered of one address between probes. A value: {@link step} returns a new one or the same. */
export interface AddressState {
  readonly health: Health;
  /** While `unknown`: `rise` successes are needed to come up, not one. */
  readonly mustEarn: boolean;
  /** Results in a row that speak against `health`; 0 when the newest agrees with it. */
  readonly against: number;
  /** Of failures in that row: how many each of them needs by its class, oldest first. Empty for passes. */
  readonly needs: readonly number[];
  /** Monotonic moment at which the first probe of that row started; meaningless while `against` is 0. */
  readonly againstSinceMs: number;
  /** Evidence against `health` from a probe that started before this monotonic moment is not counted. */
  readonly notBeforeMs: number;
  readonly flap: FlapState;
  /** While `down`: it passes, but flaps, and must go on passing until this monotonic moment. */
  readonly heldUntilMs?: number;
}

/** What is remembered of changes between `up` and `down`. */
export interface FlapState {
  /** Monotonic moments of the changes in the window, oldest first. */
  readonly changesMs: readonly number[];
  /** Holds so far: the next one is 2^holds times as long as the first. */
  readonly holds: number;
}

const NO_FLAPS: FlapState = { changesMs: [], holds: 0 };

/** What one result led to. */
export interface Step {
  readonly state: AddressState;
  /** Present when health changed. */
  readonly change?: Change;
  /**
   * Monotonic moment at which the next probe should start because health is in doubt, never before the end of
   * the probe just seen; absent = after the ordinary interval.
   */
  readonly recheckAtMs?: number;
}

export interface Change {
  readonly from: Health;
  readonly to: Health;
  /** Milliseconds from the start of the first probe of the row that led here to the end of the last. */
  readonly afterMs: number;
}

/**
 * The state of an address without a result.
 *
 * @param mustEarn the address joined an endpoint that was already being answered: it is withheld until `rise`
 *   successes. Otherwise (start, new endpoint) the first result decides.
 */
export function initialState(mustEarn: boolean): AddressState {
  return settled("unknown", NO_FLAPS, mustEarn);
}

/** The state of an address whose health is known from elsewhere: never probed, or remembered. */
export function knownState(health: "up" | "down"): AddressState {
  return settled(health, NO_FLAPS);
}

/** The same health without the evidence against it that had gathered: what comes next is counted afresh. */
export function withoutDoubt(state: AddressState): AddressState {
  return state.against === 0 ? state : settled(state.health, state.flap, state.mustEarn);
}

/** The same health with all flapping forgiven; one that is held returns with the next pass. */
export function withoutFlaps(state: AddressState): AddressState {
  const { heldUntilMs, ...rest } = state;
  if (heldUntilMs === undefined) return state.flap === NO_FLAPS ? state : { ...state, flap: NO_FLAPS };
  // It had passed often enough before it was held.
  return { ...rest, flap: NO_FLAPS };
}

/**
 * Draws the conclusion from one finished probe.
 *
 * Failures in a row bring `up` down as soon as the newest n of them each need no more than n
 * ({@link failuresNeeded}); `rise` successes bring `down` up, unless it flaps; a result that agrees with the present
 * health ends every row. While `unknown`, one failure means `down`.
 */
export function step(state: AddressState, seen: Observation, settings: StateSettings): Step {
  const verdict: Health = seen.class === "ok" ? "up" : "down";
  if (verdict === state.health) return { state: state.against === 0 ? state : settled(verdict, state.flap) };

  // A first failure settles `unknown`, also after passes that had not yet earned `up`.
  const inRow = state.against > 0 && !(state.health === "unknown" && verdict === "down");

  // Two endpoints may share a probe, and one may be in more of a hurry: its extra rechecks must not shorten the
  // time that the other was promised to wait.
  if (inRow && seen.startedMs < state.notBeforeMs) {
    return { state, recheckAtMs: Math.max(seen.endedMs, state.notBeforeMs) };
  }

  const row: AddressState = {
    ...state,
    against: inRow ? state.against + 1 : 1,
    needs: verdict === "up" ? [] : [...state.needs, failuresNeeded(seen.class, settings)].slice(-MAX_ROW),
    againstSinceMs: inRow ? state.againstSinceMs : seen.startedMs,
  };
  if (suffices(row, seen, settings)) return verdict === "up" ? rise(row, seen, settings) : change(row, seen, settings);
  const recheckAtMs =
    verdict === "down" && isHardEvidence(seen.class)
      ? seen.endedMs + HARD_RECHECK_MS
      : Math.max(seen.endedMs, seen.startedMs + settings.recheckMs);
  return { state: { ...row, notBeforeMs: recheckAtMs }, recheckAtMs };
}

/** Whether the row is long enough to overturn the health it speaks against. */
function suffices(
  { health, mustEarn, against, needs, againstSinceMs }: AddressState,
  seen: Observation,
  settings: StateSettings,
): boolean {
  if (seen.class === "ok") return against >= (health === "unknown" && !mustEarn ? 1 : settings.rise);
  if (health === "unknown") return true;
  const { connectedMs = againstSinceMs } = seen;
  if (isNetworkClass(seen.class) && connectedMs < againstSinceMs) return false;
  let most = 0;
  return needs.toReversed().some((needed, index) => {
    most = Math.max(most, needed);
    return most <= index + 1;
  });
}

/** Brings an address up that has passed often enough, or holds it down a while longer because it flaps. */
function rise(row: AddressState, seen: Observation, settings: StateSettings): Step {
  if (row.health === "unknown") return change(row, seen, settings);
  const { flap, againstSinceMs } = row;
  if (row.heldUntilMs === undefined) {
    const holdMs = holdNeeded(flap, seen.endedMs, settings.flap);
    if (seen.endedMs - againstSinceMs >= holdMs) return change(row, seen, settings);
    const held = { ...flap, holds: flap.holds + 1 };
    return { state: { ...row, flap: held, heldUntilMs: againstSinceMs + holdMs, notBeforeMs: 0 } };
  }
  if (seen.endedMs < row.heldUntilMs) return { state: row };
  return change(row, seen, settings);
}

/** Milliseconds that an address must pass without a break before it returns; 0 for one that does not flap. */
function holdNeeded(flap: FlapState, nowMs: number, settings: FlapSettings | undefined): number {
  if (settings === undefined) return 0;
  const recent = flap.changesMs.filter((ms) => ms > nowMs - settings.windowMs).length;
  return recent > settings.limit ? Math.min(settings.windowMs, FIRST_HOLD_MS * 2 ** flap.holds) : 0;
}

function change(row: AddressState, seen: Observation, settings: StateSettings): Step {
  const to: Health = seen.class === "ok" ? "up" : "down";
  const from = row.health;
  const flap = from === "unknown" ? row.flap : changed(row.flap, seen.endedMs, settings.flap);
  return { state: settled(to, flap), change: { from, to, afterMs: seen.endedMs - row.againstSinceMs } };
}

/** Takes a change into the window. One that follows on a quiet window begins at the shortest hold again. */
function changed(flap: FlapState, nowMs: number, settings: FlapSettings | undefined): FlapState {
  if (settings === undefined) return NO_FLAPS;
  const recent = flap.changesMs.filter((ms) => ms > nowMs - settings.windowMs);
  return { changesMs: [...recent, nowMs].slice(-MAX_ROW), holds: recent.length === 0 ? 0 : flap.holds };
}

function settled(health: Health, flap: FlapState, mustEarn = false): AddressState {
  return { health, mustEarn, against: 0, needs: [], againstSinceMs: 0, notBeforeMs: 0, flap };
}

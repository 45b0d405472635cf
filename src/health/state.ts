import type { ProbeSchedule } from "../config/config.js";
import type { Health, ResultClass } from "./health.js";

/**
 * Pause between the two failures that hard evidence needs, milliseconds, counted from the end of the first.
 * Long enough that one unlucky moment (a listener being swapped) is not seen twice, short enough to hurt nobody.
 */
export const HARD_RECHECK_MS = 200;

/** Failures in a row that suffice when all of them are hard evidence. */
const HARD_FAILURES = 2;

/**
 * Classes that say by themselves that no request can be served: nothing listens, or the server says so. Everything
 * else may be the network or a busy moment.
 */
export function isHardEvidence(resultClass: ResultClass): boolean {
  return resultClass === "refused" || resultClass === "not-ready";
}

/** The part of a probe's settings that decides. */
export type StateSettings = Pick<ProbeSchedule, "recheckMs" | "rise" | "fall">;

/** What the machine is told of one finished probe; both moments on the monotonic clock. */
export interface Observation {
  readonly class: ResultClass;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** All that is remembered of one address between probes. A value: {@link step} returns a new one or the same. */
export interface AddressState {
  readonly health: Health;
  /** While `unknown`: `rise` successes are needed to come up, not one. */
  readonly mustEarn: boolean;
  /** Results in a row that speak against `health`; 0 when the newest agrees with it. */
  readonly against: number;
  /** How many of the newest of those were hard evidence, without a break. */
  readonly hard: number;
  /** Monotonic moment at which the first probe of that row started; meaningless while `against` is 0. */
  readonly againstSinceMs: number;
  /** Evidence against `health` from a probe that started before this monotonic moment is not counted. */
  readonly notBeforeMs: number;
}

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
  return settled("unknown", mustEarn);
}

/** The state of an address whose health is known from elsewhere: never probed, or remembered. */
export function knownState(health: "up" | "down"): AddressState {
  return settled(health, false);
}

/**
 * Draws the conclusion from one finished probe.
 *
 * `fall` failures in a row bring `up` down, or two in a row of hard evidence; `rise` successes bring `down` up; a
 * result that agrees with the present health ends every row. While `unknown`, one failure means `down`.
 */
export function step(state: AddressState, seen: Observation, settings: StateSettings): Step {
  const verdict: Health = seen.class === "ok" ? "up" : "down";
  if (verdict === state.health) return { state: state.against === 0 ? state : settled(verdict, false) };

  // A first failure settles `unknown`, also after passes that had not yet earned `up`.
  const inRow = state.against > 0 && !(state.health === "unknown" && verdict === "down");

  // Two endpoints may share a probe, and one may be in more of a hurry: its extra rechecks must not shorten the
  // time that the other was promised to wait.
  if (inRow && seen.startedMs < state.notBeforeMs) {
    return { state, recheckAtMs: Math.max(seen.endedMs, state.notBeforeMs) };
  }

  const against = inRow ? state.against + 1 : 1;
  const hard = isHardEvidence(seen.class) ? state.hard + 1 : 0;
  const againstSinceMs = inRow ? state.againstSinceMs : seen.startedMs;
  if (against >= needed(state, verdict, settings) || hard >= HARD_FAILURES) {
    const change = { from: state.health, to: verdict, afterMs: seen.endedMs - againstSinceMs };
    return { state: settled(verdict, false), change };
  }
  const recheckAtMs =
    hard > 0 ? seen.endedMs + HARD_RECHECK_MS : Math.max(seen.endedMs, seen.startedMs + settings.recheckMs);
  return { state: { ...state, against, hard, againstSinceMs, notBeforeMs: recheckAtMs }, recheckAtMs };
}

/** Results in a row that it takes to move `state` to `verdict`. */
function needed(state: AddressState, verdict: Health, settings: StateSettings): number {
  if (verdict === "down") return state.health === "unknown" ? 1 : settings.fall;
  return state.health === "unknown" && !state.mustEarn ? 1 : settings.rise;
}

function settled(health: Health, mustEarn: boolean): AddressState {
  return { health, mustEarn, against: 0, hard: 0, againstSinceMs: 0, notBeforeMs: 0 };
}

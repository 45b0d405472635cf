import type { ProbeSchedule } from "../config/config.js";
import type { Health, ProbePhase, ResultClass } from "./health.js";
import { type FlapState, holdMsNeeded, NO_FLAPS, withChange } from "./suppression.js";

/**
 * Pause between the two failures that hard evidence needs, milliseconds, counted from the end of the first.
 * Long enough that one unlucky moment (a listener being swapped) is not seen twice, short enough to hurt nobody.
 */
export const HARD_RECHECK_MS = 200;

/**
 * A probe that got through no longer than this before another began shows that the network worked for that one too,
 * milliseconds. After a first failure the other targets are probed at once, but for those that were so shortly before.
 */
const STILL_CONNECTED_MS = 250;

/** Failures in a row that suffice when all of them are hard evidence. */
const HARD_FAILURES = 2;

/** Most failures in a row that are remembered; no threshold is higher. */
const MAX_ROW = 100;

/**
 * Classes that say by themselves that no request can be served: nothing listens, or the server says so. Everything
 * else may be the network or a busy moment.
 */
export function isHardEvidence(resultClass: ResultClass): boolean {
  return resultClass === "refused" || resultClass === "not-ready";
}

/** Classes of failures in which nothing came back, at least not in time. */
export function isSilent(resultClass: ResultClass): boolean {
  return resultClass === "timeout" || resultClass === "unreachable";
}

/**
 * Whether a prober without a network would see this result: no connection was made. A timeout in TLS or after the
 * request proves that the network works. A timeout without a phase is taken as one before the connection.
 */
export function isNetworkFailure({
  class: resultClass,
  phase = "connect",
}: {
  readonly class: ResultClass;
  readonly phase?: ProbePhase | undefined;
}): boolean {
  return resultClass === "unreachable" || (resultClass === "timeout" && phase === "connect");
}

/** The part of a probe's settings that decides. */
export type StateSettings = Pick<ProbeSchedule, "recheckMs" | "rise" | "fall" | "thresholds" | "flap">;

/**
 * Failures in a row that bring `up` down when all of them are of this class, or need no more.
 *
 * - Hard evidence: two, or `fall` if that is one.
 * - `timeout`: two thirds of `fall`, rounded up. Each lasts longer than any other failure, and says as much.
 * - `tls-expired`: two, or `fall` if that is one. The certificate of a server that expired does not become valid again.
 * - `overloaded`: none is enough, unless a threshold is set. Without this target its load would go to the others.
 */
export function failuresNeeded(resultClass: ResultClass, settings: Pick<StateSettings, "fall" | "thresholds">): number {
  const { fall, thresholds = {} } = settings;
  const own = resultClass === "ok" ? undefined : thresholds[resultClass];
  if (own !== undefined) return own;
  if (isHardEvidence(resultClass) || resultClass === "tls-expired") return Math.min(HARD_FAILURES, fall);
  if (resultClass === "timeout") return Math.ceil((fall * 2) / 3);
  return resultClass === "overloaded" ? Number.POSITIVE_INFINITY : fall;
}

/** What the machine is told of one finished probe; all moments on the monotonic clock. */
export interface Observation {
  readonly class: ResultClass;
  /** See {@link ProbeResult.phase}. */
  readonly phase?: ProbePhase;
  readonly startedMs: number;
  readonly endedMs: number;
  /**
   * End of the newest probe, of any address, that got through to something. A target is not brought down by
   * network failures ({@link isNetworkFailure}) alone while no probe has got through since the first of them, and since
   * {@link STILL_CONNECTED_MS} before the newest began: that may be our own network.
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

/**
 * Brings `up` down at once, since others that share its cause have failed as well. Counts as a change for flap damping.
 *
 * @param nowMs monotonic
 */
export function broughtDown(state: AddressState, nowMs: number, settings: StateSettings): AddressState {
  return settled("down", withChange(state.flap, nowMs, settings.flap));
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
  const verdict = verdictOf(state, seen, settings);
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
  if (suffices(row, seen, settings, verdict)) {
    return verdict === "up" ? rise(row, seen, settings) : change(row, seen, settings, verdict);
  }
  // To ask an overloaded server more often would add to its load.
  if (verdict === "down" && row.needs.at(-1) === Number.POSITIVE_INFINITY) return { state: row };
  const recheckAtMs = recheckMoment(verdict, seen, settings);
  return { state: { ...row, notBeforeMs: recheckAtMs }, recheckAtMs };
}

/** What one result says. A server that is only overloaded runs: without any health before, it counts as up. */
function verdictOf({ health, mustEarn }: AddressState, seen: Observation, settings: StateSettings): "up" | "down" {
  if (seen.class === "ok") return "up";
  const isNeverEnough = failuresNeeded(seen.class, settings) === Number.POSITIVE_INFINITY;
  return isNeverEnough && health === "unknown" && !mustEarn ? "up" : "down";
}

/**
 * Monotonic moment of the next probe of a row. Passes are counted apart from the end of one to the start of the next: a
 * server that was stopped finishes what it had begun, which is one sign of life and not two.
 */
function recheckMoment(verdict: "up" | "down", seen: Observation, settings: StateSettings): number {
  if (verdict === "up") return seen.endedMs + settings.recheckMs;
  if (isHardEvidence(seen.class)) return seen.endedMs + HARD_RECHECK_MS;
  return Math.max(seen.endedMs, seen.startedMs + settings.recheckMs);
}

/** Whether the row is long enough to overturn the health it speaks against. */
function suffices(
  { health, mustEarn, against, needs, againstSinceMs }: AddressState,
  seen: Observation,
  settings: StateSettings,
  verdict: "up" | "down",
): boolean {
  if (verdict === "up") return against >= (health === "unknown" && !mustEarn ? 1 : settings.rise);
  if (health === "unknown") return true;
  const { connectedMs = seen.startedMs } = seen;
  if (isNetworkFailure(seen) && connectedMs < Math.max(againstSinceMs, seen.startedMs - STILL_CONNECTED_MS))
    return false;
  let most = 0;
  return needs.toReversed().some((needed, index) => {
    most = Math.max(most, needed);
    return most <= index + 1;
  });
}

/** Brings an address up that has passed often enough, or holds it down a while longer because it flaps. */
function rise(row: AddressState, seen: Observation, settings: StateSettings): Step {
  if (row.health === "unknown") return change(row, seen, settings, "up");
  const { flap, againstSinceMs } = row;
  if (row.heldUntilMs === undefined) {
    const holdMs = holdMsNeeded(flap, seen.endedMs, settings.flap);
    if (seen.endedMs - againstSinceMs >= holdMs) return change(row, seen, settings, "up");
    const held = { ...flap, holds: flap.holds + 1 };
    return { state: { ...row, flap: held, heldUntilMs: againstSinceMs + holdMs, notBeforeMs: 0 } };
  }
  if (seen.endedMs < row.heldUntilMs) return { state: row };
  return change(row, seen, settings, "up");
}

function change(row: AddressState, seen: Observation, settings: StateSettings, to: "up" | "down"): Step {
  const from = row.health;
  const flap = from === "unknown" ? row.flap : withChange(row.flap, seen.endedMs, settings.flap);
  return { state: settled(to, flap), change: { from, to, afterMs: seen.endedMs - row.againstSinceMs } };
}

function settled(health: Health, flap: FlapState, mustEarn = false): AddressState {
  return { health, mustEarn, against: 0, needs: [], againstSinceMs: 0, notBeforeMs: 0, flap };
}

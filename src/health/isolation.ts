/*
 * Is it them, or is it us? When no connection can be made to any address, the prober itself is presumed cut off.
 *
 *   connected --every newest result a network failure, nothing got through for an interval--> isolated
 *   isolated --something got through--> recovering --an interval later--> connected
 *        ^--------every newest result a network failure again--|
 *
 * While isolated, network failures count for nothing, so that health and answers stay as they were.
 */

/** One address alone cannot tell its own failure from ours. */
const MIN_ADDRESSES = 2;

export interface IsolationState {
  readonly isolated: boolean;
  /** Monotonic end of the newest probe that got through to something; -Infinity before the first. */
  readonly connectedMs: number;
  /** Monotonic end of the first probe: nothing is concluded for an interval from then on. Absent before it. */
  readonly beganMs?: number;
  /** Network failures of probes that started before this monotonic moment count for nothing. */
  readonly trustFromMs: number;
  /** While isolated: the monotonic moment at which something got through again. */
  readonly recoveringSinceMs?: number;
}

/** The beginning: nothing is known yet. */
export const NOT_ISOLATED: IsolationState = {
  isolated: false,
  connectedMs: Number.NEGATIVE_INFINITY,
  trustFromMs: Number.NEGATIVE_INFINITY,
};

/** One finished probe and what it leaves. */
export interface NetworkObservation {
  /** Whether it is a network failure (`isNetworkFailure`): no connection was made. */
  readonly isCutOff: boolean;
  /** Monotonic. */
  readonly endedMs: number;
  /** That of the probe. */
  readonly intervalMs: number;
  /** Addresses that are probed. */
  readonly addresses: number;
  /** How many of them have such a result as their newest, this one included. */
  readonly cutOff: number;
}

/** Draws the conclusion from one finished probe. Returns the same object if it changes nothing. */
export function observeNetwork(before: IsolationState, seen: NetworkObservation): IsolationState {
  const { endedMs, intervalMs } = seen;
  const state = before.beganMs === undefined ? { ...before, beganMs: endedMs } : before;
  if (seen.isCutOff) {
    if (seen.cutOff < seen.addresses || seen.addresses < MIN_ADDRESSES) return state;
    const { recoveringSinceMs, ...rest } = state;
    if (state.isolated) return recoveringSinceMs === undefined ? state : rest;
    const quietSinceMs = Math.max(state.connectedMs, state.beganMs ?? endedMs);
    return endedMs - quietSinceMs >= intervalMs ? { ...rest, isolated: true } : state;
  }
  const { recoveringSinceMs = endedMs, ...rest } = state;
  const connected = { ...rest, connectedMs: endedMs };
  if (!state.isolated) return connected;
  if (endedMs - recoveringSinceMs < intervalMs) return { ...connected, recoveringSinceMs };
  return { ...connected, isolated: false, trustFromMs: endedMs };
}

/** The state of a prober that is told by others whether it is cut off: every result counts from now on. */
export function withoutPresumption(state: IsolationState): IsolationState {
  const { recoveringSinceMs: _, ...rest } = state;
  return { ...rest, isolated: false };
}

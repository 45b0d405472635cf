/*
 * Is it them, or is it us? When nothing at all comes back from any address, the prober itself is presumed cut off.
 *
 *   connected ──every newest result network-class, none got through for an interval──► isolated
 *   isolated ──something got through──► recovering ──an interval later──► connected
 *        ▲──────────every newest result network-class again──┘
 *
 * While isolated, network-class results count for nothing, so that health and answers stay as they were.
 */

/** One address alone cannot tell its own failure from ours. */
const MIN_ADDRESSES = 2;

export interface IsolationState {
  readonly isolated: boolean;
  /** Monotonic end of the newest probe that got through to something; -Infinity before the first. */
  readonly connectedMs: number;
  /** Network-class results of probes that started before this monotonic moment count for nothing. */
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
  /** Whether its class is one that a prober without a network would see. */
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
export function observeNetwork(state: IsolationState, seen: NetworkObservation): IsolationState {
  const { endedMs, intervalMs } = seen;
  if (seen.isCutOff) {
    if (seen.cutOff < seen.addresses || seen.addresses < MIN_ADDRESSES) return state;
    const { recoveringSinceMs, ...rest } = state;
    if (state.isolated) return recoveringSinceMs === undefined ? state : rest;
    return endedMs - state.connectedMs >= intervalMs ? { ...rest, isolated: true } : state;
  }
  const connectedMs = endedMs;
  if (!state.isolated) return { ...state, connectedMs };
  const { recoveringSinceMs = endedMs, trustFromMs } = state;
  if (endedMs - recoveringSinceMs < intervalMs) return { isolated: true, connectedMs, trustFromMs, recoveringSinceMs };
  return { isolated: false, connectedMs, trustFromMs: endedMs };
}

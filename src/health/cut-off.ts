import type { AddressHealth, EndpointHealth } from "./health.js";
import { isHardEvidence, isNetworkFailure } from "./state.js";

/*
 * Is this server cut off, or are the targets down? A sibling that reaches some of them knows. Pure.
 */

/**
 * What the newest probes of a server have met, all addresses together.
 *
 * - `reached`: something answered, be it with a refusal;
 * - `soft`: everything failed, in ways that may be the network or a busy moment;
 * - `network`: no connection could be made to anything;
 * - `unknown`: there is no result yet.
 */
export type OwnSight = "reached" | "soft" | "network" | "unknown";

/**
 * What the siblings that count see, all together.
 *
 * - `some-up`: one of them sees a target up;
 * - `none-up`: they reach the targets, or their network, and see none up;
 * - `cut-off`: none of them could make a connection to anything, so that they know no more than this server;
 * - `nobody`: there is none.
 */
export type SiblingsSight = "some-up" | "none-up" | "cut-off" | "nobody";

/** Time for which what a sibling sees still counts once this server reaches something again, milliseconds. */
export const RECOVERY_MS = 10_000;

export interface CutOffState {
  readonly isCutOff: boolean;
  /** While cut off: the monotonic moment at which something was reached again. */
  readonly reachedAgainMs?: number;
}

export const NOT_CUT_OFF: CutOffState = { isCutOff: false };

/** What the decision depends on. */
export interface CutOffObservation {
  readonly own: OwnSight;
  readonly siblings: SiblingsSight;
  /** Whether this server has found some address down, and not only a probe failed. */
  readonly isSomeDown: boolean;
  /** Monotonic. */
  readonly nowMs: number;
}

/** Draws the conclusion. Returns the same object if it changes nothing. */
export function observeSiblings(before: CutOffState, seen: CutOffObservation): CutOffState {
  const { own, siblings, isSomeDown, nowMs } = seen;
  if (siblings === "none-up") return before.isCutOff ? NOT_CUT_OFF : before;
  if (own === "reached") {
    if (!before.isCutOff) return before;
    if (before.reachedAgainMs === undefined) return { isCutOff: true, reachedAgainMs: nowMs };
    return nowMs - before.reachedAgainMs < RECOVERY_MS ? before : NOT_CUT_OFF;
  }
  if (own === "unknown") return before;
  if (siblings === "some-up") {
    if (!before.isCutOff) return isSomeDown ? { isCutOff: true } : before;
    return before.reachedAgainMs === undefined ? before : { isCutOff: true };
  }
  // Nobody knows better any more: what was held is held on as long as the network fails.
  if (before.isCutOff && own === "network") return before.reachedAgainMs === undefined ? before : { isCutOff: true };
  return before.isCutOff ? NOT_CUT_OFF : before;
}

/** What the newest results of all addresses say together, and whether some address is down. */
export function ownSight(endpoints: Iterable<EndpointHealth>): {
  readonly own: OwnSight;
  readonly isSomeDown: boolean;
} {
  let own: OwnSight = "unknown";
  let isSomeDown = false;
  for (const { targets } of endpoints) {
    for (const { addresses, disabled } of targets) {
      if (disabled === true) continue;
      for (const address of addresses) {
        if (address.health === "down") isSomeDown = true;
        const met = metBy(address);
        if (met === "reached") return { own: "reached", isSomeDown };
        if (met === "soft" || (met === "network" && own === "unknown")) own = met;
      }
    }
  }
  return { own, isSomeDown };
}

function metBy({ last }: AddressHealth): OwnSight {
  if (last === undefined) return "unknown";
  if (last.class === "ok" || last.class === "overloaded" || isHardEvidence(last.class)) return "reached";
  return isNetworkFailure(last) ? "network" : "soft";
}

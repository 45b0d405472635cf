/*
 * The last one standing. When all apiservers share one cause, such as etcd, their probes see it one after the other, and
 * without these rules the answer would shrink to the one that is asked last: every client of the cluster would be sent to
 * one apiserver that is no better than the others. So a change that would leave few targets is held back for a moment
 * while those that would remain, or may follow, are probed at once.
 */

/** Pause between two probes of a target while a change is held back, milliseconds. */
export const ASK_EVERY_MS = 200;

/** Longest time for which a target that refuses connections is answered on, milliseconds: nothing listens there. */
export const REFUSED_HOLD_MS = 100;

/**
 * Time for which those that would remain must pass if they are less than half, milliseconds: apiservers that share an etcd
 * turn not-ready within a second of each other, and are back within two.
 */
export const SETTLE_MS = 2_500;

/**
 * Longest time for which those that leave are answered on while those that would remain have no clear result, or others
 * are about to return, milliseconds: two probes with the default timeout.
 */
export const NARROWING_HOLD_MS = 6_000;

/** Longest time for which the first that return wait for the others, milliseconds. */
export const RETURN_HOLD_MS = 5_000;

/** A target that was withdrawn for not being ready is answered again if others follow within this time, milliseconds. */
export const TAKE_BACK_MS = SETTLE_MS;

/** Pause between two probes of the targets of an endpoint of which one has changed, milliseconds. */
export const WATCH_EVERY_MS = 250;

/**
 * How often they are probed so: for 3 s in all, since apiservers notice within two seconds of each other that a cause that
 * they share is there, or over.
 */
export const WATCH_ROUNDS = 12;

/** One target that is neither excluded by an operator nor disabled. */
export interface TargetSight {
  /** Readers see it up. */
  readonly wasUp: boolean;
  /** Its results say that it is up. */
  readonly isUp: boolean;
  /** Its newest result is that it is not ready. If it is up all the same, it may be about to follow the others. */
  readonly isUnready?: boolean;
  /** What probes have found since the change is held back; `gone`: nothing listens, or there is no route. */
  readonly sight: "pending" | "pass" | "fail" | "gone";
  /** Time since it refuses connections, milliseconds; absent if it does not. */
  readonly refusedMs?: number;
}

/**
 * - `publish`: readers may see every change;
 * - `hold`: ask again and wait;
 * - `reunite`: the same, and those that were withdrawn of late for not being ready are answered again meanwhile: those
 *   that leave now seem to share their cause, and are no better;
 * - `all-down`: those that would remain fail as well: they go down with the others, in one step.
 */
export type Publication = "publish" | "hold" | "reunite" | "all-down";

/** Whether so few of all are left that every client would be sent to them. */
export function isNarrow(up: number, all: number): boolean {
  return up > 0 && up < all && (up < all / 2 || up === 1);
}

/**
 * Decides whether readers may see what has changed in one endpoint. Pure.
 *
 * @param targets all that may be answered
 * @param heldMs how long changes have been held back; 0 = since now
 */
export function decidePublication(targets: readonly TargetSight[], heldMs: number): Publication {
  const up = targets.filter(({ isUp }) => isUp);
  if (up.length === 0) return "publish";
  const leaving = targets.filter(({ wasUp, isUp }) => wasUp && !isUp);
  const sure = surelyUp(targets);
  if (sure > 0 && !isNarrow(sure, targets.length)) {
    // They have passed once since, and are up again as soon as they have passed `rise` times.
    const areReturning = leaving.length > 0 && leaving.every(({ sight }) => sight === "pass");
    return areReturning && heldMs < NARROWING_HOLD_MS ? "hold" : "publish";
  }
  if (targets.every(({ wasUp }) => !wasUp)) return decideReturn(targets, heldMs);
  if (leaving.length === 0) return "publish";
  const decision = decideNarrowing(targets, up, heldMs);
  return decision === "hold" && targets.some(isLeavingUnready) ? "reunite" : decision;
}

/** How many are up and are not about to follow others. */
function surelyUp(targets: readonly TargetSight[]): number {
  return targets.filter(({ isUp, isUnready }) => isUp && isUnready !== true).length;
}

/** Whether readers see it up although it is not ready. */
function isLeavingUnready({ wasUp, isUnready }: TargetSight): boolean {
  return wasUp && isUnready === true;
}

function decideNarrowing(targets: readonly TargetSight[], up: readonly TargetSight[], heldMs: number): Publication {
  if (up.every(({ sight }) => sight === "fail" || sight === "gone")) return "all-down";
  const leaving = targets.filter(({ wasUp, isUp }) => wasUp && !isUp);
  const refused = leaving.flatMap(({ refusedMs }) => (refusedMs === undefined ? [] : [refusedMs]));
  // Those that remain may fail as well, but whoever refuses is worse.
  if (refused.length > 0 && Math.min(heldMs, Math.max(...refused)) >= REFUSED_HOLD_MS) return "publish";
  if (heldMs >= NARROWING_HOLD_MS) return "publish";
  if (up.some(({ sight }) => sight !== "pass")) return "hold";
  if (refused.length === leaving.length || surelyUp(targets) >= targets.length / 2) return "publish";
  // The cause may be over: one that passes again is as good as those that remain, and is up as soon as it has passed `rise` times.
  const isReturning = targets.some(({ isUp, sight }) => !isUp && sight === "pass");
  return isReturning || heldMs < SETTLE_MS ? "hold" : "publish";
}

function decideReturn(targets: readonly TargetSight[], heldMs: number): Publication {
  if (heldMs >= RETURN_HOLD_MS) return "publish";
  return targets.every(({ isUp, sight }) => isUp || sight === "gone") ? "publish" : "hold";
}

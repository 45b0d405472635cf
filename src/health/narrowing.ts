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

/** Pause between two probes of the targets of an endpoint of which one has changed, milliseconds. */
export const WATCH_EVERY_MS = 500;

/**
 * How often they are probed so: for 2 s in all, since apiservers notice within two seconds of each other that a cause that
 * they share is there, or over.
 */
export const WATCH_ROUNDS = 4;

/** One target that is neither excluded by an operator nor disabled. */
export interface TargetSight {
  /** Readers see it up. */
  readonly wasUp: boolean;
  /** Its results say that it is up. */
  readonly isUp: boolean;
  /** What probes have found since the change is held back; `gone`: nothing listens, or there is no route. */
  readonly sight: "pending" | "pass" | "fail" | "gone";
  /** Time since it refuses connections, milliseconds; absent if it does not. */
  readonly refusedMs?: number;
}

/**
 * - `publish`: readers may see every change;
 * - `hold`: ask again and wait;
 * - `all-down`: those that would remain fail as well: they go down with the others, in one step.
 */
export type Publication = "publish" | "hold" | "all-down";

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
  const were = targets.filter(({ wasUp }) => wasUp).length;
  const up = targets.filter(({ isUp }) => isUp);
  if (!isNarrow(up.length, targets.length)) return "publish";
  if (were === 0) return decideReturn(targets, heldMs);
  if (targets.every(({ wasUp, isUp }) => isUp || !wasUp)) return "publish";
  return decideNarrowing(targets, up, heldMs);
}

function decideNarrowing(targets: readonly TargetSight[], up: readonly TargetSight[], heldMs: number): Publication {
  if (up.every(({ sight }) => sight === "fail" || sight === "gone")) return "all-down";
  const leaving = targets.filter(({ wasUp, isUp }) => wasUp && !isUp);
  const refused = leaving.flatMap(({ refusedMs }) => (refusedMs === undefined ? [] : [refusedMs]));
  // Those that remain may fail as well, but whoever refuses is worse.
  if (refused.length > 0 && Math.min(heldMs, Math.max(...refused)) >= REFUSED_HOLD_MS) return "publish";
  if (heldMs >= NARROWING_HOLD_MS) return "publish";
  if (up.some(({ sight }) => sight !== "pass")) return "hold";
  if (refused.length === leaving.length || up.length >= targets.length / 2) return "publish";
  // The cause may be over: one that passes again is as good as those that remain, and is up as soon as it has passed `rise` times.
  const isReturning = targets.some(({ isUp, sight }) => !isUp && sight === "pass");
  return isReturning || heldMs < SETTLE_MS ? "hold" : "publish";
}

function decideReturn(targets: readonly TargetSight[], heldMs: number): Publication {
  if (heldMs >= RETURN_HOLD_MS) return "publish";
  return targets.every(({ isUp, sight }) => isUp || sight === "gone") ? "publish" : "hold";
}

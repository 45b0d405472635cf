import { type AnswerableAddress, type AnswerPolicy, isExcluded } from "./answerable.js";
import type { AddressHealth, EndpointHealth } from "./health.js";
import { isHardEvidence } from "./state.js";

/*
 * What siblings see may keep a target in the answers, and may never take one out. Pure.
 *
 * To withdraw one of three targets too early is cheap; to answer with nothing, or to send every client to one that is no better
 * than the others, is dear. So a sibling is listened to only where few would remain, and for a short time.
 */

/** What the siblings that count see of an address, all together. `up`: at least one sees it plainly up. */
export type SiblingSight = "up" | "down" | "none";

/** What the second opinion depends on beside health. */
export interface SecondOpinion {
  /** What siblings see of an address. */
  sees(address: string): SiblingSight;
  /** How long ago this server found the address down, milliseconds. */
  downForMs(address: string): number;
  /** How long a sibling may keep one of the last targets, milliseconds. */
  readonly holdAtMostMs: number;
  /** This server is cut off, and a sibling is not: what that sees counts for as long as it lasts. */
  readonly isCutOff: boolean;
  /** This server has not looked at every target yet. */
  readonly isStarting: boolean;
}

/** Addresses that count as up because a sibling sees them up, in configuration order. They are answered after the others. */
export function vouchedAddresses(
  { targets }: EndpointHealth,
  { minHealthy }: Pick<AnswerPolicy, "minHealthy">,
  opinion: SecondOpinion,
): readonly AnswerableAddress[] {
  const able = targets.filter((target) => target.disabled !== true && !isExcluded(target));
  const up = able.filter(
    ({ override, addresses }) => override?.kind === "forced-up" || addresses.some(({ health }) => health === "up"),
  ).length;
  const enough = Math.max(able.length <= 2 ? able.length - 1 : 2, minHealthy, 1);
  const areFew = up < enough;
  return able.flatMap(({ id, addresses }) =>
    addresses.filter((address) => isVouched(address, areFew, opinion)).map(({ address }) => ({ target: id, address })),
  );
}

function isVouched(one: AddressHealth, areFew: boolean, opinion: SecondOpinion): boolean {
  const { address, health, last, isJoining, held } = one;
  if (health === "up" || isJoining === true || held !== undefined) return false;
  if (opinion.sees(address) !== "up") return false;
  if (health === "unknown") return opinion.isStarting;
  // Who says of itself that it is not ready, or where nothing listens, is gone whatever others have seen.
  if (last !== undefined && last.class !== "ok" && isHardEvidence(last.class)) return false;
  if (opinion.isCutOff) return true;
  return areFew && opinion.downForMs(address) < opinion.holdAtMostMs;
}

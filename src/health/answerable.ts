import type { WhenAllDown } from "../config/config.js";
import type { AddressHealth, EndpointHealth, TargetHealth } from "./health.js";

/** One address that goes into answers. */
export interface AnswerableAddress {
  /** The target it belongs to; absent for an address that only `whenAllDown: { addresses }` names. */
  readonly target?: string;
  readonly address: string;
}

/**
 * Why these addresses:
 * - `healthy`: enough targets are up, and these are their addresses;
 * - `fail-open`: too few are, and the policy answers all the same: to be made loud;
 * - `none`: too few are, and nothing is answered.
 */
export type AnswerableMode = "healthy" | "fail-open" | "none";

/** What an endpoint answers, all address families together. */
export interface Answerable {
  readonly mode: AnswerableMode;
  /** In configuration order. Empty only in mode `none`. */
  readonly addresses: readonly AnswerableAddress[];
  /** Targets with at least one address that is up, or forced up; drained and forced-down ones never count. */
  readonly upTargets: number;
}

/** The part of an endpoint's configuration that decides. */
export interface AnswerPolicy {
  readonly whenAllDown: WhenAllDown;
  /** Fewer targets up than this count as all down. At least 1. */
  readonly minHealthy: number;
  /** Whether an address without any result counts as up, unless it is only joining. Absent = `withhold`. */
  readonly whenUnknown?: "withhold" | "answer";
  /** Addresses that were discovered and have never passed are answered on no grounds but a pass, or an operator's word. */
  readonly targets?: readonly { readonly id: string; readonly unproven?: readonly string[] }[];
}

/**
 * Decides which addresses of an endpoint go into answers.
 *
 * Drained and forced-down targets stay out as long as anything else is left. Apart from `whenAllDown: none` the
 * result is never empty for an endpoint that has a target.
 *
 * @param lastHealthy the newest `addresses` of mode `healthy`, for `last-healthy`; of these the addresses that are
 *   still configured and not excluded are answered, and without any, all are. A disabled target never is
 * @param vouched addresses that count as up because siblings see them up; they come after the others
 */
export function decideAnswerable(
  { fqdn, targets }: EndpointHealth,
  policy: AnswerPolicy,
  lastHealthy: readonly AnswerableAddress[] = [],
  vouched: readonly AnswerableAddress[] = [],
): Answerable {
  const enabled = targets.filter(({ disabled }) => disabled !== true);
  const endpoint = { fqdn, targets: withoutUnproven(enabled, policy) };
  const up = addressesWhere(endpoint, (address, target) => countsAsUp(address, target, policy));
  const upTargets = countTargets(up);
  const needed = Math.max(1, policy.minHealthy);
  const withVouched = vouched.length === 0 ? up : withOthers(up, vouched);
  if (countTargets(withVouched) >= needed) return { mode: "healthy", addresses: withVouched, upTargets };

  // Those that pass, and are only held back since they flap, are better than any that fail.
  const passing = addressesWhere(
    endpoint,
    (address, target) => countsAsUp(address, target, policy) || address.held !== undefined,
  );
  const passingTargets = countTargets(passing);
  const passingOrVouched = vouched.length === 0 ? passing : withOthers(passing, vouched);
  if (countTargets(passingOrVouched) >= needed) {
    return { mode: "healthy", addresses: passingOrVouched, upTargets: passingTargets };
  }

  const addresses = whenAllDown(endpoint, policy.whenAllDown, lastHealthy);
  return { mode: addresses.length > 0 ? "fail-open" : "none", addresses, upTargets };
}

/** Targets without the addresses that nothing but a first pass may bring into answers. */
function withoutUnproven(targets: readonly TargetHealth[], policy: AnswerPolicy): readonly TargetHealth[] {
  if (policy.targets?.some(({ unproven }) => unproven !== undefined) !== true) return targets;
  const unproven = new Map(policy.targets.map((target) => [target.id, target.unproven ?? []]));
  return targets.map((target) => {
    const mine = unproven.get(target.id) ?? [];
    if (mine.length === 0 || target.override?.kind === "forced-up") return target;
    return {
      ...target,
      addresses: target.addresses.filter(({ address, health }) => health === "up" || !mine.includes(address)),
    };
  });
}

function addressesWhere(
  endpoint: EndpointHealth,
  belongs: (address: AddressHealth, target: TargetHealth) => boolean,
): readonly AnswerableAddress[] {
  return endpoint.targets.flatMap((target) =>
    isExcluded(target)
      ? []
      : target.addresses
          .filter((address) => belongs(address, target))
          .map(({ address }) => ({ target: target.id, address })),
  );
}

function countsAsUp({ health, isJoining }: AddressHealth, { override }: TargetHealth, policy: AnswerPolicy): boolean {
  if (health === "up" || override?.kind === "forced-up") return true;
  return health === "unknown" && isJoining !== true && policy.whenUnknown === "answer";
}

function withOthers(
  first: readonly AnswerableAddress[],
  others: readonly AnswerableAddress[],
): readonly AnswerableAddress[] {
  const known = new Set(first.map(identity));
  return [...first, ...others.filter((entry) => !known.has(identity(entry)))];
}

function countTargets(addresses: readonly AnswerableAddress[]): number {
  return new Set(addresses.map(({ target }) => target)).size;
}

function whenAllDown(
  endpoint: EndpointHealth,
  policy: WhenAllDown,
  lastHealthy: readonly AnswerableAddress[],
): readonly AnswerableAddress[] {
  switch (policy.kind) {
    case "none":
      return [];
    case "addresses":
      return policy.addresses.map((address) => ({ address }));
    case "all":
      return allAddresses(endpoint);
    case "last-healthy": {
      const remembered = new Set(lastHealthy.map(identity));
      const still = allAddresses(endpoint).filter((entry) => remembered.has(identity(entry)));
      return still.length > 0 ? still : allAddresses(endpoint);
    }
  }
}

/** Every address that is not excluded; every address at all when that leaves none. */
function allAddresses(endpoint: EndpointHealth): readonly AnswerableAddress[] {
  const free = endpoint.targets.filter((target) => !isExcluded(target));
  return (free.length > 0 ? free : endpoint.targets).flatMap((target) =>
    target.addresses.map(({ address }) => ({ target: target.id, address })),
  );
}

/** Whether an operator keeps the target out of answers as long as anything else is left. */
export function isExcluded({ override }: Pick<TargetHealth, "override">): boolean {
  const kind = override?.kind;
  return kind === "drained" || kind === "forced-down";
}

function identity(entry: AnswerableAddress): string {
  return `${entry.target} ${entry.address}`;
}

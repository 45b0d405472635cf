import { type AnswerableAddress, type AnswerPolicy, decideAnswerable, isExcluded } from "./answerable.js";
import type { EndpointHealth, OverrideKind, TargetHealth } from "./health.js";

/** Longest life of an override that expires: 30 days, milliseconds. Who means longer sets one that stays. */
export const MAX_OVERRIDE_MS = 30 * 86_400_000;

/** What is wanted, as far as the decision depends on it. */
export interface WantedOverride {
  /** The endpoint's fqdn. */
  readonly endpoint: string;
  readonly target: string;
  readonly kind: OverrideKind;
  /** Milliseconds after which the override ends by itself, 1 to {@link MAX_OVERRIDE_MS}; absent = it stays. */
  readonly forMs?: number;
  /** Take the target even if too few are left. Default false. */
  readonly force?: boolean;
}

/** What there is to know of the endpoint that a request is for. */
export interface OverriddenEndpoint {
  readonly health: EndpointHealth;
  readonly policy: AnswerPolicy;
  /** See {@link decideAnswerable}. */
  readonly lastHealthy: readonly AnswerableAddress[];
}

/** Why a request is not carried out. */
export interface Refusal {
  /** Not given for a request with `force`: `LAST_ANSWERABLE`, `BELOW_MIN_HEALTHY`. */
  readonly code: "NO_SUCH_ENDPOINT" | "NO_SUCH_TARGET" | "LAST_ANSWERABLE" | "BELOW_MIN_HEALTHY" | "BAD_DURATION";
  /** One sentence for the operator. */
  readonly message: string;
}

/** What an override that is carried out leads to, for its operator to know. */
export interface OverrideConsequences {
  /** The endpoint has enough targets up now, and not any more once this is done. */
  readonly failsOpen: boolean;
  /** Other targets that an operator has taken out, and that are answered again since nothing else is left. */
  readonly answeredAgain: readonly string[];
}

/** What a request would lead to. */
export type OverrideDecision = { readonly refusal: Refusal } | OverrideConsequences;

/**
 * The target that a request names, or why there is none.
 *
 * @param endpoint absent if there is no such endpoint
 */
export function findTarget(
  name: { readonly endpoint: string; readonly target: string },
  endpoint: EndpointHealth | undefined,
): { readonly target: TargetHealth } | { readonly refusal: Refusal } {
  if (endpoint === undefined) return refuse("NO_SUCH_ENDPOINT", `there is no endpoint ${name.endpoint}`);
  const target = endpoint.targets.find((one) => one.id === name.target);
  if (target !== undefined) return { target };
  const known = endpoint.targets.map((one) => one.id).join(", ");
  return refuse("NO_SUCH_TARGET", `${name.endpoint} has no target ${name.target}; it has ${known}`);
}

/**
 * Decides whether a request may be carried out. Pure.
 *
 * What takes a target out of answers is refused if it is answered now and nothing worth answering is left: no other
 * target at all, or none that is up where this one is; and if fewer than `minHealthy` would be up from then on.
 *
 * @param endpoint absent if there is no such endpoint
 */
export function decideOverride(wanted: WantedOverride, endpoint: OverriddenEndpoint | undefined): OverrideDecision {
  const { kind, target: id, force = false, forMs } = wanted;
  const found = findTarget(wanted, endpoint?.health);
  if ("refusal" in found) return found;
  if (forMs !== undefined && !(forMs >= 1 && forMs <= MAX_OVERRIDE_MS)) {
    return refuse("BAD_DURATION", "an override that ends by itself lasts from 1 ms to 30 days");
  }
  const { health, policy, lastHealthy } = endpoint as OverriddenEndpoint;
  const changed: TargetHealth = { ...found.target, override: { kind, origin: "operator", setAtMs: 0 } };
  const next = { ...health, targets: health.targets.map((one) => (one === found.target ? changed : one)) };
  const before = decideAnswerable(health, policy, lastHealthy);
  const after = decideAnswerable(next, policy, lastHealthy);
  const failsOpen = before.mode === "healthy" && after.mode !== "healthy";
  if (kind !== "forced-up" && before.addresses.some((address) => address.target === id) && !force) {
    const free = new Set(next.targets.filter((one) => !isExcluded(one)).map((one) => one.id));
    // Those that are excluded are answered when nothing else is left, but are nothing to fall back on.
    free.delete(id);
    const others = after.addresses.filter(({ target: owner }) => owner !== undefined && free.has(owner));
    const othersUp = others.some((entry) => isUp(next, entry));
    if (others.length === 0 || (!othersUp && before.addresses.some((entry) => isUp(health, entry)))) {
      const what = others.length === 0 ? "the last target that is answered" : "the last target that is up";
      return refuse("LAST_ANSWERABLE", `${id} is ${what} for ${wanted.endpoint}`);
    }
    if (failsOpen) {
      const left = `without ${id} ${after.upTargets} of at least ${policy.minHealthy} targets would be up`;
      return refuse("BELOW_MIN_HEALTHY", `${left} for ${wanted.endpoint}, and it would fail open`);
    }
  }
  return { failsOpen, answeredAgain: answeredAgain(id, health, before.addresses, after.addresses) };
}

/**
 * Why a drain that ends by itself is refused: caches would hold the target for longer, so that it came back before it can
 * be stopped. `undefined` = it is long enough.
 *
 * @param forMs milliseconds after which it ends
 * @param safeInMs milliseconds until no cache that honours the TTL can hold the target
 */
export function drainTooShort(target: string, forMs: number, safeInMs: number): string | undefined {
  if (forMs >= safeInMs) return undefined;
  const seconds = (ms: number): string => `${Math.ceil(ms / 100) / 10} s`;
  return `the drain would end after ${seconds(forMs)}, but caches may hold ${target} for ${seconds(safeInMs)}: it would come back before it can be stopped`;
}

/** Targets beside `id` that an operator has taken out, and that only the new answers name. */
function answeredAgain(
  id: string,
  { targets }: EndpointHealth,
  before: readonly AnswerableAddress[],
  after: readonly AnswerableAddress[],
): string[] {
  const names = (addresses: readonly AnswerableAddress[], target: string): boolean =>
    addresses.some((entry) => entry.target === target);
  return targets
    .filter((one) => one.id !== id && isExcluded(one) && !names(before, one.id) && names(after, one.id))
    .map((one) => one.id);
}

function refuse(code: Refusal["code"], message: string): { readonly refusal: Refusal } {
  return { refusal: { code, message } };
}

function isUp({ targets }: EndpointHealth, { target: id, address }: AnswerableAddress): boolean {
  return targets.some(
    (one) =>
      one.id === id &&
      (one.override?.kind === "forced-up" ||
        one.addresses.some((other) => other.address === address && other.health === "up")),
  );
}

import type { Clock, Timer } from "../lib/clock.js";
import { UserError } from "../lib/errors.js";
import { type AnswerableAddress, type AnswerPolicy, decideAnswerable, isHeldOut } from "./answerable.js";
import type { EndpointHealth, Override, OverrideKind, TargetHealth } from "./health.js";

/** Longest reason and author, characters; what is longer is cut. */
const MAX_TEXT = 200;

/**
 * Longest time between two looks at the wall clock while an override is to expire, milliseconds. Expiry is a moment
 * on the wall clock, since it outlives the process; a clock that was set is noticed this late at worst.
 */
const LOOK_AGAIN_MS = 30_000;

/** Longest life of an override that expires: a year, milliseconds. */
export const MAX_OVERRIDE_MS = 365 * 86_400_000;

/** An override and the target it is of. */
export interface OverrideEntry extends Override {
  /** The endpoint's fqdn. */
  readonly endpoint: string;
  readonly target: string;
}

/** What an operator wants. */
export interface OverrideRequest {
  /** The endpoint's fqdn. */
  readonly endpoint: string;
  readonly target: string;
  readonly kind: OverrideKind;
  /** In the operator's words. */
  readonly reason?: string;
  /** Who asks. */
  readonly author?: string;
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

/** What a request would lead to. */
export type OverrideDecision =
  | { readonly refusal: Refusal }
  | {
      /** Whether the endpoint has enough targets up now, and not any more once this is done. */
      readonly failsOpen: boolean;
    };

/**
 * Decides whether a request may be carried out. Pure.
 *
 * What takes a target out of answers is refused if it is answered now and nothing worth answering is left: no other
 * target at all, or none that is up where this one is; and if fewer than `minHealthy` would be up from then on.
 *
 * @param endpoint absent if there is no such endpoint
 */
export function decideOverride(request: OverrideRequest, endpoint: OverriddenEndpoint | undefined): OverrideDecision {
  const { kind, target: id, force = false, forMs } = request;
  if (endpoint === undefined) {
    return refuse("NO_SUCH_ENDPOINT", `there is no endpoint ${request.endpoint}`);
  }
  const { health, policy, lastHealthy } = endpoint;
  const target = health.targets.find((one) => one.id === id);
  if (target === undefined) {
    const known = health.targets.map((one) => one.id).join(", ");
    return refuse("NO_SUCH_TARGET", `${request.endpoint} has no target ${id}; it has ${known}`);
  }
  if (forMs !== undefined && !(forMs >= 1 && forMs <= MAX_OVERRIDE_MS)) {
    return refuse("BAD_DURATION", "an override that ends by itself lasts from 1 ms to 365 days");
  }
  const changed: TargetHealth = { ...target, override: { kind, setAtMs: 0 } };
  const next = { ...health, targets: health.targets.map((one) => (one === target ? changed : one)) };
  const before = decideAnswerable(health, policy, lastHealthy);
  const after = decideAnswerable(next, policy, lastHealthy);
  const isAnswered = before.addresses.some((address) => address.target === id);
  const free = new Set(next.targets.filter((one) => !isHeldOut(one)).map((one) => one.id));
  // Those that are held out are answered when nothing else is left, but are nothing to fall back on.
  free.delete(id);
  const others = after.addresses.filter(({ target: owner }) => owner !== undefined && free.has(owner));
  const othersUp = others.some((entry) => isUp(next, entry));
  const failsOpen = before.mode === "healthy" && after.mode !== "healthy";
  if (kind !== "forced-up" && isAnswered && !force) {
    if (others.length === 0 || (!othersUp && before.addresses.some((entry) => isUp(health, entry)))) {
      const what = others.length === 0 ? "the last target that is answered" : "the last target that is up";
      return refuse("LAST_ANSWERABLE", `${id} is ${what} for ${request.endpoint}`);
    }
    if (failsOpen) {
      const left = `without ${id} ${after.upTargets} of at least ${policy.minHealthy} targets would be up`;
      return refuse("BELOW_MIN_HEALTHY", `${left} for ${request.endpoint}, and it would fail open`);
    }
  }
  return { failsOpen };
}

function refuse(code: Refusal["code"], message: string): OverrideDecision {
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

/** What became of an override; `expired` is the only one that no operator asked for. */
export interface OverrideChange {
  readonly action: "set" | "cleared" | "expired";
  /** The override that is set, or that has ended. */
  readonly entry: OverrideEntry;
}

/** What a request that was carried out led to. */
export interface OverrideSet {
  readonly entry: OverrideEntry;
  /** See {@link OverrideDecision}. */
  readonly failsOpen: boolean;
  /** False when nothing is kept on disk: the override ends with the process. */
  readonly isKept: boolean;
}

export interface OverrideBookOptions {
  readonly clock: Clock;
  /** Those that were in force when the program ended; expired ones are dropped. */
  readonly initial: readonly OverrideEntry[];
  /** What is known of an endpoint, by fqdn; undefined = there is none. */
  look(endpoint: string): OverriddenEndpoint | undefined;
  /** Puts all of them where they survive the process; absent = nothing is kept. Rejects if that failed. */
  readonly save?: (entries: readonly OverrideEntry[]) => Promise<void>;
  /** Carries a change into health and answers. Called once it is saved, and before the request is acknowledged. */
  onChange(change: OverrideChange): void;
  /** An expiry could not be saved; it is in force all the same. */
  onSaveError?(error: unknown): void;
}

/** The overrides in force. Requests are carried out one after the other. */
export interface OverrideBook {
  /** In the order they were set. */
  list(): readonly OverrideEntry[];
  get(endpoint: string, target: string): OverrideEntry | undefined;
  /**
   * Sets the override of a target in place of the one it has. Resolves when it is saved and in force.
   *
   * Rejects with a {@link UserError}: the code of a {@link Refusal}, or `NOT_PERSISTED`; nothing has changed then.
   */
  set(request: OverrideRequest): Promise<OverrideSet>;
  /**
   * Ends the override of a target, configured or not. Resolves with what it was, undefined if there was none.
   *
   * @param kinds end it only if it is one of these
   */
  clear(endpoint: string, target: string, kinds?: readonly OverrideKind[]): Promise<OverrideEntry | undefined>;
  /** Ends the timers, once requests under way are done. Nothing expires any more. */
  stop(): Promise<void>;
}

export function createOverrideBook(options: OverrideBookOptions): OverrideBook {
  const { clock, initial, look, save, onChange, onSaveError } = options;
  let entries = new Map<string, OverrideEntry>();
  let timer: Timer | undefined;
  let stopped = false;
  /** Ends with the request that was made last. */
  let busy: Promise<unknown> = Promise.resolve();

  for (const entry of initial) if (!isExpired(entry)) entries.set(keyOf(entry.endpoint, entry.target), entry);
  planExpiry();

  function isExpired({ expiresAtMs }: OverrideEntry): boolean {
    return expiresAtMs !== undefined && expiresAtMs <= clock.wallMs();
  }

  function planExpiry(): void {
    timer?.cancel();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { expiresAtMs } of entries.values()) nextMs = Math.min(nextMs, expiresAtMs ?? nextMs);
    if (stopped || nextMs === Number.POSITIVE_INFINITY) return;
    timer = clock.after(Math.min(LOOK_AGAIN_MS, Math.max(0, nextMs - clock.wallMs())), () => {
      inTurn(expire).catch((error: unknown) => onSaveError?.(error));
    });
  }

  /** Unlike a request, an expiry comes true first: on the next start it would be found expired anyway. */
  async function expire(): Promise<void> {
    const ended = [...entries.values()].filter(isExpired);
    for (const entry of ended) entries.delete(keyOf(entry.endpoint, entry.target));
    planExpiry();
    for (const entry of ended) onChange({ action: "expired", entry });
    if (ended.length > 0) await save?.([...entries.values()]);
  }

  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = busy.then(task);
    busy = done.catch(() => undefined);
    return done;
  }

  /** Saves `next`, and only then lets it hold. */
  async function take(next: Map<string, OverrideEntry>, change: OverrideChange): Promise<void> {
    try {
      await save?.([...next.values()]);
    } catch (error) {
      // It may have got as far as the disk all the same, and must not come to life with the next start.
      await save?.([...entries.values()]).catch(() => undefined);
      throw error;
    }
    entries = next;
    planExpiry();
    onChange(change);
  }

  return {
    list: () => [...entries.values()],
    get: (endpoint, target) => entries.get(keyOf(endpoint, target)),
    set: (request) =>
      inTurn(async () => {
        const decision = decideOverride(request, look(request.endpoint));
        if ("refusal" in decision) throw new UserError(decision.refusal.message, decision.refusal.code);
        const entry = entryOf(request, clock.wallMs());
        const next = new Map(entries);
        next.delete(keyOf(entry.endpoint, entry.target));
        next.set(keyOf(entry.endpoint, entry.target), entry);
        await take(next, { action: "set", entry });
        return { entry, failsOpen: decision.failsOpen, isKept: save !== undefined };
      }),
    clear: (endpoint, target, kinds) =>
      inTurn(async () => {
        const entry = entries.get(keyOf(endpoint, target));
        if (entry === undefined || (kinds !== undefined && !kinds.includes(entry.kind))) return undefined;
        const next = new Map(entries);
        next.delete(keyOf(endpoint, target));
        await take(next, { action: "cleared", entry });
        return entry;
      }),
    async stop() {
      stopped = true;
      timer?.cancel();
      await busy;
    },
  };
}

function keyOf(endpoint: string, target: string): string {
  return `${endpoint} ${target}`;
}

function entryOf({ endpoint, target, kind, reason, author, forMs }: OverrideRequest, nowMs: number): OverrideEntry {
  return {
    endpoint,
    target,
    kind,
    setAtMs: nowMs,
    ...(reason === undefined ? {} : { reason: cut(reason) }),
    ...(author === undefined ? {} : { author: cut(author) }),
    ...(forMs === undefined ? {} : { expiresAtMs: nowMs + forMs }),
  };
}

/** One line without control characters, fit for logs and terminals. */
function cut(text: string): string {
  return [...text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")].slice(0, MAX_TEXT).join("").trim();
}

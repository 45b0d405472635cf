import type { Clock, Timer } from "../lib/clock.js";
import { UserError } from "../lib/errors.js";
import type { Override, OverrideKind, OverrideOrigin } from "./health.js";
import {
  decideOverride,
  type OverriddenEndpoint,
  type OverrideConsequences,
  type WantedOverride,
} from "./override-decision.js";

/** Longest reason, characters; what is longer is cut. */
export const MAX_REASON = 200;

/** Longest author, characters: a user name of Linux has at most 32, an e-mail address rarely more than 64. */
export const MAX_AUTHOR = 64;

/**
 * Longest time between two looks at the wall clock while an override is to expire, milliseconds. Expiry is a moment
 * on the wall clock, since it outlives the process; a clock that was set is noticed this late at worst.
 */
const LOOK_AGAIN_MS = 30_000;

/** An override and the target it is of. */
export interface OverrideEntry extends Override {
  /** The endpoint's fqdn. */
  readonly endpoint: string;
  readonly target: string;
}

/** Who asks for a change of an override. */
export interface Actor {
  /** The person or program; absent if it is not known. */
  readonly author?: string;
  /** By which way it came. */
  readonly origin: OverrideOrigin;
}

/** An override that is asked for. */
export interface OverrideRequest extends WantedOverride, Actor {
  /** In the operator's words. */
  readonly reason?: string;
  /** Asked when the request's turn has come: an aborted one is not carried out. */
  readonly signal?: AbortSignal;
}

/** What became of an override; `expired` is the only one that nobody asked for. */
export interface OverrideChange {
  readonly action: "set" | "cleared" | "expired";
  /** The override that is set, or that has ended. */
  readonly entry: OverrideEntry;
  /** Who set or cleared it; of one that expired, whose it was. */
  readonly actor: Actor;
}

/** What a request that was carried out led to. */
export interface OverrideSet extends OverrideConsequences {
  readonly entry: OverrideEntry;
  /** False when nothing is kept on disk: the override ends with the process. */
  readonly isKept: boolean;
}

export interface OverrideStoreOptions {
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
  onSaveError(error: unknown): void;
}

/** The overrides in force: the one place that holds them. Requests are carried out one after the other. */
export class OverrideStore {
  readonly #options: OverrideStoreOptions;
  #entries = new Map<string, OverrideEntry>();
  #timer: Timer | undefined;
  #isStopped = false;
  /** Ends with the request that was made last. */
  #busy: Promise<unknown> = Promise.resolve();

  constructor(options: OverrideStoreOptions) {
    this.#options = options;
    for (const entry of options.initial) if (!this.#isExpired(entry)) this.#entries.set(keyOf(entry), entry);
    this.#planExpiry();
  }

  /** In the order they were set. */
  list(): readonly OverrideEntry[] {
    return [...this.#entries.values()];
  }

  /** The override of a target, configured or not. */
  get(endpoint: string, target: string): OverrideEntry | undefined {
    return this.#entries.get(keyOf({ endpoint, target }));
  }

  /**
   * Sets the override of a target in place of the one it has. Resolves when it is saved and in force.
   *
   * @throws UserError the code of a refusal, `NOT_PERSISTED`, or `CLIENT_GONE`; nothing has changed then
   */
  set(request: OverrideRequest): Promise<OverrideSet> {
    return this.#inTurn(async () => {
      requireWanted(request.signal);
      const { clock, look, save } = this.#options;
      const decision = decideOverride(request, look(request.endpoint));
      if ("refusal" in decision) throw new UserError(decision.refusal.message, decision.refusal.code);
      const entry = entryOf(request, clock.wallMs());
      const next = new Map(this.#entries);
      next.delete(keyOf(entry));
      next.set(keyOf(entry), entry);
      await this.#take(next, { action: "set", entry, actor: actorOf(request) });
      return { entry, ...decision, isKept: save !== undefined };
    });
  }

  /**
   * Ends the override of a target, configured or not. Resolves with what it was, undefined if there was none.
   *
   * @param kinds end it only if it is one of these
   * @throws UserError `NOT_PERSISTED` or `CLIENT_GONE`; nothing has changed then
   */
  clear(
    name: { readonly endpoint: string; readonly target: string },
    actor: Actor & { readonly signal?: AbortSignal },
    kinds?: readonly OverrideKind[],
  ): Promise<OverrideEntry | undefined> {
    return this.#inTurn(async () => {
      requireWanted(actor.signal);
      const entry = this.#entries.get(keyOf(name));
      if (entry === undefined || (kinds !== undefined && !kinds.includes(entry.kind))) return undefined;
      const next = new Map(this.#entries);
      next.delete(keyOf(name));
      await this.#take(next, { action: "cleared", entry, actor: actorOf(actor) });
      return entry;
    });
  }

  /**
   * Takes over what another process has saved meanwhile: every difference comes true as a change by its author. Nothing is
   * saved, since it is saved already.
   */
  adopt(entries: readonly OverrideEntry[]): Promise<void> {
    return this.#inTurn(async () => {
      const next = new Map(entries.filter((entry) => !this.#isExpired(entry)).map((entry) => [keyOf(entry), entry]));
      const changes = differences(this.#entries, next);
      this.#entries = next;
      this.#planExpiry();
      for (const change of changes) this.#options.onChange(change);
    });
  }

  /** Ends the timers, once requests under way are done. Nothing expires any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#busy;
  }

  #isExpired({ expiresAtMs }: OverrideEntry): boolean {
    return expiresAtMs !== undefined && expiresAtMs <= this.#options.clock.wallMs();
  }

  #planExpiry(): void {
    const { clock, onSaveError } = this.#options;
    this.#timer?.cancel();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { expiresAtMs } of this.#entries.values()) nextMs = Math.min(nextMs, expiresAtMs ?? nextMs);
    if (this.#isStopped || nextMs === Number.POSITIVE_INFINITY) return;
    this.#timer = clock.after(Math.min(LOOK_AGAIN_MS, Math.max(0, nextMs - clock.wallMs())), () => {
      this.#inTurn(() => this.#expire()).catch(onSaveError);
    });
  }

  /** Unlike a request, an expiry comes true first: on the next start it would be found expired anyway. */
  async #expire(): Promise<void> {
    const ended = this.list().filter((entry) => this.#isExpired(entry));
    for (const entry of ended) this.#entries.delete(keyOf(entry));
    this.#planExpiry();
    for (const entry of ended) this.#options.onChange({ action: "expired", entry, actor: actorOf(entry) });
    if (ended.length > 0) await this.#options.save?.(this.list());
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(task);
    this.#busy = done.catch(() => undefined);
    return done;
  }

  /** Saves `next`, and only then lets it hold. */
  async #take(next: Map<string, OverrideEntry>, change: OverrideChange): Promise<void> {
    const { save, onChange } = this.#options;
    try {
      await save?.([...next.values()]);
    } catch (error) {
      // It may have got as far as the disk all the same, and must not come to life with the next start.
      await save?.(this.list()).catch(() => undefined);
      throw error;
    }
    this.#entries = next;
    this.#planExpiry();
    onChange(change);
  }
}

/** What has to happen for `before` to become `after`. */
function differences(
  before: ReadonlyMap<string, OverrideEntry>,
  after: ReadonlyMap<string, OverrideEntry>,
): OverrideChange[] {
  const set = [...after].filter(([key, entry]) => JSON.stringify(before.get(key)) !== JSON.stringify(entry));
  const gone = [...before].filter(([key]) => !after.has(key));
  return [
    ...set.map(([, entry]): OverrideChange => ({ action: "set", entry, actor: actorOf(entry) })),
    // Who cleared it only the other process knew.
    ...gone.map(([, entry]): OverrideChange => ({ action: "cleared", entry, actor: { origin: entry.origin } })),
  ];
}

/** @throws UserError if whoever asked is not there any more */
function requireWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new UserError("whoever asked for it is not there any more", "CLIENT_GONE");
}

function keyOf({ endpoint, target }: { readonly endpoint: string; readonly target: string }): string {
  return `${endpoint} ${target}`;
}

function actorOf({ author, origin }: Actor): Actor {
  return author === undefined ? { origin } : { author: oneLine(author, MAX_AUTHOR), origin };
}

function entryOf(request: OverrideRequest, nowMs: number): OverrideEntry {
  const { endpoint, target, kind, reason, forMs } = request;
  return {
    endpoint,
    target,
    kind,
    ...(reason === undefined ? {} : { reason: oneLine(reason, MAX_REASON) }),
    ...actorOf(request),
    setAtMs: nowMs,
    ...(forMs === undefined ? {} : { expiresAtMs: nowMs + forMs }),
  };
}

/** One line without control characters, fit for logs and terminals. */
function oneLine(text: string, maxCharacters: number): string {
  return [...text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")].slice(0, maxCharacters).join("").trim();
}

import type { Clock, Timer } from "../lib/clock.js";
import { UserError } from "../lib/errors.js";
import { compareStamps, HybridClock, type Stamp } from "../lib/hybrid-clock.js";
import type { OverrideKind } from "./health.js";
import {
  type Actor,
  actorOf,
  copyOf,
  differences,
  endedOf,
  endOf,
  entriesOf,
  entryIn,
  isLocalRecord,
  isStamped,
  isWorthKeeping,
  keyOf,
  type OverrideChange,
  type OverrideEntry,
  type OverrideRecord,
  oneLine,
  type Records,
  recordsOf,
  type StampedRecord,
} from "./override-records.js";
import {
  decideOverride,
  type OverriddenEndpoint,
  type OverrideConsequences,
  type WantedOverride,
} from "./override-refusals.js";

/** Longest reason, characters; what is longer is cut. */
export const MAX_REASON = 200;

/**
 * Longest time between two looks at the wall clock while an override is to expire, milliseconds. Expiry is a moment
 * on the wall clock, since it outlives the process; a clock that was set is noticed this late at worst.
 */
const LOOK_AGAIN_MS = 30_000;

/** Most records that are taken from siblings: ten targets for each of a thousand endpoints. */
const MAX_RECORDS = 10_000;

/** An override that is asked for. */
export interface OverrideRequest extends WantedOverride, Actor {
  /** In the operator's words. */
  readonly reason?: string;
  /** Holds on this server alone. */
  readonly isLocal?: boolean;
  /** Asked when the request's turn has come: an aborted one is not carried out. */
  readonly signal?: AbortSignal;
}

/** What a request that was carried out led to. */
export interface OverrideSet extends OverrideConsequences {
  readonly entry: OverrideEntry;
  /** False when nothing is kept on disk: the override ends with the process. */
  readonly isKept: boolean;
}

export interface OverrideStoreOptions {
  readonly clock: Clock;
  /** What was kept when the program ended; what has expired is dropped. */
  readonly initial: readonly OverrideRecord[];
  /** Name of this server among its siblings; absent = it has none. */
  readonly server?: string;
  /** What is known of an endpoint, by fqdn, to decide on this target of it; undefined = there is none. */
  look(endpoint: string, target: string): OverriddenEndpoint | undefined;
  /** Puts all of them where they survive the process; absent = nothing is kept. Rejects if that failed. */
  readonly save?: (records: readonly OverrideRecord[]) => Promise<void>;
  /** Carries a change into health and answers. Called once it is saved, and before the request is acknowledged. */
  onChange(change: OverrideChange): void;
  /** An expiry could not be saved; it is in force all the same. */
  onSaveError(error: unknown): void;
}

/** The overrides in force: the one place that holds them. Requests are carried out one after the other. */
export class OverrideStore {
  readonly #options: OverrideStoreOptions;
  readonly #stamps: HybridClock;
  /** What holds, and the notes of what has ended, by target; local ones apart. */
  #records: Records;
  #revision = 0;
  #timer: Timer | undefined;
  #isStopped = false;
  /** Ends with the request that was made last. */
  #busy: Promise<unknown> = Promise.resolve();

  constructor(options: OverrideStoreOptions) {
    this.#options = options;
    this.#stamps = new HybridClock(options.clock);
    this.#records = this.#understood(options.initial);
    this.#planExpiry();
  }

  /** In the order they were set. */
  list(): readonly OverrideEntry[] {
    return entriesOf(this.#records);
  }

  /** The override of a target, configured or not. */
  get(endpoint: string, target: string): OverrideEntry | undefined {
    return entryIn(this.#records, keyOf({ endpoint, target }));
  }

  /** Another number after each change of what siblings are told. */
  get revision(): number {
    return this.#revision;
  }

  /** What siblings are told: everything but what holds on this server alone. */
  shared(): readonly StampedRecord[] {
    return [...this.#records.shared.values()].filter(isStamped);
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
      const decision = decideOverride(request, look(request.endpoint, request.target));
      if ("refusal" in decision) throw new UserError(decision.refusal.message, decision.refusal.code);
      const isLocal = isOfOneServer(request);
      const entry = entryOf(request, clock.wallMs(), isLocal ? undefined : this.#stamp());
      const next = copyOf(this.#records);
      const key = keyOf(entry);
      next.local.delete(key);
      if (!isLocal) next.shared.delete(key);
      (isLocal ? next.local : next.shared).set(key, entry);
      await this.#take(next, [{ action: "set", entry, actor: actorOf(request) }]);
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
    actor: Actor & { readonly signal?: AbortSignal; readonly isLocal?: boolean },
    kinds?: readonly OverrideKind[],
  ): Promise<OverrideEntry | undefined> {
    return this.#inTurn(async () => {
      requireWanted(actor.signal);
      const key = keyOf(name);
      const isLocal = isOfOneServer(actor);
      const entry = isLocal ? this.#records.local.get(key) : this.get(name.endpoint, name.target);
      if (entry === undefined || (kinds !== undefined && !kinds.includes(entry.kind))) return undefined;
      const next = copyOf(this.#records);
      next.local.delete(key);
      if (!isLocal) {
        next.shared.delete(key);
        const stamp = this.#stamp();
        const { clock } = this.#options;
        if (stamp !== undefined) next.shared.set(key, endedOf(name, stamp, actorOf(actor), clock.wallMs()));
      }
      await this.#take(next, [{ action: "cleared", entry, actor: actorOf(actor) }]);
      return entry;
    });
  }

  /**
   * Takes over what another process has saved meanwhile: every difference comes true as a change by its author. Nothing is
   * saved, since it is saved already.
   */
  adopt(records: readonly OverrideRecord[]): Promise<void> {
    return this.#inTurn(async () => {
      const next = this.#understood(records);
      const changes = differences(this.#records, next);
      this.#records = next;
      this.#revision += 1;
      this.#planExpiry();
      for (const change of changes) this.#options.onChange(change);
    });
  }

  /**
   * Takes what a sibling says: of each target the last word holds, whoever says it. Resolves when it is saved and in force.
   *
   * @returns what was news, for the others to be told
   * @throws UserError `NOT_PERSISTED`; nothing has changed then
   */
  receive(records: readonly StampedRecord[]): Promise<readonly StampedRecord[]> {
    return this.#inTurn(async () => {
      const next = copyOf(this.#records);
      const news: StampedRecord[] = [];
      const nowMs = this.#options.clock.wallMs();
      for (const record of records) {
        this.#stamps.see(record.stamp);
        const key = keyOf(record);
        const known = next.shared.get(key);
        if (known === undefined && (next.shared.size >= MAX_RECORDS || isOver(record, nowMs))) continue;
        if (known?.stamp !== undefined && compareStamps(record.stamp, known.stamp) <= 0) continue;
        const hasExpired = record.kind !== "ended" && !isWorthKeeping(record, nowMs);
        next.shared.delete(key);
        next.shared.set(key, hasExpired ? endedOf(record, record.stamp, actorOf(record), nowMs) : record);
        news.push(record);
      }
      if (news.length > 0) await this.#take(next, differences(this.#records, next));
      return news;
    });
  }

  /** Ends the timers, once requests under way are done. Nothing expires any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#busy;
  }

  #stamp(): Stamp | undefined {
    const { server } = this.#options;
    return server === undefined ? undefined : this.#stamps.next(server);
  }

  /** What is still worth keeping of records, by target; what has no stamp gets one if there are siblings. */
  #understood(records: readonly OverrideRecord[]): Records {
    const { server, clock } = this.#options;
    const nowMs = clock.wallMs();
    const known: Records = { shared: new Map(), local: new Map() };
    for (const record of records) {
      if (record.stamp !== undefined) this.#stamps.see(record.stamp);
      if (!isWorthKeeping(record, nowMs)) continue;
      const needsStamp = record.stamp === undefined && server !== undefined && !isLocalRecord(record);
      const stamped = needsStamp ? { ...record, stamp: { ms: record.setAtMs, count: 0, by: server } } : record;
      if (stamped.kind !== "ended" && isLocalRecord(stamped)) known.local.set(keyOf(stamped), stamped);
      else known.shared.set(keyOf(stamped), stamped);
    }
    return known;
  }

  #planExpiry(): void {
    const { clock, onSaveError } = this.#options;
    this.#timer?.cancel();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const record of recordsOf(this.#records)) nextMs = Math.min(nextMs, endOf(record));
    if (this.#isStopped || nextMs === Number.POSITIVE_INFINITY) return;
    this.#timer = clock.after(Math.min(LOOK_AGAIN_MS, Math.max(0, nextMs - clock.wallMs())), () => {
      this.#inTurn(() => this.#expire()).catch(onSaveError);
    });
  }

  /**
   * Unlike a request, an expiry comes true first: on the next start it would be found expired anyway. The note that remains
   * has the stamp of what has expired, so that siblings, whose clocks differ, need not tell each other.
   */
  async #expire(): Promise<void> {
    const nowMs = this.#options.clock.wallMs();
    const before = this.#records;
    const next = copyOf(before);
    for (const record of recordsOf(before)) {
      if (endOf(record) > nowMs) continue;
      const key = keyOf(record);
      if (isLocalRecord(record)) next.local.delete(key);
      else if (record.kind === "ended" || record.stamp === undefined) next.shared.delete(key);
      else next.shared.set(key, endedOf(record, record.stamp, actorOf(record), nowMs));
    }
    const ended = entriesOf(before).filter((entry) => endOf(entry) <= nowMs);
    this.#records = next;
    this.#revision += 1;
    this.#planExpiry();
    for (const entry of ended) this.#options.onChange({ action: "expired", entry, actor: actorOf(entry) });
    if (recordsOf(next).length !== recordsOf(before).length || ended.length > 0) await this.#save(next);
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(task);
    this.#busy = done.catch(() => undefined);
    return done;
  }

  async #save(records: Records): Promise<void> {
    await this.#options.save?.(recordsOf(records));
  }

  /** Saves `next`, and only then lets it hold. */
  async #take(next: Records, changes: readonly OverrideChange[]): Promise<void> {
    try {
      await this.#save(next);
    } catch (error) {
      // It may have got as far as the disk all the same, and must not come to life with the next start.
      await this.#save(this.#records).catch(() => undefined);
      throw error;
    }
    this.#records = next;
    this.#revision += 1;
    this.#planExpiry();
    for (const change of changes) this.#options.onChange(change);
  }
}

/** What Kubernetes asks for each server reads by itself. */
function isOfOneServer({ isLocal, origin }: Actor & { readonly isLocal?: boolean }): boolean {
  return isLocal === true || origin === "kubernetes";
}

/** Whether a note has been kept for long enough. */
function isOver(record: OverrideRecord, nowMs: number): boolean {
  return record.kind === "ended" && !isWorthKeeping(record, nowMs);
}

/** @throws UserError if whoever asked is not there any more */
function requireWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new UserError("whoever asked for it is not there any more", "CLIENT_GONE");
}

function entryOf(request: OverrideRequest, nowMs: number, stamp: Stamp | undefined): OverrideEntry {
  const { endpoint, target, kind, reason, forMs, isLocal = false } = request;
  return {
    endpoint,
    target,
    kind,
    ...(reason === undefined ? {} : { reason: oneLine(reason, MAX_REASON) }),
    ...actorOf(request),
    setAtMs: nowMs,
    ...(forMs === undefined ? {} : { expiresAtMs: nowMs + forMs }),
    ...(stamp === undefined ? {} : { stamp }),
    ...(isLocal ? { isLocal } : {}),
  };
}

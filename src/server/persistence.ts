import type { AnswerableAddress } from "../health/answerable.js";
import type { Snapshot } from "../health/health.js";
import type { Remembered } from "../health/health-monitor.js";
import type { LastKnown } from "../health/persisted-state.js";
import type { StateFile } from "../health/state-file.js";
import type { Clock, Timer } from "../lib/clock.js";
import type { Subscriber } from "./events.js";

/** Remembered health serves up to this age, milliseconds; older counts as unknown. */
export const MAX_AGE_MS = 10 * 60_000;

/** A file may be this much from the future, milliseconds: clocks are corrected. */
const CLOCK_ERROR_MS = 5_000;

/** A change is written this long after it, milliseconds, together with those that follow it. */
const SAVE_AFTER_MS = 2_000;

/** The file is written at least this often, milliseconds, so that its age tells when it was true. */
const SAVE_EVERY_MS = 60_000;

/** What the process before knew. */
export interface KnownBefore {
  /** How old it is, milliseconds; absent without a file. */
  readonly ageMs?: number;
  /** Whether health is fresh enough to serve. */
  readonly isFresh: boolean;
  recall(fqdn: string, target: string, address: string): Remembered | undefined;
  lastHealthy(fqdn: string): readonly AnswerableAddress[];
  /** The serial of a zone that was published last; its age does not matter. */
  serial(zone: string): number | undefined;
}

/** Makes what was read from the state folder fit to be asked. @param last absent = nothing is known */
export function knownBefore(last: LastKnown | undefined, nowMs: number): KnownBefore {
  const ageMs = last && nowMs - last.savedAtMs;
  const isFresh = ageMs !== undefined && ageMs >= -CLOCK_ERROR_MS && ageMs <= MAX_AGE_MS;
  const addresses = new Map<string, Remembered>();
  const healthy = new Map<string, readonly AnswerableAddress[]>();
  const serials = new Map(last?.zones.map(({ zone, serial }) => [zone, serial]));
  for (const endpoint of isFresh ? (last?.endpoints ?? []) : []) {
    healthy.set(endpoint.fqdn, endpoint.lastHealthy);
    for (const { target, address, ...health } of endpoint.addresses) {
      addresses.set(`${endpoint.fqdn} ${target} ${address}`, health);
    }
  }
  return {
    ...(ageMs === undefined ? {} : { ageMs }),
    isFresh,
    recall: (fqdn, target, address) => addresses.get(`${fqdn} ${target} ${address}`),
    lastHealthy: (fqdn) => healthy.get(fqdn) ?? [],
    serial: (zone) => serials.get(zone),
  };
}

export interface HealthPersistenceOptions {
  readonly clock: Clock;
  /** Absent = nothing is kept. */
  readonly file: Pick<StateFile<LastKnown>, "write"> | undefined;
  /** What is true now, without the moment. */
  collect(): Omit<LastKnown, "savedAtMs">;
  onError(error: unknown): void;
}

/** Writes health and serials for the process that comes after this one. */
export class HealthPersistence {
  readonly #options: HealthPersistenceOptions;
  #timer: Timer | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #isStopped = false;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: HealthPersistenceOptions) {
    this.#options = options;
  }

  /** Subscriber for which everything that the file tells of is reason to write it. */
  subscriber(): Subscriber {
    const changed = (): void => this.changed();
    return {
      "health-changed": changed,
      "answers-changed": changed,
      "override-changed": changed,
      "suppression-changed": changed,
      "zones-replaced": changed,
    };
  }

  /** Begins to write. */
  start(): void {
    this.#plan(SAVE_EVERY_MS);
  }

  /** Something worth keeping has changed. */
  changed(): void {
    this.#plan(SAVE_AFTER_MS);
  }

  /** Writes once more, and never again. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#save();
    await this.#saving;
  }

  #plan(delayMs: number): void {
    const { clock, file } = this.#options;
    if (this.#isStopped || file === undefined) return;
    const at = clock.monotonicMs() + delayMs;
    if (at >= this.#dueMs) return;
    this.#dueMs = at;
    this.#timer?.cancel();
    this.#timer = clock.after(delayMs, () => {
      this.#dueMs = Number.POSITIVE_INFINITY;
      this.#save();
      this.#plan(SAVE_EVERY_MS);
    });
  }

  #save(): void {
    const { clock, file, collect, onError } = this.#options;
    if (file !== undefined) this.#saving = file.write({ savedAtMs: clock.wallMs(), ...collect() }).catch(onError);
  }
}

/** The part of {@link LastKnown} that is health. */
export function describeHealth(
  snapshot: Snapshot,
  lastHealthy: (fqdn: string) => readonly AnswerableAddress[],
): LastKnown["endpoints"] {
  return [...snapshot.endpoints.values()].map(({ fqdn, targets }) => ({
    fqdn,
    addresses: targets.flatMap(({ id, addresses }) =>
      addresses.flatMap(({ address, health, sinceMs, last }) =>
        health === "unknown" ? [] : [{ target: id, address, health, sinceMs, ...(last === undefined ? {} : { last }) }],
      ),
    ),
    lastHealthy: [...lastHealthy(fqdn)],
  }));
}

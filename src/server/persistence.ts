import type { AnswerableAddress } from "../health/answerable.js";
import type { Snapshot } from "../health/health.js";
import type { Remembered } from "../health/monitor.js";
import type { LastKnown } from "../health/persisted-state.js";
import type { StateFile } from "../health/state-file.js";
import type { Clock, Timer } from "../lib/clock.js";

/** Remembered health serves up to this age, milliseconds; older counts as unknown. */
export const MAX_AGE_MS = 10 * 60_000;

/** A file may be this much from the future, milliseconds: clocks are corrected. */
const CLOCK_ERROR_MS = 5_000;

/** A change is written this long after it, milliseconds, together with those that follow it. */
const SAVE_AFTER_MS = 2_000;

/** The file is written at least this often, milliseconds, so that its age tells when it was true. */
const SAVE_EVERY_MS = 60_000;

export interface RememberingOptions {
  readonly clock: Clock;
  /** Absent = nothing is kept. */
  readonly file: StateFile<LastKnown> | undefined;
  /** What is true now, without the moment. */
  collect(): Omit<LastKnown, "savedAtMs">;
  onError(error: unknown): void;
}

/** Health and serials that outlive the process. */
export interface Remembering {
  /** How old what was read is, milliseconds; absent without a file. */
  readonly ageMs?: number;
  /** Whether health was fresh enough to serve. */
  readonly isFresh: boolean;
  recall(fqdn: string, target: string, address: string): Remembered | undefined;
  lastHealthy(fqdn: string): readonly AnswerableAddress[];
  /** The serial of a zone that was published last; its age does not matter. */
  serial(zone: string): number | undefined;
  /** Begins to write. */
  start(): void;
  /** Something worth keeping has changed. */
  changed(): void;
  /** Writes once more, and never again. */
  stop(): Promise<void>;
}

/** Reads what the process before knew. */
export async function createRemembering(options: RememberingOptions): Promise<Remembering> {
  const { clock, file, collect, onError } = options;
  const last = await file?.read();
  const ageMs = last && clock.wallMs() - last.savedAtMs;
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
  let timer: Timer | undefined;
  let dueMs = Number.POSITIVE_INFINITY;
  let isStopped = false;
  let saving: Promise<void> = Promise.resolve();

  function plan(delayMs: number): void {
    if (isStopped || file === undefined) return;
    const at = clock.monotonicMs() + delayMs;
    if (at >= dueMs) return;
    dueMs = at;
    timer?.cancel();
    timer = clock.after(delayMs, () => {
      dueMs = Number.POSITIVE_INFINITY;
      save();
      plan(SAVE_EVERY_MS);
    });
  }

  function save(): void {
    saving = file?.write({ savedAtMs: clock.wallMs(), ...collect() }).catch(onError) ?? saving;
  }

  return {
    ...(ageMs === undefined ? {} : { ageMs }),
    isFresh,
    recall: (fqdn, target, address) => addresses.get(`${fqdn} ${target} ${address}`),
    lastHealthy: (fqdn) => healthy.get(fqdn) ?? [],
    serial: (zone) => serials.get(zone),
    start: () => plan(SAVE_EVERY_MS),
    changed: () => plan(SAVE_AFTER_MS),
    async stop() {
      isStopped = true;
      timer?.cancel();
      save();
      await saving;
    },
  };
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

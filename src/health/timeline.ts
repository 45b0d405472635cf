import { FAILURE_CLASSES, type FailureClass, type ProbeSchedule } from "../config/config.js";
import { failuresNeeded, HARD_RECHECK_MS, isHardEvidence, isSilent } from "./state.js";

/** Largest part by which the interval between two probes is stretched or shortened, so that probes spread. */
export const JITTER = 0.1;

/** The ways in which an apiserver fails, by how soon the probes can be sure. */
export const FAILURE_KINDS = ["hard", "hang", "other"] as const;

/**
 * - `hard`: the port refuses, or the path answers that it is not ready (`refused`, `not-ready`);
 * - `hang`: nothing comes back (`timeout`, `unreachable`);
 * - `other`: everything that fails promptly: TLS, resets, statuses, credentials.
 */
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** From a failure to its last trace, worst case. Milliseconds. */
export interface Timeline {
  readonly kind: FailureKind;
  /** Until the address is withdrawn from answers. */
  readonly detectionMs: number;
  /** Until no cache that honours the TTL still holds it. */
  readonly forgottenMs: number;
}

/**
 * The worst case for each {@link FailureKind}: the failure comes right after a probe passed, and the next one is as
 * late as jitter makes it. A probe that fails promptly is taken to need no time; allow a round trip for each.
 *
 * @param ttlSeconds TTL of the endpoint's addresses
 */
export function worstCaseTimelines(schedule: ProbeSchedule, ttlSeconds: number): readonly Timeline[] {
  return FAILURE_KINDS.map((kind) => {
    const detectionMs = firstProbeMs(schedule) + confirmationMs(schedule, kind);
    return { kind, detectionMs, forgottenMs: detectionMs + ttlSeconds * 1000 };
  });
}

/** Worst case until a target that works again is answered, milliseconds. */
export function worstCaseReturnMs(schedule: ProbeSchedule): number {
  return firstProbeMs(schedule) + (schedule.rise - 1) * schedule.recheckMs;
}

function firstProbeMs(schedule: ProbeSchedule): number {
  return Math.round(schedule.intervalMs * (1 + JITTER));
}

/** From the start of the first probe that fails to the decision. */
function confirmationMs(schedule: ProbeSchedule, kind: FailureKind): number {
  const { recheckMs, timeoutMs } = schedule;
  const needed = (failure: FailureClass) => failuresNeeded(failure, schedule);
  // A class that never withdraws has no worst case.
  const counts = FAILURE_CLASSES.filter((one) => kindOf(one) === kind)
    .map(needed)
    .filter(Number.isFinite);
  const repeats = Math.max(...counts) - 1;
  if (kind === "hard") return repeats * HARD_RECHECK_MS;
  if (kind === "other") return repeats * recheckMs;
  // A recheck is counted from the start of the probe before, and waits for its end.
  const timeoutsMs = (needed("timeout") - 1) * Math.max(recheckMs, timeoutMs) + timeoutMs;
  return Math.max(timeoutsMs, (needed("unreachable") - 1) * recheckMs);
}

function kindOf(failure: FailureClass): FailureKind {
  if (isHardEvidence(failure)) return "hard";
  return isSilent(failure) ? "hang" : "other";
}

import type { ProbeConfig, TargetProbeConfig } from "../config/config.js";
import type { Clock, Timer } from "../lib/clock.js";
import type { ProbeResult, Suppression } from "./health.js";
import { coversName } from "./probes/tls.js";
import type { ViewedAddress } from "./registry.js";
import type { FilteredJob } from "./result-filter.js";
import type { AddressState, Change } from "./state.js";

/** One address of one target, and what its endpoint makes of the results. */
export interface MonitoredAddress {
  /** What readers see. Its health may be older than that of `state` while a change is held back. */
  readonly view: ViewedAddress;
  config: ProbeConfig;
  /** Where its target says that it is probed instead; absent = at the address itself. */
  elsewhere?: TargetProbeConfig | undefined;
  /** What the results say. */
  state: AddressState;
  /** Monotonic moment at which its endpoint wants the next probe. */
  dueMs: number;
  /** Absent for what is never probed. */
  job?: ProbeJob;
  /** The first round waits for its first result. */
  isAwaited: boolean;
  /** The newest result that counted; moments are monotonic. */
  newest?: Seen;
  /** The change that readers do not see yet. */
  unpublished?: Unpublished;
  /** Monotonic moment at which readers last saw it go down since it was not ready. */
  leftMs?: number;
  /** Whether the certificate with these names is good for the endpoint's own name. */
  certificate?: { readonly names: string; readonly covers: boolean };
}

/** One thing that is probed, for every address of a target that wants the same. */
export interface ProbeJob extends FilteredJob {
  readonly key: string;
  /** The address that is connected to. */
  readonly address: string;
  /** That of one of `addresses`; all agree on everything but the schedule. */
  config: ProbeConfig;
  readonly addresses: Set<MonitoredAddress>;
  /** Monotonic moment at which the next probe should start; without meaning while one runs. */
  dueMs: number;
  timer?: Timer;
  running?: AbortController;
  /** Monotonic moment of the newest probe for a hint. */
  hintedMs?: number;
  /** False until its first result: first probes wait for a place, and the second is placed at random. */
  isProbed: boolean;
  /** Its tripwire broke while a probe was under way, which may have looked too early. */
  isTripped: boolean;
  /** The alternative names of the newest certificate; one string for all results with the same. */
  names?: string;
}

export interface Seen {
  readonly class: ProbeResult["class"];
  readonly endedMs: number;
  /** End of the first of the `refused` results in a row that end with this one; absent for any other class. */
  readonly refusedSinceMs?: number;
}

export interface Unpublished {
  readonly change: Change;
  readonly result: ProbeResult;
  /** Monotonic moment of the change. */
  readonly changedMs: number;
}

/** Result of an address that is never probed. */
export const NOT_PROBED: ProbeResult = { class: "ok", reason: "not probed", durationMs: 0 };

/** Takes note of a result that counts. */
export function noteResult(address: MonitoredAddress, resultClass: ProbeResult["class"], endedMs: number): void {
  const { refusedSinceMs = endedMs } = address.newest ?? {};
  address.newest = { class: resultClass, endedMs, ...(resultClass === "refused" ? { refusedSinceMs } : {}) };
}

/** The result, with a note if the certificate was fit for the probe but is not for the endpoint's own name. */
export function withCertificateNote(address: MonitoredAddress, result: ProbeResult): ProbeResult {
  const { certificateNames: names } = result;
  const { fqdn } = address.view;
  const { config } = address;
  if (names === undefined || config.type !== "https" || config.serverName === fqdn) return result;
  if (address.certificate?.names !== names) address.certificate = { names, covers: coversName(names, fqdn) };
  if (address.certificate.covers) return result;
  return { ...result, reason: `${result.reason}; the certificate is not for ${fqdn}`.slice(0, 200) };
}

/** Shows readers the suppression and the joining of an address; its health too unless a change is held back. */
export function updateView(address: MonitoredAddress, clock: Clock, isRunning: boolean): void {
  const { view, state, unpublished } = address;
  if (unpublished === undefined) {
    // Before the start there is only what is remembered, with its own moment.
    if (view.health !== state.health && isRunning) view.sinceMs = clock.wallMs();
    view.health = state.health;
  }
  delete view.held;
  delete view.isJoining;
  const suppression = suppressionOf(address, clock);
  if (suppression !== undefined) view.held = suppression;
  if (state.mustEarn) view.isJoining = true;
}

function suppressionOf({ state, config }: MonitoredAddress, clock: Clock): Suppression | undefined {
  const { flap, heldUntilMs } = state;
  if (heldUntilMs === undefined) return undefined;
  const nowMs = clock.monotonicMs();
  const fromMs = nowMs - (config.flap?.windowMs ?? 0);
  return {
    untilMs: clock.wallMs() + Math.max(0, heldUntilMs - nowMs),
    changes: flap.changesMs.filter((ms) => ms > fromMs).length,
  };
}

import type { ProbeConfig, TargetProbeConfig } from "../config/config.js";
import type { Clock } from "../lib/clock.js";
import type { Override, ProbeResult, Snapshot, Transition } from "./health.js";
import type { RunProbe } from "./probes/probe.js";
import type { Ignored } from "./result-filter.js";
import type { OpenTripwire } from "./tripwires.js";

/** One endpoint to monitor. */
export interface MonitoredEndpoint {
  /** The identity of the endpoint. */
  readonly fqdn: string;
  /** In configuration order; ids and addresses unique in the endpoint. */
  readonly targets: readonly MonitoredTarget[];
  readonly probe: ProbeConfig;
}

export interface MonitoredTarget {
  readonly id: string;
  readonly addresses: readonly string[];
  /** Where it is probed instead of where it is answered. */
  readonly probe?: TargetProbeConfig;
  /** Shown, but never probed. */
  readonly disabled?: boolean;
  /** Addresses that have never passed: each is `unknown` until `rise` successes, also at a start. */
  readonly unproven?: readonly string[];
}

/** One finished probe, for counters and logs. */
export interface ProbeReport {
  readonly address: string;
  readonly config: ProbeConfig;
  readonly result: ProbeResult;
  /** Milliseconds by which the probe started after its due moment. */
  readonly lagMs: number;
  /** The targets that share it. At least one. */
  readonly targets: readonly { readonly fqdn: string; readonly target: string }[];
  /** Present for a failure that is not held against the address. */
  readonly ignored?: Ignored;
}

/** What was known of an address before this process started. */
export interface Remembered {
  readonly health: "up" | "down";
  /** See {@link AddressHealth.sinceMs}. */
  readonly sinceMs: number;
  readonly last?: ProbeResult;
}

export interface HealthMonitorOptions {
  readonly clock: Clock;
  /** 0 (included) to 1 (not included), as `Math.random`; spreads the probes. */
  readonly random: () => number;
  readonly runProbe: RunProbe;
  /** What readers see changed, all at once, with the picture after it. Called after {@link onResult}. */
  onTransition(transitions: readonly Transition[], snapshot: Snapshot): void;
  /** Every result, once for each probe made. */
  onResult?(report: ProbeReport): void;
  /**
   * First probes under way at the same moment, so that their handshakes do not hold each other up past the
   * timeout. Default 256; later probes are not limited, or those that hang would delay those that do not.
   */
  readonly maxFirstProbes?: number;
  /** Opens tripwires for the addresses whose configuration wants one. Absent = none are. */
  readonly openTripwire?: OpenTripwire;
  /**
   * Health that serves from the start, until probes say otherwise; asked once for each address of {@link
   * HealthMonitor.configure} before the start. Absent or undefined = unknown.
   */
  recall?(fqdn: string, target: string, address: string): Remembered | undefined;
  /** The override of a target that is in force, for the snapshot. Absent = there are none. */
  overrideOf?(fqdn: string, target: string): Override | undefined;
  /**
   * Whether somebody else knows if this server is cut off: then it does not presume so by itself, and results count. Absent =
   * nobody does.
   */
  knowsBetter?(): boolean;
  /** No connection can be made to any address any more, or one can be again. Called before {@link onTransition}. */
  onIsolation?(isolated: boolean): void;
  /** An address of these endpoints, which flaps, is suppressed although it passes, or not any more: no transition. */
  onHold?(fqdns: readonly string[], snapshot: Snapshot): void;
  /** This process did not run for so long, milliseconds. */
  onStall?(lengthMs: number): void;
}

/** Probes addresses, draws conclusions, and keeps the picture that others read. */
export interface HealthMonitor {
  /**
   * What to monitor from now on. An address that stays (same endpoint, target id and address) keeps its health; the
   * probe of one that goes stops at once; new settings hold from the next probe. Once started, an address that
   * joins an endpoint that was there before is `unknown` until `rise` successes. Takes a new {@link snapshot} to
   * be seen; reports no transition.
   */
  configure(endpoints: readonly MonitoredEndpoint[]): void;
  /** Adds or changes one endpoint, as {@link configure} does for all; costs what that endpoint costs. */
  configureEndpoint(endpoint: MonitoredEndpoint): void;
  /** Ends the monitoring of one endpoint. Harmless if there is none. */
  removeEndpoint(fqdn: string): void;
  /** Begins probing; every address at once, up to `maxFirstProbes`. */
  start(): void;
  /** Ends every probe under way and begins no other. Final. */
  stop(): void;
  /**
   * The override of a target was set or has ended: the {@link snapshot} shows it from now on. Probing and health go on
   * untouched; reports no transition.
   */
  overrideChanged(fqdn: string, target: string): void;
  /** The picture now. Cheap when nothing changed since the last call. */
  snapshot(): Snapshot;
  /**
   * Forgives a target its flapping: an address that is suppressed returns with its next pass, which is made at once.
   *
   * @returns whether there is such a target
   */
  clearFlaps(fqdn: string, target: string): boolean;
  /**
   * Somebody else has seen an address change: probes it at once, at most five times a second. Nothing follows but from the
   * own result. Harmless for an address that is not probed.
   */
  hint(fqdn: string, address: string): void;
  /** Whether the prober is presumed cut off; health stays as it was meanwhile. */
  readonly isolated: boolean;
  /** Tripwires that are open or being opened. */
  readonly tripwires: number;
  /** Resolves once started and every address has a result, or is remembered. */
  readonly firstRound: Promise<void>;
}

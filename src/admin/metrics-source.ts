import type { OverrideKind } from "../health/health.js";
import type { QueryTotals } from "../query/counters.js";

/** What every series about a target is labelled with. */
export interface TargetLabels {
  readonly zone: string;
  /** Name in the zone: `api`, `@`. */
  readonly endpoint: string;
  readonly target: string;
  readonly address: string;
}

/** One address of a target as the gauges show it. */
export interface TargetRow extends TargetLabels {
  readonly isUp: boolean;
  readonly isAnswerable: boolean;
  /** What an operator said; absent = nothing. */
  readonly override?: OverrideKind;
  /** Milliseconds since 1970; absent without TLS. */
  readonly certificateExpiryMs?: number;
}

/** One source of targets as the gauges show it. */
export interface SourceRow {
  readonly zone: string;
  readonly endpoint: string;
  readonly source: string;
  readonly isUp: boolean;
  /** Milliseconds since 1970; absent = not since the start. */
  readonly heardAtMs?: number;
  readonly candidates: number;
  /** Milliseconds since 1970; absent = not known. */
  readonly credentialEndsAtMs?: number;
  /** Milliseconds since 1970; absent = not known. */
  readonly credentialRenewFromMs?: number;
}

/** One endpoint with sources of targets as the gauges show it. */
export interface DiscoveryRow {
  readonly zone: string;
  readonly endpoint: string;
  /** Targets beyond maxTargets. */
  readonly leftOut: number;
}

/** One secondary of one zone as the gauges show it. */
export interface SecondaryRow {
  readonly zone: string;
  /** Its address and port. */
  readonly secondary: string;
  /** Whether it is known to have the present serial. */
  readonly isCurrent: boolean;
  /** Milliseconds since the first change that it is not known to have. */
  readonly lagMs: number;
  /** What it said last. */
  readonly serial?: number;
  /** Milliseconds since 1970 each; absent = not yet. */
  readonly notifiedAtMs?: number;
  readonly acknowledgedAtMs?: number;
  readonly transferredAtMs?: number;
}

/** The picture behind the gauges, read at a scrape. */
export interface MetricsSource {
  queryTotals(): QueryTotals;
  /** Counters of the UDP sockets. */
  socketTotals(): {
    readonly kernelDrops: number;
    readonly sendErrors: number;
    readonly sendBlocked: number;
    readonly receiveErrors: number;
  };
  targets(): Iterable<TargetRow>;
  endpoints(): Iterable<{
    readonly zone: string;
    readonly endpoint: string;
    readonly answerableTargets: number;
    readonly isFailOpen: boolean;
    /** How many it has. */
    readonly targets: number;
  }>;
  /** Sources of targets; absent = there are none. */
  sources?(): Iterable<SourceRow>;
  /** Endpoints with sources of targets. */
  discovered?(): Iterable<DiscoveryRow>;
  zones(): Iterable<{ readonly zone: string; readonly serial: number }>;
  /** Absent = there are none. */
  siblings?(): Iterable<{
    readonly sibling: string;
    /** Whether what it says counts. */
    readonly isFresh: boolean;
    /** Its wall clock minus ours, milliseconds; absent while it is not heard. */
    readonly clockDifferenceMs?: number;
    /** Zones whose configuration differs; absent while it is not heard. */
    readonly zonesDiffer?: number;
  }>;
  /** Secondaries of each zone; absent = there are none. */
  secondaries?(): Iterable<SecondaryRow>;
  /** Whether the prober is presumed cut off. */
  isIsolated(): boolean;
}

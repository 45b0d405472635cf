import { FAILURE_CLASSES } from "../config/config.js";

/**
 * The words of the health chapter as types: what a probe reports, what is concluded, what readers see.
 * Probes report; one pure state machine decides (`state.ts`); readers see a {@link Snapshot}.
 */

/** What one probe found. Order is that of the documentation. */
export const RESULT_CLASSES = ["ok", ...FAILURE_CLASSES] as const;

export type ResultClass = (typeof RESULT_CLASSES)[number];

/**
 * The steps of a probe. `connect`: no connection, which may be the prober's own network. `tls` and `response`: there was
 * a connection, so the network works. A program that is run is in `response` from the start.
 */
export const PROBE_PHASES = ["connect", "tls", "response"] as const;

export type ProbePhase = (typeof PROBE_PHASES)[number];

/** One finished probe of one target address. */
export interface ProbeResult {
  readonly class: ResultClass;
  /** In plain words, for people: `connection refused`, `etcd not ready`. At most 200 characters, no secrets. */
  readonly reason: string;
  /** Milliseconds the probe took. */
  readonly durationMs: number;
  /** What a probe of class `timeout` waited for when its time was over; absent of every other class. */
  readonly phase?: ProbePhase;
  /** End of validity of the certificate that was presented, milliseconds since 1970; absent without TLS. */
  readonly certificateExpiryMs?: number;
  /** Its alternative names in Node's spelling, `DNS:api.example.com, IP Address:192.0.2.1`; absent without TLS. */
  readonly certificateNames?: string;
  /** True where the certificate, or an authority of it, is not valid yet by this machine's clock. */
  readonly certificateNotYetValid?: true;
}

/** What the state machine concludes. */
export type Health = "unknown" | "up" | "down";

/** What an operator said of a target; kept apart from health. */
export type OverrideKind = "drained" | "forced-up" | "forced-down";

/** By which way an override came: set on this server, learned from a sibling, or read from Kubernetes. */
export type OverrideOrigin = "operator" | "kubernetes" | `sibling:${string}`;

/** What an operator said, and why. It holds until it is cleared or expires, through restarts and reloads. */
export interface Override {
  readonly kind: OverrideKind;
  /** In the operator's words, one line of at most 200 characters. */
  readonly reason?: string;
  /** Who said it; one line of at most 64 characters. */
  readonly author?: string;
  readonly origin: OverrideOrigin;
  /** Holds on this server alone, whatever siblings say. Absent = no. */
  readonly isLocal?: true;
  /** Wall clock, milliseconds since 1970. */
  readonly setAtMs: number;
  /** Likewise; absent = it stays until it is cleared. */
  readonly expiresAtMs?: number;
}

/** The picture of one address of one target. */
export interface AddressHealth {
  readonly address: string;
  readonly health: Health;
  /** Wall clock, milliseconds since 1970, of the last change of `health`; of the start while `unknown`. */
  readonly sinceMs: number;
  /** The newest result; absent before the first. */
  readonly last?: ProbeResult;
  /** Present while it passes, but is kept `down` because it flaps. */
  readonly held?: Suppression;
  /** True of one that is `unknown` since it joined an endpoint that was answered already: it has to earn its place. */
  readonly isJoining?: boolean;
}

/** Why and how long an address that flaps is kept down. */
export interface Suppression {
  /** Wall clock, milliseconds since 1970, at which it returns if it passes until then. */
  readonly untilMs: number;
  /** Changes of health in the window. */
  readonly changes: number;
}

/** The picture of one target. */
export interface TargetHealth {
  readonly id: string;
  /** In configuration order. */
  readonly addresses: readonly AddressHealth[];
  readonly override?: Override;
  /** True of one that is switched off in the file: shown, but neither probed nor answered. */
  readonly disabled?: true;
}

/** The picture of one endpoint. */
export interface EndpointHealth {
  /** `api.k8s.example.com`: the identity of the endpoint. */
  readonly fqdn: string;
  /** In configuration order. */
  readonly targets: readonly TargetHealth[];
}

/**
 * All health and overrides at one moment; never changes once made, and an endpoint that did not change is the
 * same object in the next snapshot.
 */
export interface Snapshot {
  /** By fqdn. */
  readonly endpoints: ReadonlyMap<string, EndpointHealth>;
}

/** One change of an address's health, as logged, counted and published. */
export interface Transition {
  readonly fqdn: string;
  readonly target: string;
  readonly address: string;
  readonly from: Health;
  readonly to: Health;
  /** The result that completed the change. */
  readonly result: ProbeResult;
  /** Milliseconds from the start of the first probe of the run that led here to the decision. */
  readonly afterMs: number;
}

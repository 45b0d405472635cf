import type { SecureContext } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";
import type { Clock } from "../../lib/clock.js";
import type { ProbeResult } from "../health.js";

/**
 * A session is resumed for this long after the certificate was verified, milliseconds. A server may replace its
 * certificate and still resume sessions that it made with the old one.
 */
const MAX_AGE_MS = 60_000;

/** What is known of the certificate that a server presented. */
export type CertificateFacts = Pick<ProbeResult, "certificateExpiryMs" | "certificateNames">;

/** A TLS session that can be resumed, and the certificate it stands on. */
export interface Session {
  readonly ticket: Buffer;
  /** What it was made with: other authorities or another client certificate need another session. */
  readonly credentials: SecureContext;
  readonly facts: CertificateFacts;
  readonly verifiedMs: number;
}

/** The sessions of probes that want to resume them; at most one for each address, port and name. */
export interface Sessions {
  /** One that may be resumed now. */
  get(address: string, config: HttpsProbeConfig, credentials: SecureContext): Session | undefined;
  /** Keeps a session whose certificate was found good. */
  keep(address: string, config: HttpsProbeConfig, session: Omit<Session, "verifiedMs">): void;
  /** Forgets what may be the cause of a failure. */
  drop(address: string, config: HttpsProbeConfig): void;
}

export function createSessions(clock: Clock): Sessions {
  const sessions = new Map<string, Session>();
  const keyOf = (address: string, { port, serverName }: HttpsProbeConfig) => `${address} ${port} ${serverName}`;
  return {
    get(address, config, credentials) {
      const session = sessions.get(keyOf(address, config));
      if (session === undefined || session.credentials !== credentials) return undefined;
      if (clock.monotonicMs() - session.verifiedMs >= MAX_AGE_MS) return undefined;
      // Once it has ended, only a new handshake can tell whether the server has another one.
      if ((session.facts.certificateExpiryMs ?? 0) <= clock.wallMs()) return undefined;
      return session;
    },
    keep: (address, config, session) =>
      sessions.set(keyOf(address, config), { ...session, verifiedMs: clock.monotonicMs() }),
    drop: (address, config) => sessions.delete(keyOf(address, config)),
  };
}

import type { SecureContext } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";
import type { Clock } from "../../lib/clock.js";
import type { ProbeResult } from "../health.js";

/**
 * A session is resumed for at most this long after the certificate was verified, milliseconds, and at least for half of
 * it: at random, or all that were made at the start would have to be made anew at once. A server may replace its
 * certificate and still resume sessions that it made with the old one.
 */
const MAX_AGE_MS = 300_000;

/** What is known of the certificate that a server presented. */
export type CertificateFacts = Pick<ProbeResult, "certificateExpiryMs" | "certificateNames">;

/** A TLS session that can be resumed, and the certificate it stands on. */
export interface Session {
  readonly ticket: Buffer;
  /** What it was made with: other authorities or another client certificate need another session. */
  readonly credentials: SecureContext;
  readonly facts: CertificateFacts;
  /** Monotonic. */
  readonly untilMs: number;
}

/** The sessions of probes that want to resume them; at most one for each address, port and name. */
export interface Sessions {
  /** One that may be resumed now. */
  get(address: string, config: HttpsProbeConfig, credentials: SecureContext): Session | undefined;
  /** Keeps a session whose certificate was found good. */
  keep(address: string, config: HttpsProbeConfig, session: Omit<Session, "untilMs">): void;
  /** Forgets what may be the cause of a failure. */
  drop(address: string, config: HttpsProbeConfig): void;
  /** How many are kept, those included that have ended but were not noticed yet. */
  readonly size: number;
}

/** @param random 0 (included) to 1 (not included), as `Math.random` */
export function createSessions(clock: Clock, random: () => number): Sessions {
  const sessions = new Map<string, Session>();
  const keyOf = (address: string, { port, serverName }: HttpsProbeConfig) => `${address} ${port} ${serverName}`;
  return {
    get(address, config, credentials) {
      const session = sessions.get(keyOf(address, config));
      if (session === undefined || session.credentials !== credentials) return undefined;
      if (clock.monotonicMs() >= session.untilMs) return undefined;
      // Once it has ended, only a new handshake can tell whether the server has another one.
      if ((session.facts.certificateExpiryMs ?? 0) <= clock.wallMs()) return undefined;
      return session;
    },
    keep(address, config, { ticket, ...session }) {
      const nowMs = clock.monotonicMs();
      // Those of targets that are gone; the oldest stand first.
      for (const [key, { untilMs }] of sessions) {
        if (untilMs > nowMs) break;
        sessions.delete(key);
      }
      const untilMs = nowMs + MAX_AGE_MS * (0.5 + random() / 2);
      const key = keyOf(address, config);
      sessions.delete(key);
      sessions.set(key, { ...session, ticket: withoutCertificate(ticket), untilMs });
    },
    drop: (address, config) => sessions.delete(keyOf(address, config)),
    get size() {
      return sessions.size;
    },
  };
}

/** Tags of DER (X.690 §8.1.2) in a session: that of all of it, and that of the peer's certificate. */
const SEQUENCE = 0x30;
const PEER_CERTIFICATE = 0xa3;

/**
 * A session as Node gives it, without the server's certificate. OpenSSL writes it in (`SSL_SESSION_ASN1`, element 3) and
 * takes it apart again each time the session is resumed, a tenth of the work of a probe; nothing asks a resumed session
 * for it. What is not understood is left as it is, and so is what would need another form of length (X.690 §8.1.3).
 */
export function withoutCertificate(session: Buffer): Buffer {
  const whole = readElement(session, 0);
  if (whole === undefined || whole.tag !== SEQUENCE || whole.end !== session.length) return session;
  const kept: Buffer[] = [];
  let length = 0;
  for (let at = whole.valueAt; at < whole.end; ) {
    const element = readElement(session, at);
    if (element === undefined) return session;
    if (element.tag !== PEER_CERTIFICATE) {
      kept.push(session.subarray(at, element.end));
      length += element.end - at;
    }
    at = element.end;
  }
  if (length < 0x100 || length > 0xffff) return session;
  // Memory of its own: a slice of Node's pool would hold all of the pool for as long as the session.
  const result = Buffer.allocUnsafeSlow(4 + length);
  let to = result.writeUInt16BE(length, result.writeUInt8(0x82, result.writeUInt8(SEQUENCE, 0)));
  for (const part of kept) to += part.copy(result, to);
  return result;
}

/** The element of DER at an offset: its tag (one octet), and where its value begins and ends. */
function readElement(
  der: Buffer,
  at: number,
): { readonly tag: number; readonly valueAt: number; readonly end: number } | undefined {
  const tag = der[at];
  const first = der[at + 1];
  if (tag === undefined || first === undefined) return undefined;
  const lengthOctets = first < 0x80 ? 0 : first & 0x7f;
  // The indefinite form is not DER.
  if (first === 0x80) return undefined;
  const valueAt = at + 2 + lengthOctets;
  if (lengthOctets > 3 || valueAt > der.length) return undefined;
  const length = lengthOctets === 0 ? first : der.readUIntBE(at + 2, lengthOctets);
  const end = valueAt + length;
  return end > der.length ? undefined : { tag, valueAt, end };
}

import type { ProbeReport } from "./health-monitor.js";
import { coversName } from "./probes/tls.js";

const DAY_MS = 86_400_000;

/** Days before a certificate ends at which that is said, once each; 0 = it has ended. */
const EXPIRY_WARNINGS_DAYS = [30, 7, 0] as const;

/** What is worth saying of a certificate that a probe was shown; of one probe of one target. */
export type CertificateWarning =
  | {
      readonly kind: "expiry";
      readonly fqdn: string;
      readonly target: string;
      readonly address: string;
      /** The warning that is due, of {@link EXPIRY_WARNINGS_DAYS}. */
      readonly days: number;
      /** Wall clock, milliseconds since 1970. */
      readonly expiryMs: number;
    }
  | {
      /** The certificate is good for the probe, but clients that verify it against the endpoint's name refuse it. */
      readonly kind: "name";
      readonly fqdn: string;
      readonly target: string;
      readonly address: string;
      /** Names it has, in Node's spelling. */
      readonly names: string;
    };

/** Watches the certificates that probes are shown. */
export interface CertificateWatch {
  /** What there is to say after this result; each thing once for each certificate. */
  look(report: ProbeReport, wallMs: number): readonly CertificateWarning[];
  /** Forgets targets that `isWatched` does not know. */
  forget(isWatched: (fqdn: string, target: string, address: string) => boolean): void;
}

interface Seen {
  readonly fqdn: string;
  readonly target: string;
  readonly address: string;
  expiryMs: number;
  /** The last warning that was given for it. */
  warnedDays: number;
  names: string | undefined;
}

export function createCertificateWatch(): CertificateWatch {
  const seen = new Map<string, Seen>();
  return {
    look({ address, result: { certificateExpiryMs: expiryMs, certificateNames: names }, targets }, wallMs) {
      if (expiryMs === undefined) return [];
      const warnings: CertificateWarning[] = [];
      for (const { fqdn, target } of targets) {
        const key = `${fqdn} ${target} ${address}`;
        let one = seen.get(key);
        if (one === undefined || one.expiryMs !== expiryMs) {
          one = { fqdn, target, address, expiryMs, warnedDays: Number.POSITIVE_INFINITY, names: one?.names };
          seen.set(key, one);
        }
        const days = dueWarning(expiryMs, wallMs);
        if (days !== undefined && days < one.warnedDays) {
          one.warnedDays = days;
          warnings.push({ kind: "expiry", fqdn, target, address, days, expiryMs });
        }
        if (names !== undefined && one.names !== names) {
          one.names = names;
          if (!coversName(names, fqdn)) warnings.push({ kind: "name", fqdn, target, address, names });
        }
      }
      return warnings;
    },
    forget(isWatched) {
      for (const [key, { fqdn, target, address }] of seen) if (!isWatched(fqdn, target, address)) seen.delete(key);
    },
  };
}

/** The most urgent warning whose time has come. */
function dueWarning(expiryMs: number, wallMs: number): number | undefined {
  return EXPIRY_WARNINGS_DAYS.findLast((days) => expiryMs - wallMs <= days * DAY_MS);
}

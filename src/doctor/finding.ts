/**
 * Everything `livezone doctor` can find, one line each; `docs/doctor.md` says more. The key is the finding's id, which
 * never changes its meaning.
 */
export const FINDINGS = {
  // The way from the parent zone to our nameservers.
  "delegation-missing": "the parent zone does not delegate the zone",
  "delegation-unchecked": "no server of the parent zone could be asked",
  "delegation-ns-mismatch": "the parent's NS records are not the zone's",
  "glue-mismatch": "an address in the parent is not the nameserver's",
  "glue-missing": "the parent gives no address for a nameserver inside the zone",
  "glue-unreachable": "nothing answers at an address that the parent gives",
  // The nameservers.
  "nameserver-unreachable": "a nameserver of the configuration does not answer",
  "nameserver-lame": "a nameserver is not authoritative for the zone",
  "nameserver-tcp-blocked": "a nameserver answers over UDP, but not over TCP",
  "nameserver-edns-stripped": "EDNS is lost on the way to a nameserver",
  "nameserver-single": "the zone has one nameserver address only",
  "siblings-answers-differ": "the nameservers answer with different addresses",
  "siblings-configuration-differs": "the nameservers serve different versions of the zone",
  "clock-skew": "a nameserver's clock is ahead of this machine's",
  // Servers that carry the zone.
  "secondary-unreachable": "a server under transfer.to does not answer",
  "secondary-lame": "a server under transfer.to does not have the zone",
  "secondary-behind": "a server under transfer.to has an older serial, and does not follow",
  // Sources of targets.
  "source-unreadable": "a source of targets cannot be read",
  "source-stale": "livezone on this machine does not hear a source that can be read from here",
  "source-empty": "a source of targets proposes nothing",
  "source-unusable": "something that a source proposes cannot be a target",
  "source-unconfirmed": "a source proposes a target that no probe confirms",
  "source-credential-ends": "the credential of a source ends soon, or has ended",
  // The resolvers.
  "resolver-unreachable": "a resolver does not answer",
  "resolver-fails": "a resolver cannot resolve the name",
  "resolver-bogus": "a resolver takes the zone's answers for forged (DNSSEC)",
  "resolver-strips-private": "a resolver drops private addresses from answers",
  "resolver-other-answer": "a resolver answers with addresses that are no targets",
  "resolver-ttl-stretched": "a resolver keeps answers longer than their TTL",
  "resolver-ttl-clamped": "a resolver keeps answers for less than their TTL",
  "resolver-serves-stale": "a resolver hands out answers that have expired",
  "resolver-negative-stretched": "a resolver keeps negative answers longer than the zone allows",
  "resolver-invents-answers": "a resolver answers for names that do not exist",
  "resolver-tcp-blocked": "a resolver answers over UDP, but not over TCP",
  "resolver-edns-stripped": "EDNS is lost on the way to a resolver",
  "livezone-as-resolver": "a nameserver of the zone is used as a resolver",
  // This machine.
  "hosts-file-pins": "the hosts file fixes the endpoint's addresses",
  "machine-resolves-otherwise": "this machine resolves the endpoint otherwise than its resolvers",
  "resolv-conf-empty": "resolv.conf names no resolver",
  "resolv-conf-surplus": "resolv.conf names resolvers that no client asks",
  // The apiservers.
  "certificate-name-missing": "a target's certificate lacks the endpoint's name",
  "certificate-expired": "a target's certificate is out of date",
  "certificate-expiring": "a target's certificate expires soon",
  "certificate-untrusted": "a target's certificate is from another authority",
  "readyz-unauthorized": "a target does not let the probe see its readiness",
  "target-unreachable": "a target does not answer",
  "target-not-ready": "a target says that it is not ready, or answers otherwise than expected",
  "target-overloaded": "a target takes no more requests (429)",
  "targets-all-down": "no target of an endpoint passes its probe",
  "advertise-address-shared": "several targets advertise one address",
  "targets-same-server": "several targets are the same server",
  // Files of the control plane.
  "shutdown-delay-short": "an apiserver stops before clients have been told",
  "termination-grace-short": "the apiserver's Pod is killed before its shutdown delay is over",
  "raw-address": "a client's file names an address instead of the endpoint",
  "endpoint-url-wrong": "a client's file has the endpoint's name with a wrong scheme or port",
  "endpoint-bypassed": "a client's file names another host than the endpoint",
  "file-unreadable": "a file given could not be read",
} as const;

export type FindingId = keyof typeof FINDINGS;

/** `error`: something breaks, or will as soon as a target fails. `warning`: worse than it need be. `note`: worth knowing. */
export const SEVERITIES = ["error", "warning", "note"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** One thing that is wrong, said so that it can be mended. */
export interface Finding {
  readonly id: FindingId;
  readonly severity: Severity;
  /** What it is about: a zone, an endpoint, an address, a file. */
  readonly subject: string;
  /** What was seen, with values. */
  readonly evidence: string;
  /** What follows from it for clients. */
  readonly meaning: string;
  /** What to do. */
  readonly remedy: string;
}

/** `a, b and c`. */
export function list(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

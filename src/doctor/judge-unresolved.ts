import ipaddr from "ipaddr.js";
import { extendedErrors, formatExtendedError } from "../client/extended-error.js";
import type { Heard, ResolvedFacts, ResolverFacts } from "./facts.js";
import { type Finding, list } from "./finding.js";
import { addressesIn, rcodeOf } from "./heard.js";

/** Judges an endpoint for which a resolver gives no address. */
export function judgeUnresolved(
  subject: string,
  fqdn: string,
  { first, unvalidated }: ResolvedFacts,
  zone: string,
): Finding {
  if (unvalidated !== undefined && rcodeOf(unvalidated) === "NOERROR" && addressesIn(unvalidated).length > 0) {
    return bogus(subject, fqdn, first, unvalidated, zone);
  }
  return {
    id: "resolver-fails",
    severity: "error",
    subject,
    evidence: `Asked for ${fqdn} A: ${said(first)}.`,
    meaning: "Clients of this resolver cannot reach the endpoint at all.",
    remedy: `Delegate ${zone} in its parent, or tell this resolver where the zone is (livezone delegation ${zone} --format bind, windows, unbound, dnsmasq or coredns). In BIND, write static-stub, or forward with "forward only".`,
  };
}

/** What a resolver said, with the extended errors (RFC 8914) that it gave as reasons. */
function said(heard: readonly Heard[]): string {
  const texts = heard.map((one) => {
    if ("silence" in one) return one.silence;
    const code = one.reply.rcode === "NOERROR" ? "no address" : one.reply.rcode;
    const reasons = extendedErrors(one.reply).map(formatExtendedError);
    return reasons.length === 0 ? code : `${code} (${list(reasons)})`;
  });
  return list([...new Set(texts)]);
}

/** RFC 4035 §5.5: what does not validate is SERVFAIL, unless the question says that it is not to be checked (CD). */
function bogus(subject: string, fqdn: string, first: readonly Heard[], unvalidated: Heard, zone: string): Finding {
  return {
    id: "resolver-bogus",
    severity: "error",
    subject,
    evidence: `Asked for ${fqdn} A: ${said(first)}; without validation (CD): ${list(addressesIn(unvalidated))}.`,
    meaning: `A zone above ${zone} is signed, and nothing in it says that ${zone} is not: the resolver takes its answers for forged, and its clients cannot reach the endpoint.`,
    remedy: `Delegate ${zone} in the signed parent, without a DS record (livezone delegation ${zone}): then all resolvers know that it is not signed. Or tell each validating resolver: Unbound domain-insecure: "${zone}"; BIND validate-except { "${zone}"; }; PowerDNS Recursor addNTA("${zone}") in lua-config-file; Knot Resolver trust_anchors.set_insecure({ "${zone}" }); systemd-resolved a line ${zone} in /etc/dnssec-trust-anchors.d/livezone.negative.`,
  };
}

/** What is known of the addresses of an endpoint without the resolver. */
export interface KnownAddresses {
  /** All that may be answered. */
  readonly possible: ReadonlySet<string>;
  /** Those that the nameservers answer now; empty if none of them could be asked. */
  readonly answered: ReadonlySet<string>;
}

/**
 * Finds private addresses that a resolver keeps from its clients, as protection against DNS rebinding: the zone
 * resolves there, and the nameservers answer with addresses of which none arrives.
 */
export function judgeStripped(
  subject: string,
  fqdn: string,
  { first, otherFamily }: ResolvedFacts,
  soa: ResolverFacts["soa"],
  { possible, answered }: KnownAddresses,
  zone: string,
): Finding[] {
  const given = [...first, ...otherFamily].flatMap(addressesIn);
  const expected = answered.size > 0 ? [...answered] : [...possible];
  const hidden = expected.filter(isPrivate);
  const isZoneKnown =
    given.length > 0 || (soa !== undefined && "reply" in soa && soa.reply.answers.some(({ type }) => type === "SOA"));
  // A resolver that blocks an answer gives no address (Unbound, dnsmasq) or SERVFAIL (BIND), but not NXDOMAIN.
  const isBlocked = first.every((heard) => ["NOERROR", "SERVFAIL"].includes(rcodeOf(heard) ?? ""));
  const isUnclear = answered.size === 0 && !expected.every(isPrivate);
  if (hidden.length === 0 || given.some(isPrivate) || !isZoneKnown || !isBlocked || isUnclear) return [];
  const says = given.length > 0 ? `it gives ${list([...new Set(given)])} only` : `Asked for ${fqdn}: ${said(first)}`;
  return [
    {
      id: "resolver-strips-private",
      severity: "error",
      subject,
      evidence: `${says.startsWith("it") ? `${fqdn}: ${says}` : says}; the zone itself resolves there, and has ${list(hidden)}, ${hidden.length === 1 ? "a private address" : "private addresses"}.`,
      meaning:
        "It guards against DNS rebinding: addresses of private networks are taken out of answers, and clients get none of them.",
      remedy: `Make the zone an exception: Unbound private-domain: "${zone}"; BIND deny-answer-addresses { ... } except-from { "${zone}"; }; dnsmasq rebind-domain-ok=/${zone}/; routers and filters: allow private answers for ${zone}.`,
    },
  ];
}

/** Whether an address is not of the public internet: private, shared, unique local, loopback, documentation. */
function isPrivate(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() !== "unicast";
}

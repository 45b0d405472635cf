import { extendedErrors } from "../client/extended-error.js";
import { formatAddress } from "../lib/listening.js";
import type { Heard, ResolvedFacts, ResolverFacts } from "./facts.js";
import { type Finding, type FindingId, list } from "./finding.js";
import { addressesIn } from "./heard.js";
import { judgeStripped, judgeUnresolved } from "./judge-unresolved.js";

/** What answers would be without a cache in between. */
export interface ExpectedAnswers {
  /** Without the trailing dot. */
  readonly zone: string;
  /** TTL and all addresses that may be answered, by fqdn. */
  readonly endpoints: ReadonlyMap<string, { readonly ttl: number; readonly addresses: ReadonlySet<string> }>;
  /** Addresses that the nameservers answer now, by fqdn; empty where none could be asked. */
  readonly answered: ReadonlyMap<string, ReadonlySet<string>>;
  /** Seconds. */
  readonly negativeTtl: number;
  /** Addresses of the zone's nameservers. */
  readonly nameservers: ReadonlySet<string>;
}

/** RFC 8914: "Stale Answer" and "Stale NXDOMAIN Answer". */
const STALE_ERRORS: ReadonlySet<number> = new Set([3, 19]);

/** What is said of a resolver without an address for an endpoint: there is no more to find out. */
const UNRESOLVED: ReadonlySet<FindingId> = new Set(["resolver-fails", "resolver-bogus", "resolver-strips-private"]);

function subjectOf({ server, source }: ResolverFacts): string {
  return `resolver ${formatAddress(server)} (${source})`;
}

/** Judges one resolver. A server of the zone itself is judged as such and nothing else. */
export function judgeResolver(facts: ResolverFacts, expected: ExpectedAnswers): Finding[] {
  const subject = subjectOf(facts);
  const all = [...facts.endpoints.values()];
  const anyReply = all.flatMap(({ first }) => first).find((heard) => "reply" in heard);
  if (isOwnServer(facts, anyReply, expected)) return [usedAsResolver(subject, anyReply, expected)];
  if (anyReply === undefined) return [unreachable(subject, all[0]?.first[0])];
  const findings = [...facts.endpoints].flatMap(([fqdn, resolved]) => judgeEndpoint(facts, fqdn, resolved, expected));
  if (findings.some(({ id }) => UNRESOLVED.has(id))) return findings;
  return [...findings, ...judgeNegatives(subject, facts, expected), ...judgeTransport(subject, facts, anyReply)];
}

/** Whether it finds the endpoints at all. */
export function resolves(facts: ResolverFacts): boolean {
  return [...facts.endpoints.values()].some(({ first }) => first.some((heard) => addressesIn(heard).length > 0));
}

/** One that is silent is told from another service at a nameserver's address by resolv.conf, whose port is that of DNS. */
function isOwnServer(
  { server, isOwn }: ResolverFacts,
  heard: Heard | undefined,
  { nameservers }: ExpectedAnswers,
): boolean {
  if (heard === undefined || !("reply" in heard)) return isOwn && nameservers.has(server.address);
  if (heard.reply.ra) return false;
  return heard.reply.aa || nameservers.has(server.address);
}

function usedAsResolver(subject: string, heard: Heard | undefined, { zone }: ExpectedAnswers): Finding {
  return {
    id: "livezone-as-resolver",
    severity: "error",
    subject,
    evidence: `It is a nameserver of ${zone}: ${heard === undefined ? "nameservers: has its address, and nothing answers there now" : "it offers no recursion"}.`,
    meaning: `livezone answers for ${zone} only: every other name, image registries and the internet included, is REFUSED there.`,
    remedy:
      "Name resolvers in resolv.conf, and have them find the zone by its delegation or by a stub zone (livezone delegation --format unbound).",
  };
}

function unreachable(subject: string, heard: Heard | undefined): Finding {
  return {
    id: "resolver-unreachable",
    severity: "error",
    subject,
    evidence: heard !== undefined && "silence" in heard ? `${heard.silence}.` : "It was not asked.",
    meaning:
      "Clients that ask it first wait for it, 5 s each time by resolv.conf's default, before they ask the next one.",
    remedy: "Start it, let UDP and TCP port 53 through the firewall, or take it out of resolv.conf.",
  };
}

function judgeEndpoint(
  facts: ResolverFacts,
  fqdn: string,
  resolved: ResolvedFacts,
  expected: ExpectedAnswers,
): Finding[] {
  const { first } = resolved;
  const subject = subjectOf(facts);
  const addresses = [...new Set(first.flatMap(addressesIn))];
  const { ttl = 0, addresses: known = new Set<string>() } = expected.endpoints.get(fqdn) ?? {};
  const strangers = addresses.filter((address) => !known.has(address));
  if (strangers.length > 0) {
    return [
      {
        id: "resolver-other-answer",
        severity: "error",
        subject,
        evidence: `${fqdn} is ${list(addresses)} there; ${list(strangers)} ${strangers.length === 1 ? "is no target" : "are no targets"}.`,
        meaning: "Its answers come from somewhere else, so they follow neither health nor this configuration.",
        remedy: `Look there for a zone of its own, a hosts entry or a forwarding rule for ${expected.zone} or a name above it, and remove it.`,
      },
    ];
  }
  const answered = expected.answered.get(fqdn) ?? new Set<string>();
  const stripped = judgeStripped(subject, fqdn, resolved, facts.soa, { possible: known, answered }, expected.zone);
  if (addresses.length === 0) {
    const unresolved = judgeUnresolved(subject, fqdn, resolved, expected.zone);
    return unresolved.id === "resolver-fails" && stripped.length > 0 ? stripped : [unresolved];
  }
  return [...stripped, ...judgeTtl(subject, fqdn, resolved, ttl)];
}

function judgeTtl(subject: string, fqdn: string, resolved: ResolvedFacts, ttl: number): Finding[] {
  const { first, later = [], uncached } = resolved;
  const firstTtls = first.flatMap(ttlOf);
  const laterTtls = later.flatMap(ttlOf);
  const longest = Math.max(...firstTtls, ...laterTtls);
  const last = laterTtls.at(-1) ?? firstTtls.at(-1) ?? 0;
  const saysStale = [...first, ...later].some(isMarkedStale);
  const afterwards =
    laterTtls.length > 0 ? `, and ${list(laterTtls.map((value) => `${value} s`))} once that had run out` : "";
  const seen = `${fqdn} has a TTL of ${ttl} s; this resolver gave ${list(firstTtls.map((value) => `${value} s`))}${afterwards}.`;
  // A stale answer carries a TTL of its own (30 s is usual, RFC 8767 §4) and is followed by a fresh one.
  if (saysStale || (longest > ttl && last <= ttl)) {
    return [
      {
        id: "resolver-serves-stale",
        severity: "error",
        subject,
        evidence: saysStale ? `${seen} It marked an answer as stale.` : seen,
        meaning:
          "After a quiet while, the first client is sent to the apiservers of long ago, and keeps that answer for another TTL.",
        remedy:
          "Switch it off for this zone, or let it wait for a fresh answer first: Unbound serve-expired-client-timeout: 1800; BIND stale-answer-client-timeout off; CoreDNS serve_stale with verify.",
      },
    ];
  }
  if (longest > ttl) {
    return [
      {
        id: "resolver-ttl-stretched",
        severity: "error",
        subject,
        evidence: seen,
        meaning: `A failed apiserver stays in its answers for up to ${longest} s more, instead of ${ttl} s.`,
        remedy:
          "Lower its minimum TTL: Unbound cache-min-ttl: 0; BIND min-cache-ttl 0; dnsmasq min-cache-ttl=0; Knot Resolver cache.min_ttl(0); CoreDNS cache { success 9984 3600 1 }; or count on the longer time in the shutdown delay.",
      },
    ];
  }
  const fresh = uncached === undefined ? undefined : ttlOf(uncached)[0];
  // Caches count whole seconds, and a second may end between their receiving and their answering.
  if (fresh !== undefined && fresh < ttl - 1) {
    return [
      {
        id: "resolver-ttl-clamped",
        severity: "note",
        subject,
        evidence: `A name of ${fqdn} that no cache held has a TTL of ${ttl} s; this resolver gave ${fresh} s.`,
        meaning: "Harmless: it forgets sooner, and asks livezone more often.",
        remedy:
          "Nothing, unless the load matters: then raise its maximum TTL (Unbound cache-max-ttl, BIND max-cache-ttl, dnsmasq max-cache-ttl).",
      },
    ];
  }
  return [];
}

function ttlOf(heard: Heard): number[] {
  if (!("reply" in heard)) return [];
  const ttls = heard.reply.answers.flatMap(({ address, ttl }) => (address === undefined ? [] : [ttl]));
  return ttls.length === 0 ? [] : [Math.max(...ttls)];
}

function isMarkedStale(heard: Heard): boolean {
  if (!("reply" in heard)) return false;
  return extendedErrors(heard.reply).some(({ code }) => STALE_ERRORS.has(code));
}

function judgeNegatives(
  subject: string,
  { negatives }: ResolverFacts,
  { zone, negativeTtl }: ExpectedAnswers,
): Finding[] {
  const invented = negatives.find((heard) => addressesIn(heard).length > 0);
  if (invented !== undefined) {
    return [
      {
        id: "resolver-invents-answers",
        severity: "error",
        subject,
        evidence: `A name of ${zone} that does not exist is ${list(addressesIn(invented))} there.`,
        meaning: "A mistyped or removed name leads clients to a stranger instead of an error.",
        remedy: "Switch off its redirection of names that do not exist, at least for this zone.",
      },
    ];
  }
  const ttls = negatives.flatMap((heard) =>
    "reply" in heard ? heard.reply.authorities.filter(({ type }) => type === "SOA").map(({ ttl }) => ttl) : [],
  );
  const longest = Math.max(0, ...ttls);
  if (longest <= negativeTtl) return [];
  return [
    {
      id: "resolver-negative-stretched",
      severity: "warning",
      subject,
      evidence: `The zone lets negative answers be kept for ${negativeTtl} s; this resolver keeps one for ${longest} s.`,
      meaning:
        "A name or an address family that is new, or was asked for too early, stays unknown to clients for that long.",
      remedy:
        "Lower its minimum for negative answers: Unbound cache-min-negative-ttl: 0 (and cache-min-ttl: 0); BIND min-ncache-ttl 0; dnsmasq min-cache-ttl=0; CoreDNS cache { denial 9984 1800 1 }.",
    },
  ];
}

function judgeTransport(subject: string, facts: ResolverFacts, heard: Heard): Finding[] {
  const findings: Finding[] = [];
  if ("silence" in facts.overTcp) {
    findings.push({
      id: "resolver-tcp-blocked",
      severity: "warning",
      subject,
      evidence: `UDP answers; over TCP: ${facts.overTcp.silence}.`,
      meaning: "A client whose answer was cut off over UDP cannot fetch the rest.",
      remedy: "Let it answer over TCP port 53 too, and let that through the firewall.",
    });
  }
  if ("reply" in heard && heard.reply.edns === undefined) {
    findings.push({
      id: "resolver-edns-stripped",
      severity: "warning",
      subject,
      evidence: "A query with an OPT record came back without one.",
      meaning: "Answers over 512 octets are cut off and take a second question over TCP.",
      remedy: "Look for a firewall with DNS inspection or an old DNS proxy on the way, and have it leave EDNS alone.",
    });
  }
  return findings;
}

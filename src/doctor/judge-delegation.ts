import type { ReplyRecord } from "../client/reply.js";
import { formatAddress } from "../lib/listening.js";
import type { DelegationFacts, Heard, NameserverFacts } from "./facts.js";
import { type Finding, list } from "./finding.js";

/** What a parent's referral says: nameservers by name, each with the addresses given beside it (glue). */
export type Referral = ReadonlyMap<string, readonly string[]>;

/** The zone as configured, for comparison. */
export interface ExpectedZone {
  /** Without the trailing dot. */
  readonly zone: string;
  /** Absolute names with their addresses. */
  readonly nameservers: ReadonlyMap<string, readonly string[]>;
}

/** The delegation in a parent's reply; undefined if it holds none. */
export function referralIn(heard: Heard, zone: string): Referral | undefined {
  if (!("reply" in heard)) return undefined;
  const { answers, authorities, additionals } = heard.reply;
  const isOurs = (record: ReplyRecord) => record.type === "NS" && record.name === zone;
  const names = [...authorities, ...answers].filter(isOurs).map(({ data }) => data.replace(/\.$/, "").toLowerCase());
  if (names.length === 0) return undefined;
  return new Map(
    names.map((name) => [
      name,
      additionals.flatMap((record) => (record.name === name && record.address !== undefined ? [record.address] : [])),
    ]),
  );
}

/**
 * Compares what the parent says with the configuration.
 *
 * @param resolves whether some resolver finds the zone all the same, by a rule of its own (stub or forward zone)
 */
export function judgeDelegation(facts: DelegationFacts, expected: ExpectedZone, resolves: boolean): Finding[] {
  const { zone } = expected;
  const heardFrom = facts.parents.filter(
    ({ heard }) => "reply" in heard && !["REFUSED", "SERVFAIL"].includes(heard.reply.rcode),
  );
  if (heardFrom.length === 0) return [unchecked(facts, zone)];
  return heardFrom.flatMap(({ server, heard }) => {
    const parent = `the parent's server ${formatAddress(server)}`;
    const referral = referralIn(heard, zone);
    if (referral === undefined) return [missing(heard, parent, zone, resolves)];
    return [...judgeNames(referral, expected, parent), ...judgeGlue(referral, expected, parent)];
  });
}

function unchecked(facts: DelegationFacts, zone: string): Finding {
  const said = facts.parents.map(({ server, heard }) =>
    "reply" in heard ? `${formatAddress(server)} says ${heard.reply.rcode}` : heard.silence,
  );
  return {
    id: "delegation-unchecked",
    severity: "warning",
    subject: zone,
    evidence: facts.problem ?? list(said),
    meaning: "Whether the parent zone leads to these nameservers is not known.",
    remedy: facts.areNamed
      ? "See that what --parent names is authoritative for the zone above, listens there, and may be asked from here."
      : "Name a server that is authoritative for the parent zone with --parent ADDRESS.",
  };
}

function missing(heard: Heard, parent: string, zone: string, resolves: boolean): Finding {
  const rcode = "reply" in heard ? heard.reply.rcode : "";
  return {
    id: "delegation-missing",
    severity: resolves ? "warning" : "error",
    subject: zone,
    evidence: `${parent} answers ${rcode === "NOERROR" ? "without NS records" : rcode} when asked for ${zone} NS.`,
    meaning: resolves
      ? "Only resolvers with a rule of their own for the zone can find it."
      : "No resolver can find the zone.",
    remedy: `Paste what "livezone delegation ${zone}" prints into the parent zone.`,
  };
}

function judgeNames(referral: Referral, { zone, nameservers }: ExpectedZone, parent: string): Finding[] {
  const surplus = [...referral.keys()].filter((name) => !nameservers.has(name));
  const lacking = [...nameservers.keys()].filter((name) => !referral.has(name));
  if (surplus.length === 0 && lacking.length === 0) return [];
  const differences = [
    ...(surplus.length > 0 ? [`it names ${list(surplus)}, which the zone does not have`] : []),
    ...(lacking.length > 0 ? [`it lacks ${list(lacking)}`] : []),
  ];
  return [
    {
      id: "delegation-ns-mismatch",
      severity: surplus.length > 0 ? "error" : "warning",
      subject: zone,
      evidence: `${parent}: ${differences.join(", and ")}.`,
      meaning:
        surplus.length > 0
          ? "Resolvers lose time with servers that do not serve the zone, or fail."
          : "Resolvers do not learn of every nameserver until they have asked one; should the others fail, the zone is gone.",
      remedy: `Make the parent's NS records those that "livezone delegation ${zone}" prints, or correct nameservers: in the zone.`,
    },
  ];
}

function judgeGlue(referral: Referral, { zone, nameservers }: ExpectedZone, parent: string): Finding[] {
  return [...referral].flatMap(([name, glue]): Finding[] => {
    const own = nameservers.get(name);
    // Servers outside the parent's zone come without addresses; resolvers look those up.
    if (own === undefined || own.length === 0) return [];
    const isInside = name === zone || name.endsWith(`.${zone}`);
    if (glue.length === 0) {
      if (!isInside) return [];
      return [
        {
          id: "glue-missing",
          severity: "error",
          subject: name,
          evidence: `${parent} names ${name} without an address.`,
          meaning: "The name lies inside the zone, so a resolver cannot look it up without knowing it already.",
          remedy: `Add to the parent zone: ${own.map((address) => glueLine(name, address)).join("; ")}`,
        },
      ];
    }
    const wrong = glue.filter((address) => !own.includes(address));
    const lacking = own.filter((address) => !glue.includes(address));
    if (wrong.length === 0 && lacking.length === 0) return [];
    return [
      {
        id: "glue-mismatch",
        severity: wrong.length > 0 ? "error" : "warning",
        subject: name,
        evidence: `${parent} gives ${list(glue)} for ${name}; the zone has ${list(own)}.`,
        meaning:
          wrong.length > 0
            ? "Resolvers ask at an address where the zone is not, or no longer."
            : "Resolvers do not know every address of the nameserver.",
        remedy: `In the parent zone, write: ${own.map((address) => glueLine(name, address)).join("; ")}`,
      },
    ];
  });
}

function glueLine(name: string, address: string): string {
  return `${name}. ${address.includes(":") ? "AAAA" : "A"} ${address}`;
}

/** Addresses that the parent gives, by nameserver, of all its servers together. */
export function glueOf(facts: DelegationFacts, zone: string): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  for (const { heard } of facts.parents) {
    for (const [name, addresses] of referralIn(heard, zone) ?? []) {
      const known = all.get(name) ?? new Set();
      for (const address of addresses) known.add(address);
      all.set(name, known);
    }
  }
  return all;
}

/** Addresses that do not answer at all. */
export function judgeReachability(nameservers: readonly NameserverFacts[], zone: string): Finding[] {
  return nameservers.flatMap((facts): Finding[] => {
    if (!("silence" in facts.soa)) return [];
    const where = formatAddress(facts.server);
    const evidence = `Asked for ${zone} SOA: ${facts.soa.silence}.`;
    if (facts.inParent) {
      return [
        {
          id: "glue-unreachable",
          severity: "error",
          subject: `${facts.name} ${where}`,
          evidence,
          meaning: "Resolvers are sent there by the parent zone and wait for nothing, up to seconds each time.",
          remedy: facts.inConfig
            ? "Start livezone there, let UDP and TCP port 53 through the firewall, or take the address out of the parent and the zone."
            : "Take the address out of the parent zone.",
        },
      ];
    }
    return [
      {
        id: "nameserver-unreachable",
        severity: "error",
        subject: `${facts.name} ${where}`,
        evidence,
        meaning: "The zone names a server that resolvers cannot reach; with the others gone, so is the zone.",
        remedy: "Start livezone there, let UDP and TCP port 53 through the firewall, or take it out of nameservers:.",
      },
    ];
  });
}

import type { Reply, ReplyRecord } from "../client/reply.js";
import { formatAddress } from "../lib/listening.js";
import type { Heard, NameserverFacts } from "./facts.js";
import { type Finding, list } from "./finding.js";
import { addressesIn } from "./heard.js";

/**
 * Seconds by which a serial may be ahead of this machine's clock. A serial is the time of the last change, or one more
 * than the one before: many changes in one second run ahead a little.
 */
export const SERIAL_AHEAD_SECONDS = 60;

/** Judges each nameserver that answers, and then all of them against one another. */
export function judgeNameservers(nameservers: readonly NameserverFacts[], zone: string, nowMs: number): Finding[] {
  const addresses = new Set(nameservers.filter(({ inConfig }) => inConfig).map(({ server }) => server.address));
  return [
    ...(addresses.size === 1 ? [single(zone, [...addresses])] : []),
    ...nameservers.flatMap((facts) => judgeOne(facts, zone, nowMs)),
    ...judgeSiblings(nameservers.filter(isAuthoritative), zone),
  ];
}

function single(zone: string, addresses: readonly string[]): Finding {
  return {
    id: "nameserver-single",
    severity: "warning",
    subject: zone,
    evidence: `nameservers: holds one address, ${list(addresses)}.`,
    meaning: "When that machine is restarted, nobody can resolve the endpoint.",
    remedy: "Run livezone on a second machine with the same zone, and name both in nameservers: and in the parent.",
  };
}

/** Whether it serves the zone. */
export function isAuthoritative({ soa }: NameserverFacts): boolean {
  return "reply" in soa && soa.reply.rcode === "NOERROR" && soa.reply.aa && soaIn(soa) !== undefined;
}

function judgeOne(facts: NameserverFacts, zone: string, nowMs: number): Finding[] {
  if (!("reply" in facts.soa)) return [];
  const { reply } = facts.soa;
  const subject = `${facts.name} ${formatAddress(facts.server)}`;
  if (!isAuthoritative(facts)) return [lame(subject, reply, zone)];
  const findings: Finding[] = [];
  if ("silence" in facts.soaOverTcp) {
    findings.push({
      id: "nameserver-tcp-blocked",
      severity: "error",
      subject,
      evidence: `UDP answers; over TCP: ${facts.soaOverTcp.silence}.`,
      meaning: "An answer that does not fit into one UDP packet cannot be fetched, nor a zone transferred.",
      remedy: "Let TCP port 53 through the firewall as well as UDP.",
    });
  }
  if (reply.edns === undefined) {
    findings.push({
      id: "nameserver-edns-stripped",
      severity: "warning",
      subject,
      evidence: "A query with an OPT record came back without one.",
      meaning: "livezone always answers EDNS, so something in between removes it: answers over 512 octets need TCP.",
      remedy:
        "Look for a firewall with DNS inspection, or a proxy, on the way to the server, and have it leave EDNS alone.",
    });
  }
  const serial = Number(soaIn(facts.soa)?.[2] ?? 0);
  const aheadSeconds = serial - Math.floor(nowMs / 1000);
  if (aheadSeconds > SERIAL_AHEAD_SECONDS) {
    findings.push({
      id: "clock-skew",
      severity: "warning",
      subject,
      evidence: `Its serial ${serial} is the time of its last change, and lies ${aheadSeconds} s in the future.`,
      meaning:
        "Its clock, or that of this machine, is wrong: certificates are judged by it, and serials do not follow the clock until it catches up.",
      remedy: "Synchronise the clocks of both machines (chronyc tracking, timedatectl).",
    });
  }
  return findings;
}

function lame(subject: string, reply: Reply, zone: string): Finding {
  const seen =
    reply.rcode !== "NOERROR"
      ? `answers ${reply.rcode}`
      : reply.aa
        ? "answers without an SOA"
        : "answers without authority (no AA)";
  return {
    id: "nameserver-lame",
    severity: "error",
    subject,
    evidence: `It ${seen} when asked for ${zone} SOA.`,
    meaning: "Resolvers take the server for lame: they discard what it says and lose time with it.",
    remedy:
      reply.rcode === "NOERROR"
        ? "Another DNS server answers at that address: run livezone there, or take the address out of the delegation."
        : `Serve ${zone} there (livezone check shows the zones of a configuration), or take the address out of the delegation.`,
  };
}

function judgeSiblings(nameservers: readonly NameserverFacts[], zone: string): Finding[] {
  const findings: Finding[] = [];
  // A question that got lost says nothing of the zone.
  const heard = nameservers.filter(({ ns }) => "reply" in ns);
  const versions = groupBy(heard, ({ soa, ns }) => fixedPart(soa, ns));
  if (versions.size > 1) {
    findings.push({
      id: "siblings-configuration-differs",
      severity: "warning",
      subject: zone,
      evidence: [...versions].map(([version, those]) => `${names(those)}: ${version}`).join("; "),
      meaning: "Which version a client gets depends on the server that its resolver happened to ask.",
      remedy: "Give all nameservers the same zone file, and reload them.",
    });
  }
  const fqdns = new Set(nameservers.flatMap(({ endpoints }) => [...endpoints.keys()]));
  for (const fqdn of fqdns) {
    const answers = groupBy(nameservers, ({ endpoints }) => addressesText(endpoints.get(fqdn)));
    if (answers.size < 2) continue;
    findings.push({
      id: "siblings-answers-differ",
      severity: "error",
      subject: fqdn,
      evidence: [...answers].map(([answer, those]) => `${names(those)}: ${answer}`).join("; "),
      meaning: "Some clients are sent to apiservers that other nameservers hold for down, or do not know.",
      remedy:
        "Compare the targets of the zone files, and look in each livezone's log why it withdrew a target: one may be cut off from it.",
    });
  }
  return findings;
}

/** What does not follow health: SOA without the serial, and the NS records. */
function fixedPart(soa: Heard, ns: Heard): string {
  const fields = soaIn(soa)?.filter((_field, index) => index !== 2) ?? [];
  const servers =
    "reply" in ns ? ns.reply.answers.filter(({ type }) => type === "NS").map(({ data }) => data.toLowerCase()) : [];
  return `SOA ${fields.join(" ")}, NS ${servers.sort().join(" ")}`;
}

function addressesText(heard: Heard | undefined): string {
  if (heard === undefined) return "not asked";
  if (!("reply" in heard)) return heard.silence;
  const found = addressesIn(heard);
  return found.length > 0 ? found.sort().join(" ") : `no address (${heard.reply.rcode})`;
}

/** Fields of the SOA in the answer: primary, contact, serial, refresh, retry, expire, minimum. */
function soaIn(heard: Heard): string[] | undefined {
  if (!("reply" in heard)) return undefined;
  return heard.reply.answers.find(({ type }: ReplyRecord) => type === "SOA")?.data.split(" ");
}

function names(nameservers: readonly NameserverFacts[]): string {
  return list(nameservers.map(({ name, server }) => `${name} ${formatAddress(server)}`));
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

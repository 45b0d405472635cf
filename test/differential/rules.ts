import type { Difference, Picture } from "./compare.js";

/** A difference that is meant to be. Every one found must fall under a rule, and every rule must be met. */
export interface Rule {
  readonly name: string;
  /** The servers that do otherwise. */
  readonly servers: readonly ("knot" | "nsd" | "bind")[];
  /** The servers of these that a few thousand questions may not show it of. */
  readonly seldom?: readonly ("knot" | "nsd" | "bind")[];
  /** Why livezone does not follow them. */
  readonly reason: string;
  applies(difference: Difference, ours: Picture, theirs: Picture): boolean;
}

const hasAlias = (picture: Picture): boolean => picture.answer.some((line) => line.includes(" CNAME "));
const onlySoa = (lines: readonly string[]): boolean => lines.length === 1 && (lines[0] ?? "").includes(" SOA ");
const without = (edns: string, ...codes: readonly number[]): string =>
  codes.reduce((text, code) => text.replace(` option ${code}`, ""), edns);
const isLoop = (name: string): boolean => /(^|\.)(self|loop1|loop2|wildloop)\.k8s\.example\.test\.$/i.test(name);

/** Whether the additional section holds addresses that the child's servers cannot be reached without. */
const hasGlue = ({ authority, additional }: Picture): boolean => {
  const cut = authority.find((line) => line.includes(" NS "))?.split(" ")[0];
  return cut !== undefined && additional.some((line) => line.split(" ")[0]?.endsWith(`.${cut}`));
};

export const RULES: readonly Rule[] = [
  {
    name: "cookies and keepalive are answered",
    servers: ["knot", "nsd", "bind"],
    reason: "RFC 7873 and RFC 7828. Knot and NSD have them off by default; BIND leaves them out of BADVERS.",
    applies: ({ field }, ours, theirs) =>
      field === "edns" && ours.edns !== theirs.edns && without(ours.edns, 10, 11) === without(theirs.edns, 10, 11),
  },
  {
    name: "client subnet is not echoed",
    servers: ["bind"],
    reason: "RFC 7871 §7.2.1: only who answers by subnet says so. BIND says that its answer holds for all.",
    applies: ({ field }, ours, theirs) =>
      field === "edns" && without(ours.edns, 10, 11) === without(theirs.edns, 8, 10, 11),
  },
  {
    name: "CD is cleared",
    servers: ["bind"],
    reason: "RFC 4035 §3.1.6: an authoritative server clears CD in its response. BIND copies it.",
    applies: ({ question, field }, ours, theirs) =>
      field === "flags" && question.cd && ours.flags === theirs.flags.replace(/ ?cd$/, ""),
  },
  {
    name: "other operations: what of the message is repeated",
    servers: ["knot", "nsd", "bind"],
    reason:
      "NOTIMP, REFUSED for NOTIFY, or BADVERS first where EDNS says so (RFC 6891 §6.1.3), with question and OPT as in every reply. NSD and BIND repeat less; Knot and BIND judge the class first.",
    applies: ({ question, field }, ours, theirs) =>
      question.opcode !== 0 &&
      ["edns", "question", "flags", "rcode"].includes(field) &&
      ["NOTIMP", "REFUSED", "BADVERS"].includes(ours.rcode) &&
      theirs.answer.length === 0,
  },
  {
    name: "BADVERS: flags",
    servers: ["nsd"],
    reason: "RFC 3225 §3 has DO copied and RFC 4035 §3.1.6 CD cleared; NSD copies the header and drops DO.",
    applies: ({ field }, ours, theirs) =>
      ours.rcode === "BADVERS" && theirs.rcode === "BADVERS" && (field === "flags" || field === "edns"),
  },
  {
    name: "class ANY: no AA",
    servers: ["knot", "nsd"],
    seldom: ["nsd"],
    reason:
      "RFC 1034 §3.7.1: an answer for QCLASS=* can never be authoritative. Knot sets AA, NSD at an alias to a cut.",
    applies: ({ question, field }, ours, theirs) =>
      question.class === "ANY" && field === "flags" && theirs.flags.replace(/^aa ?/, "") === ours.flags,
  },
  {
    name: "class ANY: SOA in negative answers",
    servers: ["nsd"],
    reason: "RFC 2308 §3 makes no exception for QCLASS=*; Knot sends it too.",
    applies: ({ question, field }, ours, theirs) =>
      question.class === "ANY" && field === "authority" && onlySoa(ours.authority) && theirs.authority.length === 0,
  },
  {
    name: "class ANY is answered, others are refused",
    servers: ["bind"],
    reason: "Knot and NSD answer class ANY and refuse unknown ones (RFC 1035 §4.1.1); BIND takes them for malformed.",
    applies: ({ question }, _, theirs) => question.class !== "IN" && ["FORMERR", "NOTIMP"].includes(theirs.rcode),
  },
  {
    name: "unknown class: the question is repeated",
    servers: ["nsd"],
    reason: "RFC 1035 §4.1.1 has a reply repeat the question; NSD leaves it out of its REFUSED.",
    applies: ({ question, field }, ours, theirs) =>
      !["IN", "ANY"].includes(question.class) &&
      field === "question" &&
      ours.rcode === "REFUSED" &&
      theirs.question === "",
  },
  {
    name: "NSEC and RRSIG at an alias",
    servers: ["knot", "bind"],
    reason:
      "RFC 4034 §2.5 lets these two stand beside a CNAME, so Knot and BIND look for them there and say NODATA. In an unsigned zone they never do; NSD follows the alias too.",
    applies: ({ question }, ours, theirs) =>
      ["NSEC", "RRSIG"].includes(question.type) &&
      hasAlias(ours) &&
      onlySoa(theirs.authority) &&
      theirs.rcode === "NOERROR",
  },
  {
    name: "a wildcard alias into itself",
    servers: ["knot", "nsd"],
    reason:
      "A loop, whatever is sent. livezone stops when it meets the wildcard again, the others one alias later, at the name met twice.",
    applies: ({ question, field }, ours, theirs) =>
      field === "answer" && isLoop(question.name) && ours.answer.every((line) => theirs.answer.includes(line)),
  },
  {
    name: "an alias to itself is answered",
    servers: ["bind"],
    reason: "Knot and NSD send the alias and leave it to the resolver to see the loop; BIND says SERVFAIL.",
    applies: ({ question }, ours, theirs) => isLoop(question.name) && hasAlias(ours) && theirs.rcode === "SERVFAIL",
  },
  {
    name: "ANY: which RRset",
    servers: ["nsd", "bind"],
    reason:
      "RFC 8482 §4.1 leaves to the server which of the RRsets it sends. At the apex NSD picks the SOA; BIND picks any, and over TCP sends all.",
    applies: ({ question, field }, ours, theirs) =>
      question.type === "ANY" &&
      (["answer", "additional"].includes(field) || ours.flags.includes("tc") !== theirs.flags.includes("tc")) &&
      ours.answer.length + theirs.answer.length > 0,
  },
  {
    name: "addresses that are of use are added",
    servers: ["nsd", "bind"],
    reason:
      "RFC 2782 and RFC 1035 §3.3.9 ask for the addresses of SRV and MX targets, and Knot sends them. NSD does not with minimal-responses (without it, it adds NS everywhere); BIND has them for referrals only where they are glue.",
    applies: ({ field }, ours, theirs) => field === "additional" && theirs.additional.length === 0 && !hasGlue(ours),
  },
  {
    name: "a cut answer holds nothing",
    servers: ["bind"],
    reason:
      "RFC 2181 §9: a resolver is to discard a truncated answer, so Knot and NSD send none; BIND sends what fits, and copies AD.",
    applies: ({ field }, ours, theirs) =>
      ours.flags.includes("tc") &&
      theirs.flags.includes("tc") &&
      (["answer", "size"].includes(field) ||
        (field === "flags" && ours.flags === theirs.flags.replace(/ ad| cd/g, ""))),
  },
  {
    name: "the TTL of a negative answer about SOA",
    servers: ["bind"],
    reason: "RFC 2308 §3: it is MINIMUM, whatever was asked. BIND sends 0 for type SOA (zero-no-soa-ttl).",
    applies: ({ question, field }, ours, theirs) =>
      question.type === "SOA" &&
      field === "authority" &&
      onlySoa(ours.authority) &&
      / 0 IN SOA /.test(theirs.authority.join()),
  },
  {
    name: "size follows from what is sent",
    servers: ["nsd", "bind"],
    seldom: ["nsd", "bind"],
    reason: "Where the sections differ, which the rules above judge, so may the size.",
    applies: ({ field }, ours, theirs) =>
      field === "size" && String([ours.answer, ours.additional]) !== String([theirs.answer, theirs.additional]),
  },
];

/** What a server leaves without a reply, and livezone does not. */
export const SILENCES: readonly {
  readonly server: string;
  readonly reason: string;
  applies(difference: Difference): boolean;
}[] = [
  {
    server: "bind",
    reason: "BIND has no view of class CH here and drops its queries; livezone refuses them.",
    applies: ({ question }) => question.class === "CH",
  },
  {
    server: "nsd",
    reason: "NSD leaves some operations that it does not know unanswered.",
    applies: ({ question }) => question.opcode !== 0,
  },
];

/** The name of the rule that a difference falls under. */
export function ruleFor(difference: Difference): string | undefined {
  const { ours, theirs, server } = difference;
  if (theirs === "silence") {
    const known = SILENCES.find((silence) => silence.server === server && silence.applies(difference));
    return known === undefined ? undefined : `silence of ${server}`;
  }
  if (ours === "silence") return undefined;
  return RULES.find(
    (rule) => rule.servers.some((candidate) => candidate === server) && rule.applies(difference, ours, theirs),
  )?.name;
}

/** Every rule's name with every server it is to be met at. */
export function expectedRules(): { readonly server: string; readonly rule: string }[] {
  return [
    ...RULES.flatMap(({ servers, seldom = [], name }) =>
      servers.filter((server) => !seldom.includes(server)).map((server) => ({ server, rule: name })),
    ),
    // NSD's depends on what came before.
    { server: "bind", rule: "silence of bind" },
  ];
}

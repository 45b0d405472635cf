import type { Difference, Picture } from "./compare.js";

/** A difference that is meant to be. Every one found must fall under a rule, and every rule must be met. */
export interface Rule {
  readonly name: string;
  /** Why livezone does not follow the other server. */
  readonly reason: string;
  applies(difference: Difference, ours: Picture, theirs: Picture): boolean;
}

const hasAlias = (picture: Picture): boolean => picture.answer.some((line) => line.includes(" CNAME "));
const onlySoa = (lines: readonly string[]): boolean => lines.length === 1 && (lines[0] ?? "").includes(" SOA ");

export const RULES: readonly Rule[] = [
  {
    name: "class ANY: no AA",
    reason:
      "RFC 1034 §3.7.1: an answer for QCLASS=* can never be authoritative. Knot sets AA, NSD at an alias to a cut.",
    applies: ({ question, field }, ours, theirs) =>
      question.class === "ANY" && field === "flags" && theirs.flags.replace(/^aa ?/, "") === ours.flags,
  },
  {
    name: "class ANY: SOA in negative answers",
    reason: "RFC 2308 §3 makes no exception for QCLASS=*; Knot sends it too.",
    applies: ({ server, question, field }, ours, theirs) =>
      server === "nsd" &&
      question.class === "ANY" &&
      field === "authority" &&
      onlySoa(ours.authority) &&
      theirs.authority.length === 0,
  },
  {
    name: "unknown class: the question is repeated",
    reason: "RFC 1035 §4.1.1 has a reply repeat the question; NSD leaves it out of its REFUSED.",
    applies: ({ server, question, field }, ours, theirs) =>
      server === "nsd" &&
      !["IN", "ANY"].includes(question.class) &&
      field === "question" &&
      ours.rcode === "REFUSED" &&
      theirs.question === "",
  },
  {
    name: "NSEC and RRSIG at an alias",
    reason:
      "RFC 4034 §2.5 lets these two stand beside a CNAME, so Knot looks for them there and says NODATA. In an unsigned zone they never do; NSD follows the alias too.",
    applies: ({ server, question }, ours, theirs) =>
      server === "knot" &&
      ["NSEC", "RRSIG"].includes(question.type) &&
      hasAlias(ours) &&
      onlySoa(theirs.authority) &&
      theirs.rcode === "NOERROR",
  },
  {
    name: "a wildcard alias into itself",
    reason:
      "A loop, whatever is sent. livezone stops when it meets the wildcard again, the others one alias later, at the name met twice.",
    applies: ({ question, field }, ours, theirs) =>
      field === "answer" &&
      /wildloop\.k8s\.example\.test\.$/i.test(question.name) &&
      ours.answer.every((line) => theirs.answer.includes(line)),
  },
  {
    name: "ANY: which RRset",
    reason: "RFC 8482 §4.1 leaves to the server which of the RRsets it sends: at the apex NSD picks the SOA.",
    applies: ({ server, question, field }, ours, theirs) =>
      server === "nsd" &&
      question.type === "ANY" &&
      field === "answer" &&
      ours.answer.length > 0 &&
      onlySoa(theirs.answer),
  },
  {
    name: "NSD leaves additional addresses out",
    reason:
      "With minimal-responses (without it, it adds NS everywhere) NSD sends none for SRV and MX; RFC 2782 asks for them, Knot sends them.",
    applies: ({ server, field }, ours, theirs) =>
      server === "nsd" &&
      field === "additional" &&
      theirs.additional.length === 0 &&
      ours.authority.length === 0 &&
      / (SRV|MX|NS) /.test(ours.answer.join()),
  },
];

/** The rule that a difference falls under. */
export function ruleFor(difference: Difference): Rule | undefined {
  const { ours, theirs } = difference;
  if (ours === "silence" || theirs === "silence") return undefined;
  return RULES.find((rule) => rule.applies(difference, ours, theirs));
}

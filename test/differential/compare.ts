import { type DnsEdns, type DnsMessage, type DnsRecord, parseMessage } from "../support/dns-message.js";
import type { Question } from "./questions.js";

/** What two servers' replies are compared by. */
export interface Picture {
  readonly rcode: string;
  readonly flags: string;
  /** As it was echoed, letter case included. */
  readonly question: string;
  /** Version, DO and the codes of options, or "none". */
  readonly edns: string;
  /** The smallest of 512, 1232 and more octets that holds it. */
  readonly size: string;
  /** Of each section the records as sorted lines, names in lower case. */
  readonly answer: readonly string[];
  readonly authority: readonly string[];
  readonly additional: readonly string[];
}

export type Field = keyof Picture;

/** What a reply looks like; "silence" without one. @throws RangeError if it is malformed */
export function pictureOf(reply: Buffer | undefined): Picture | "silence" {
  if (reply === undefined) return "silence";
  const message = parseMessage(reply);
  const { flags, edns } = message;
  return {
    rcode: message.rcode,
    flags: (["aa", "tc", "rd", "ra", "ad", "cd"] as const).filter((flag) => flags[flag]).join(" "),
    question: message.questions.map(({ name, type, class: klass }) => `${name} ${klass} ${type}`).join(", "),
    edns: edns === undefined ? "none" : describeEdns(edns),
    size: sizeClass(reply.length),
    answer: lines(message, message.answers),
    authority: lines(message, message.authorities),
    additional: lines(message, message.additionals),
  };
}

function describeEdns({ version, dnssecOk, options }: DnsEdns): string {
  // Extended errors are advice to people (RFC 8914 §1): each server gives its own.
  const codes = options
    .filter(({ code }) => code !== 15)
    .map(({ code }) => ` option ${code}`)
    .sort();
  return `version ${version}${dnssecOk ? " DO" : ""}${codes.join("")}`;
}

/** What a message fits into: an old datagram, a new one, TCP. */
function sizeClass(octets: number): string {
  return octets <= 512 ? "512" : octets <= 1_232 ? "1232" : "more";
}

function lines(_message: DnsMessage, records: readonly DnsRecord[]): string[] {
  return records
    .map(({ owner, ttl, class: klass, type, rdata }) => {
      const data = ["TXT", "CAA"].includes(type) ? rdata : rdata.toLowerCase();
      return `${owner.toLowerCase()} ${ttl} ${klass} ${type} ${data}`;
    })
    .sort();
}

const FIELDS: readonly Field[] = ["rcode", "flags", "question", "edns", "size", "answer", "authority", "additional"];

/** One field in which another server's reply is not ours. */
export interface Difference {
  readonly question: Question;
  readonly server: string;
  readonly field: Field | "silence";
  readonly ours: Picture | "silence";
  readonly theirs: Picture | "silence";
}

/** Where two replies differ. */
export function differences(
  question: Question,
  server: string,
  ours: Picture | "silence",
  theirs: Picture | "silence",
): Difference[] {
  const common = { question, server, ours, theirs };
  if (ours === "silence" || theirs === "silence") return ours === theirs ? [] : [{ ...common, field: "silence" }];
  return FIELDS.filter((field) => String(ours[field]) !== String(theirs[field])).map((field) => ({ ...common, field }));
}

/**
 * A DNS message reader and query writer for tests, written apart from `src/wire` on purpose: what livezone writes is
 * judged by code that does not share its mistakes. It favours plainness over speed and throws on anything malformed.
 */

import { runRandom } from "./random.js";

/** One resource record. `rdata` is in presentation form with names absolute (`ns1.example.test.`). */
export interface DnsRecord {
  /** Letter case as sent, with the trailing dot. */
  readonly owner: string;
  /** `A`, `TYPE65400`. */
  readonly type: string;
  /** `IN`, `CLASS42`. */
  readonly class: string;
  readonly ttl: number;
  readonly rdata: string;
}

/** The OPT pseudo-record, RFC 6891 §6.1. */
export interface DnsEdns {
  readonly udpSize: number;
  readonly version: number;
  readonly dnssecOk: boolean;
  readonly options: readonly { readonly code: number; readonly data: Uint8Array }[];
}

/** A parsed message. */
export interface DnsMessage {
  readonly id: number;
  readonly opcode: number;
  readonly flags: {
    readonly qr: boolean;
    readonly aa: boolean;
    readonly tc: boolean;
    readonly rd: boolean;
    readonly ra: boolean;
    readonly ad: boolean;
    readonly cd: boolean;
  };
  /** `NOERROR`, `RCODE77`; the extended bits of OPT are included. */
  readonly rcode: string;
  readonly questions: readonly { readonly name: string; readonly type: string; readonly class: string }[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  /** Without OPT. */
  readonly additionals: readonly DnsRecord[];
  readonly edns?: DnsEdns;
  /** The message as received. */
  readonly bytes: Buffer;
}

/** What to ask. */
export interface DnsQuestion {
  /** With or without trailing dot; `\DDD` and `\X` escapes as in master files. `.` is the root. */
  readonly name: string;
  /** Default `A`. `TYPE65400` for others. */
  readonly type?: string;
  /** Default `IN`; also `CH`, `ANY`, `CLASS42`. */
  readonly class?: string;
  /** Default random. */
  readonly id?: number;
  /** Default 0. */
  readonly opcode?: number;
  /** Recursion desired. Default false: an authoritative server is asked. */
  readonly rd?: boolean;
  /** Absent: a query without OPT. */
  readonly edns?: {
    /** Default 1232. */
    readonly udpSize?: number;
    readonly version?: number;
    readonly dnssecOk?: boolean;
    readonly options?: readonly { readonly code: number; readonly data: Uint8Array }[];
  };
}

const TYPES: Readonly<Record<string, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  DNAME: 39,
  OPT: 41,
  DS: 43,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  TLSA: 52,
  SVCB: 64,
  HTTPS: 65,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
};
const CLASSES: Readonly<Record<string, number>> = { IN: 1, CH: 3, HS: 4, NONE: 254, ANY: 255 };
const RCODES = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET"];
const RCODE_NAMES: Readonly<Record<number, string>> = { 9: "NOTAUTH", 10: "NOTZONE", 16: "BADVERS", 23: "BADCOOKIE" };

/** Makes the IDs of queries that ask for none. */
const random = runRandom();

/** Encodes a query with one question. */
export function encodeQuery(question: DnsQuestion): Buffer {
  const { name, type = "A", class: klass = "IN", id = Math.floor(random() * 65_536), edns } = question;
  const flags = ((question.opcode ?? 0) << 11) | (question.rd ? 0x0100 : 0);
  const parts = [
    octets16(id, flags, 1, 0, 0, edns === undefined ? 0 : 1),
    encodeName(name),
    octets16(typeNumber(type), numberOf(klass, CLASSES, "CLASS")),
  ];
  if (edns !== undefined) {
    const { udpSize = 1232, version = 0, dnssecOk = false, options = [] } = edns;
    const data = Buffer.concat(options.flatMap(({ code, data }) => [octets16(code, data.length), data]));
    parts.push(Buffer.from([0]), octets16(41, udpSize, version, dnssecOk ? 0x8000 : 0, data.length), data);
  }
  return Buffer.concat(parts);
}

/** `A` → 1, `TYPE65400` → 65400. */
export function typeNumber(type: string): number {
  return numberOf(type, TYPES, "TYPE");
}

/** A name in wire form, uncompressed (RFC 1035 §3.1). */
export function encodeName(name: string): Buffer {
  const labels: Buffer[] = [];
  let label: number[] = [];
  const text = name === "." ? "" : name.endsWith(".") && !name.endsWith("\\.") ? name.slice(0, -1) : name;
  const endLabel = () => {
    if (label.length === 0 || label.length > 63) throw new RangeError(`bad label in ${name}`);
    labels.push(Buffer.from([label.length, ...label]));
    label = [];
  };
  for (let i = 0; i < text.length; i++) {
    const escaped = /^\\(?:(\d{3})|(.))/s.exec(text.slice(i));
    if (escaped) {
      label.push(escaped[1] === undefined ? (escaped[2] ?? "").charCodeAt(0) : Number(escaped[1]));
      i += escaped[0].length - 1;
    } else if (text[i] === ".") endLabel();
    else label.push(text.charCodeAt(i));
  }
  if (text !== "") endLabel();
  return Buffer.concat([...labels, Buffer.from([0])]);
}

/** Parses a whole message; throws a `RangeError` on anything malformed or on octets after the end. */
export function parseMessage(bytes: Uint8Array): DnsMessage {
  const buffer = Buffer.from(bytes);
  const reader = { buffer, at: 0 };
  const [id, bits, questionCount, ...recordCounts] = [0, 0, 0, 0, 0, 0].map(() => read16(reader)) as [
    number,
    number,
    number,
    ...number[],
  ];
  const questions = repeat(questionCount, () => ({
    name: readName(reader),
    type: nameOf(read16(reader), TYPES, "TYPE"),
    class: nameOf(read16(reader), CLASSES, "CLASS"),
  }));
  let edns: (DnsEdns & { readonly extendedRcode: number }) | undefined;
  const [answers = [], authorities = [], additionals = []] = recordCounts.map((count) =>
    repeat(count, () => readRecord(reader)).flatMap((record) => {
      if ("owner" in record) return [record];
      if (edns !== undefined) throw new RangeError("two OPT records");
      edns = record;
      return [];
    }),
  );
  if (reader.at !== buffer.length) throw new RangeError(`${buffer.length - reader.at} octets after the message`);
  const rcode = (bits & 0xf) | ((edns?.extendedRcode ?? 0) << 4);
  return {
    id,
    opcode: (bits >> 11) & 0xf,
    flags: {
      qr: (bits & 0x8000) !== 0,
      aa: (bits & 0x0400) !== 0,
      tc: (bits & 0x0200) !== 0,
      rd: (bits & 0x0100) !== 0,
      ra: (bits & 0x0080) !== 0,
      ad: (bits & 0x0020) !== 0,
      cd: (bits & 0x0010) !== 0,
    },
    rcode: RCODES[rcode] ?? RCODE_NAMES[rcode] ?? `RCODE${rcode}`,
    questions,
    answers,
    authorities,
    additionals,
    ...(edns === undefined ? {} : { edns: withoutRcode(edns) }),
    bytes: buffer,
  };
}

function withoutRcode({ udpSize, version, dnssecOk, options }: DnsEdns): DnsEdns {
  return { udpSize, version, dnssecOk, options };
}

interface Reader {
  readonly buffer: Buffer;
  at: number;
}

function readRecord(reader: Reader): DnsRecord | (DnsEdns & { readonly extendedRcode: number }) {
  const owner = readName(reader);
  const type = read16(reader);
  const klass = read16(reader);
  const ttl = read32(reader);
  const length = read16(reader);
  const end = reader.at + length;
  if (end > reader.buffer.length) throw new RangeError("record data past the end");
  if (type === TYPES.OPT) {
    const options = [];
    while (reader.at < end) {
      const code = read16(reader);
      options.push({ code, data: readOctets(reader, read16(reader)) });
    }
    if (reader.at !== end) throw new RangeError("EDNS options past the end of OPT");
    return {
      udpSize: klass,
      extendedRcode: ttl >>> 24,
      version: (ttl >>> 16) & 0xff,
      dnssecOk: (ttl & 0x8000) !== 0,
      options,
    };
  }
  const typeName = nameOf(type, TYPES, "TYPE");
  const rdata = readRdata(reader, typeName, end);
  if (reader.at !== end) throw new RangeError(`data of ${typeName} is ${reader.at - end} octets off its length`);
  return { owner, type: typeName, class: nameOf(klass, CLASSES, "CLASS"), ttl, rdata };
}

function readRdata(reader: Reader, type: string, end: number): string {
  switch (type) {
    case "A":
      return [...readOctets(reader, 4)].join(".");
    case "AAAA":
      return formatIpv6(readOctets(reader, 16));
    case "NS":
    case "CNAME":
    case "PTR":
    case "DNAME":
      return readName(reader);
    case "MX":
      return `${read16(reader)} ${readName(reader)}`;
    case "SRV":
      return `${read16(reader)} ${read16(reader)} ${read16(reader)} ${readName(reader)}`;
    case "SOA": {
      const names = `${readName(reader)} ${readName(reader)}`;
      return `${names} ${repeat(5, () => read32(reader)).join(" ")}`;
    }
    case "TXT": {
      const strings = [];
      while (reader.at < end) strings.push(quote(readOctets(reader, readOctets(reader, 1)[0] ?? 0)));
      return strings.join(" ");
    }
    case "CAA": {
      const [flags = 0, tagLength = 0] = readOctets(reader, 2);
      const tag = readOctets(reader, tagLength).toString("latin1");
      return `${flags} ${tag} ${quote(readOctets(reader, end - reader.at))}`;
    }
    default: {
      const data = readOctets(reader, end - reader.at);
      return data.length === 0 ? "\\# 0" : `\\# ${data.length} ${data.toString("hex")}`;
    }
  }
}

function readName(reader: Reader): string {
  let text = "";
  let at = reader.at;
  let after: number | undefined;
  let length = 1;
  while (true) {
    const octet = reader.buffer.readUInt8(at);
    if (octet >= 0xc0) {
      const target = reader.buffer.readUInt16BE(at) & 0x3fff;
      if (target >= at) throw new RangeError("a compression pointer that does not point back");
      after ??= at + 2;
      at = target;
      continue;
    }
    if (octet >= 0x40) throw new RangeError(`label type ${octet >> 6}`);
    at += 1;
    if (octet === 0) break;
    if (at + octet > reader.buffer.length) throw new RangeError("label past the end");
    length += octet + 1;
    if (length > 255) throw new RangeError("a name longer than 255 octets");
    for (const character of reader.buffer.subarray(at, at + octet)) text += escapeLabelOctet(character);
    text += ".";
    at += octet;
  }
  reader.at = after ?? at;
  return text === "" ? "." : text;
}

function escapeLabelOctet(octet: number): string {
  const character = String.fromCharCode(octet);
  if (octet <= 0x20 || octet >= 0x7f) return `\\${String(octet).padStart(3, "0")}`;
  return /[.\\"();@$]/.test(character) ? `\\${character}` : character;
}

function quote(octets: Buffer): string {
  const text = [...octets].map((octet) => {
    if (octet < 0x20 || octet >= 0x7f) return `\\${String(octet).padStart(3, "0")}`;
    const character = String.fromCharCode(octet);
    return character === '"' || character === "\\" ? `\\${character}` : character;
  });
  return `"${text.join("")}"`;
}

/** RFC 5952 §4. */
function formatIpv6(octets: Buffer): string {
  const groups = repeat(8, (i) => octets.readUInt16BE(i * 2).toString(16));
  const runs = [
    ...groups
      .map((group) => (group === "0" ? "0" : "x"))
      .join("")
      .matchAll(/00+/g),
  ];
  const longest = runs.reduce<{ start: number; length: number } | undefined>((best, run) => {
    return best === undefined || run[0].length > best.length ? { start: run.index, length: run[0].length } : best;
  }, undefined);
  if (longest === undefined) return groups.join(":");
  const before = groups.slice(0, longest.start).join(":");
  return `${before}::${groups.slice(longest.start + longest.length).join(":")}`;
}

function readOctets(reader: Reader, count: number): Buffer {
  if (reader.at + count > reader.buffer.length) throw new RangeError("octets past the end");
  const octets = reader.buffer.subarray(reader.at, reader.at + count);
  reader.at += count;
  return octets;
}

function read16(reader: Reader): number {
  return readOctets(reader, 2).readUInt16BE(0);
}

function read32(reader: Reader): number {
  return readOctets(reader, 4).readUInt32BE(0);
}

function octets16(...values: readonly number[]): Buffer {
  const octets = Buffer.alloc(values.length * 2);
  values.forEach((value, i) => {
    octets.writeUInt16BE(value, i * 2);
  });
  return octets;
}

function repeat<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function numberOf(name: string, known: Readonly<Record<string, number>>, prefix: string): number {
  const upper = name.toUpperCase();
  const number = known[upper] ?? (upper.startsWith(prefix) ? Number(upper.slice(prefix.length)) : Number.NaN);
  if (!Number.isInteger(number) || number < 0 || number > 65_535) throw new RangeError(`unknown ${prefix} ${name}`);
  return number;
}

function nameOf(number: number, known: Readonly<Record<string, number>>, prefix: string): string {
  return Object.keys(known).find((name) => known[name] === number) ?? `${prefix}${number}`;
}

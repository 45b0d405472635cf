import { type DnsQuestion, encodeQuery } from "../support/dns-message.js";
import { pick } from "../support/random.js";

const ZONE = "k8s.example.test";

const NAMES = [
  ...[
    "api",
    "API",
    "cp1.api",
    "_https._tcp.api",
    "crowd",
    "www",
    "x.wild",
    "nothing",
    "ent",
    "x.child",
    "child",
    "out",
  ].map((name) => `${name}.${ZONE}`),
  ZONE,
  "elsewhere.test",
  ".",
  `${"a.".repeat(118)}${ZONE}`,
  `${"x".repeat(63)}.${ZONE}`,
  "version.bind",
  "id.server",
];

const TYPES = [
  "A",
  "AAAA",
  "NS",
  "SOA",
  "MX",
  "TXT",
  "SRV",
  "CNAME",
  "DS",
  "ANY",
  "AXFR",
  "IXFR",
  "OPT",
  "TYPE0",
  "TYPE65535",
  "HTTPS",
];

/** EDNS options that mean something: NSID, client subnet, expire, cookie, keepalive, padding, chain, error, and odd ones. */
const OPTION_CODES = [3, 8, 9, 10, 11, 12, 13, 15, 65_001];

/** Valid queries, from which the broken ones are made. */
export function seeds(random: () => number, count: number): Buffer[] {
  return Array.from({ length: count }, () => encodeQuery(randomQuestion(random)));
}

/** Queries such as most clients send: an address of a name of ours, no EDNS, or EDNS with at most a cookie. */
export function plainSeeds(random: () => number, count: number): Buffer[] {
  return Array.from({ length: count }, () => {
    const cookie = {
      code: 10,
      data: Buffer.from(Array.from({ length: pick(random, [8, 24]) }, () => Math.floor(random() * 256))),
    };
    const edns = {
      udpSize: pick(random, [0, 512, 1232, 65_535]),
      dnssecOk: random() < 0.3,
      options: random() < 0.4 ? [cookie] : [],
    };
    const name = `${pick(random, ["api", "API", "www", "crowd", "x.wild", "nothing", "x.child"])}.${ZONE}`;
    return encodeQuery({
      name,
      type: pick(random, ["A", "AAAA", "HTTPS"]),
      rd: random() < 0.5,
      ...(random() < 0.5 ? { edns } : {}),
    });
  });
}

function randomQuestion(random: () => number): DnsQuestion {
  const options = Array.from({ length: Math.floor(random() * 3) }, () => ({
    code: pick(random, OPTION_CODES),
    data: Buffer.from(
      Array.from({ length: pick(random, [0, 1, 2, 4, 7, 8, 9, 16, 24, 40, 41]) }, () => Math.floor(random() * 256)),
    ),
  }));
  const edns = {
    udpSize: pick(random, [0, 512, 1232, 4096, 65_535]),
    version: random() < 0.9 ? 0 : 1,
    dnssecOk: random() < 0.3,
    options,
  };
  return {
    name: pick(random, NAMES),
    type: pick(random, TYPES),
    class: random() < 0.9 ? "IN" : pick(random, ["CH", "ANY", "NONE", "CLASS0"]),
    id: Math.floor(random() * 0x1_0000),
    opcode: random() < 0.9 ? 0 : Math.floor(random() * 16),
    rd: random() < 0.5,
    ...(random() < 0.6 ? { edns } : {}),
  };
}

type Mutation = (bytes: Buffer, random: () => number, other: Buffer) => Buffer;

const at = (bytes: Buffer, random: () => number): number => Math.floor(random() * bytes.length);

/** Each breaks a packet in one way; all cope with a packet of no octets. */
const MUTATIONS: readonly Mutation[] = [
  // A bit.
  (bytes, random) => change(bytes, at(bytes, random), (octet) => octet ^ (1 << Math.floor(random() * 8))),
  // An octet, often to one that means something: no length, a pointer, a reserved label type, the longest label.
  (bytes, random) =>
    change(bytes, at(bytes, random), () =>
      pick(random, [0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff, Math.floor(random() * 256)]),
    ),
  // Cut.
  (bytes, random) => bytes.subarray(0, at(bytes, random)),
  // Longer.
  (bytes, random) =>
    Buffer.concat([
      bytes,
      Buffer.from(Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() * 256))),
    ]),
  // Spliced with another.
  (bytes, random, other) => Buffer.concat([bytes.subarray(0, at(bytes, random)), other.subarray(at(other, random))]),
  // A counter of the header.
  (bytes, random) =>
    bytes.length < 12
      ? bytes
      : write16(bytes, 4 + 2 * Math.floor(random() * 4), pick(random, [0, 1, 2, 3, 255, 0xffff])),
  // Two octets, as a length might be.
  (bytes, random) =>
    bytes.length < 2
      ? bytes
      : write16(bytes, Math.floor(random() * (bytes.length - 1)), pick(random, [0, 1, 41, 250, 0xc00c, 0xffff])),
  // A part that comes twice.
  (bytes, random) => {
    const start = at(bytes, random);
    return Buffer.concat([bytes, bytes.subarray(start)]);
  },
  // A part that is gone.
  (bytes, random) => {
    const start = at(bytes, random);
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + 1 + Math.floor(random() * 8))]);
  },
];

function change(bytes: Buffer, index: number, to: (octet: number) => number): Buffer {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  copy[index] = to(copy[index] ?? 0);
  return copy;
}

function write16(bytes: Buffer, index: number, value: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt16BE(value, index);
  return copy;
}

/** A packet broken in one to four ways; one in ten is left whole. */
export function mutate(random: () => number, corpus: readonly Buffer[]): Buffer {
  let bytes = pick(random, corpus);
  if (random() < 0.1) return bytes;
  for (let i = Math.floor(random() * 4); i >= 0; i -= 1)
    bytes = pick(random, MUTATIONS)(bytes, random, pick(random, corpus));
  return bytes;
}

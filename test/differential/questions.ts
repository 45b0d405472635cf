import { encodeQuery } from "../support/dns-message.js";
import { pick, seededRandom } from "../support/random.js";
import { masterFile, ZONE_NAME } from "./zone.js";

/** One generated question and how it is sent. */
export interface Question {
  /** Letter case as sent, with the trailing dot. */
  readonly name: string;
  readonly type: string;
  readonly class: string;
  readonly rd: boolean;
  readonly ad: boolean;
  readonly cd: boolean;
  readonly opcode: number;
  readonly edns?: {
    readonly udpSize: number;
    readonly dnssecOk: boolean;
    readonly version: number;
    readonly options: readonly { readonly code: number; readonly data: Uint8Array }[];
  };
  readonly transport: "udp" | "tcp";
}

/** Types that are asked for; the frequent ones several times. */
const TYPES = [
  ...["A", "A", "A", "A", "AAAA", "AAAA", "AAAA", "NS", "NS", "SOA", "CNAME", "CNAME", "MX", "TXT", "TXT", "SRV"],
  ...["SRV", "PTR", "CAA", "DS", "DS", "ANY", "ANY", "HTTPS", "SVCB", "DNAME", "NSEC", "DNSKEY", "RRSIG", "TLSA"],
  ...["TYPE65400", "TYPE65401", "TYPE3", "TYPE11", "HINFO"],
];

const LABELS = ["x", "www", "*", "ns1", "a", "_tcp", "zz", "a-b", "xn--nxasmq6b", "0", "\\255\\000"];

/** Every owner in the zone and every name between one and the apex, absolute. */
function ownersOf(): string[] {
  const names = new Set<string>();
  for (const line of masterFile().split("\n")) {
    const owner = /^(\S+) +\d+ +IN/.exec(line)?.[1];
    if (owner === undefined) continue;
    if (/^t\d+\.crowd$/.test(owner)) continue;
    for (let at = owner; at !== "" && at !== "@"; at = at.replace(/^(?:\\.|[^.\\])+\.?/, "")) {
      names.add(`${at}.${ZONE_NAME}.`);
    }
  }
  return [`${ZONE_NAME}.`, ...names];
}

/** EDNS options: padding, client subnet, a client cookie, keepalive, one that nobody knows. */
const OPTIONS = [
  { code: 12, data: Buffer.alloc(100) },
  { code: 8, data: Buffer.from([0, 1, 24, 0, 192, 0, 2]) },
  { code: 10, data: Buffer.from("0011223344556677", "hex") },
  { code: 11, data: Buffer.alloc(0) },
  { code: 65_001, data: Buffer.from([1, 2, 3]) },
];

const OUTSIDE = [
  ".",
  "test.",
  "example.test.",
  "elsewhere.test.",
  "www.elsewhere.test.",
  "xk8s.example.test.",
  "k8s.example.test.example.com.",
  "k8s.example.",
];

/** Questions from a seed: the same seed, the same questions. */
export function generateQuestions(seed: number, count: number): Question[] {
  const random = seededRandom(seed);
  const owners = ownersOf();
  return Array.from({ length: count }, () => {
    const edns =
      random() < 0.5
        ? {
            udpSize: pick(random, [0, 511, 512, 513, 1231, 1232, 1233, 4096, 65_535]),
            dnssecOk: random() < 0.2,
            version: random() < 0.95 ? 0 : pick(random, [1, 2, 255]),
            options: random() < 0.8 ? [] : [pick(random, OPTIONS)],
          }
        : undefined;
    return {
      name: randomCase(random, randomName(random, owners)),
      type: pick(random, TYPES),
      class: random() < 0.98 ? "IN" : pick(random, ["CH", "HS", "NONE", "ANY", "CLASS42"]),
      // Of the others some are implemented by who is compared, and not here (NOTIFY, UPDATE).
      opcode: random() < 0.98 ? 0 : pick(random, [1, 2, 3, 15]),
      rd: random() < 0.5,
      ad: random() < 0.2,
      cd: random() < 0.2,
      ...(edns === undefined ? {} : { edns }),
      transport: random() < 0.1 ? ("tcp" as const) : ("udp" as const),
    };
  });
}

function randomName(random: () => number, owners: readonly string[]): string {
  const kind = random();
  if (kind < 0.06) return pick(random, OUTSIDE);
  const owner = pick(random, owners);
  if (kind < 0.6) return owner;
  if (kind < 0.8) return `${pick(random, LABELS)}.${owner}`;
  if (kind < 0.88) return `${pick(random, LABELS)}.${pick(random, LABELS)}.${owner}`;
  // A sibling: another first label under the same parent.
  return owner.replace(/^(?:\\.|[^.\\])+/, pick(random, LABELS));
}

function randomCase(random: () => number, name: string): string {
  if (random() < 0.5) return name;
  return name.replace(/[a-z]/g, (letter) => (random() < 0.5 ? letter.toUpperCase() : letter));
}

/** The message. */
export function encode(question: Question, id: number): Buffer {
  const { name, type, opcode, rd, ad, cd, edns } = question;
  const bytes = encodeQuery({
    name,
    type,
    class: question.class,
    id,
    opcode,
    rd,
    ...(edns === undefined ? {} : { edns }),
  });
  bytes.writeUInt8(bytes.readUInt8(3) | (ad ? 0x20 : 0) | (cd ? 0x10 : 0), 3);
  return bytes;
}

/** As `dig` would have it, for messages. */
export function describeQuestion(question: Question): string {
  const { name, type, class: klass, opcode, rd, ad, cd, edns, transport } = question;
  const flags = [opcode > 0 && `opcode ${opcode}`, rd && "rd", ad && "ad", cd && "cd"].filter(Boolean).join(" ");
  return `${name} ${klass} ${type} [${flags}] ${describeEdns(edns)} ${transport}`;
}

function describeEdns(edns: Question["edns"]): string {
  if (edns === undefined) return "no EDNS";
  const { udpSize, dnssecOk, version, options } = edns;
  const extras = [
    dnssecOk && "DO",
    version > 0 && `version ${version}`,
    ...options.map(({ code }) => `option ${code}`),
  ];
  return ["EDNS", udpSize, ...extras].filter((extra) => extra !== false).join(" ");
}

import { encodeQuery } from "../support/dns-message.js";
import { pick, seededRandom } from "./random.js";
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
  readonly edns?: { readonly udpSize: number; readonly dnssecOk: boolean };
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
        ? { udpSize: pick(random, [0, 512, 513, 1232, 4096, 65_535]), dnssecOk: random() < 0.2 }
        : undefined;
    return {
      name: randomCase(random, randomName(random, owners)),
      type: pick(random, TYPES),
      class: random() < 0.98 ? "IN" : pick(random, ["CH", "HS", "NONE", "ANY", "CLASS42"]),
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
  const { name, type, rd, ad, cd, edns } = question;
  const bytes = encodeQuery({ name, type, class: question.class, id, rd, ...(edns === undefined ? {} : { edns }) });
  bytes.writeUInt8(bytes.readUInt8(3) | (ad ? 0x20 : 0) | (cd ? 0x10 : 0), 3);
  return bytes;
}

/** As `dig` would have it, for messages. */
export function describeQuestion({ name, type, class: klass, rd, ad, cd, edns, transport }: Question): string {
  const flags = [rd && "rd", ad && "ad", cd && "cd"].filter(Boolean).join(" ");
  const size = edns === undefined ? "no EDNS" : `EDNS ${edns.udpSize}${edns.dnssecOk ? " DO" : ""}`;
  return `${name} ${klass} ${type} [${flags}] ${size} ${transport}`;
}

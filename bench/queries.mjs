/**
 * Query files for `load.c`: one query per line in hexadecimal, with `OFFSET LENGTH` of a random label behind it where a
 * query shall have another name each time.
 *
 *   node bench/queries.mjs KIND [NAME]      prints the file; KIND is one of the keys of QUERY_KINDS
 */
import { pathToFileURL } from "node:url";

/** Record types and codes, RFC 1035 §3.2.2, RFC 3596 §2.1, RFC 6891 §6.1, RFC 7873 §4. */
const TYPE = { A: 1, AAAA: 28, OPT: 41 };
const CLASS_IN = 1;
const COOKIE_OPTION = 10;
const HEADER_OCTETS = 12;
/** Letters of a random label: 26^12 names do not repeat within a run. */
const RANDOM_LABEL_OCTETS = 12;

const u16 = (number) => [number >> 8, number & 255];

function encodeName(name) {
  const labels = name.split(".").filter(Boolean);
  return [...labels.flatMap((label) => [label.length, ...Buffer.from(label)]), 0];
}

/**
 * One query as a line of the file.
 *
 * `edns`: the UDP size to offer; absent = no OPT record. `cookie`: 8 octets of a client cookie, as BIND and
 * Knot Resolver send. `recursion`: RD, which stub resolvers set and resolvers towards servers do not.
 */
export function queryLine({ name, type = "A", edns, cookie, recursion = false, random = false }) {
  const label = random ? [RANDOM_LABEL_OCTETS, ...Buffer.alloc(RANDOM_LABEL_OCTETS, "a")] : [];
  const option = cookie ? [...u16(COOKIE_OPTION), ...u16(cookie.length), ...cookie] : [];
  const opt = edns ? [0, ...u16(TYPE.OPT), ...u16(edns), 0, 0, 0, 0, ...u16(option.length), ...option] : [];
  const octets = [
    ...[0, 0, recursion ? 1 : 0, 0, 0, 1, 0, 0, 0, 0, 0, edns ? 1 : 0],
    ...label,
    ...encodeName(name),
    ...u16(TYPE[type]),
    ...u16(CLASS_IN),
    ...opt,
  ];
  const marks = random ? ` ${HEADER_OCTETS + 1} ${RANDOM_LABEL_OCTETS}` : "";
  return Buffer.from(octets).toString("hex") + marks;
}

/** Eight octets per client; the same in each run, so that runs compare. */
const cookieOf = (client) => Array.from({ length: 8 }, (_, i) => (client * 37 + i * 11 + 1) & 255);

/** The octets of a name in mixed letter case, as resolvers send it (draft-vixie-dnsext-dns0x20). */
const mixedCase = (name, seed) =>
  [...name].map((letter, i) => (((seed * 7919) >> (i % 16)) & 1 ? letter.toUpperCase() : letter)).join("");

/**
 * Messages that are no readable query, each another kind of wrong; some of their octets are random each time. A few of
 * them deserve a FORMERR, so that the flood costs the server replies too.
 */
function malformedLines(name) {
  const query = Buffer.from(queryLine({ name, edns: 1232 }), "hex");
  const but = (at, ...octets) =>
    Buffer.concat([query.subarray(0, at), Buffer.from(octets), query.subarray(at + octets.length)]);
  const nameAt = HEADER_OCTETS;
  const optAt = query.length - 11;
  const shapes = [
    [query.subarray(0, 1)],
    [query.subarray(0, 11), 0, 11],
    [query.subarray(0, HEADER_OCTETS + 6)],
    [but(2, 0x84)],
    [but(2, 0x78)],
    [but(4, 0xff, 0xff)],
    [but(nameAt, 0xc0, 0x0c)],
    [but(nameAt, 0x7f)],
    [but(optAt + 9, 0, 200)],
    [Buffer.concat([query, Buffer.alloc(40, 0xaa)]), query.length, 40],
    [Buffer.alloc(200, 0xff), 0, 200],
    [Buffer.alloc(500, 0x01), 0, 500],
  ];
  return shapes.map(([octets, at = 0, random = 2]) => {
    const length = Math.min(random, octets.length - at);
    return `${octets.toString("hex")} ${at} ${length}`;
  });
}

const range = (count) => Array.from({ length: count }, (_, i) => i);

/** What each kind of file asks, for a name that exists. */
export const QUERY_KINDS = {
  /** A plain A query. */
  a: (name) => [queryLine({ name })],
  /** EDNS without options, as Go and Unbound send. */
  edns: (name) => [queryLine({ name, edns: 1232 })],
  /** EDNS with a client cookie: 64 clients in turn. */
  cookie: (name) => range(64).map((client) => queryLine({ name, edns: 1232, cookie: cookieOf(client) })),
  /** Names that do not exist, never the same twice. */
  nxdomain: (name) => [queryLine({ name: name.split(".").slice(1).join("."), random: true })],
  malformed: malformedLines,
  /** What a resolver farm sends: mostly EDNS and cookies in mixed case, AAAA (NODATA) as often as A, some NXDOMAIN. */
  mixed: (name) =>
    range(100).map((i) => {
      const asked = mixedCase(name, i + 1);
      if (i % 20 === 19) return QUERY_KINDS.nxdomain(name)[0];
      const type = i % 2 ? "AAAA" : "A";
      if (i % 5 === 0) return queryLine({ name: asked, type });
      if (i % 5 < 3) return queryLine({ name: asked, type, edns: 1232 });
      return queryLine({ name: asked, type, edns: 4096, cookie: cookieOf(i) });
    }),
};

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , kind = "", name = "api.bench.example"] = process.argv;
  if (!Object.hasOwn(QUERY_KINDS, kind)) {
    console.error(`usage: node bench/queries.mjs ${Object.keys(QUERY_KINDS).join("|")} [NAME]`);
    process.exit(2);
  }
  console.log(QUERY_KINDS[kind](name).join("\n"));
}

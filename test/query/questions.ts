import fc from "fast-check";
import { clientAt } from "../../src/query/client.js";
import { COOKIE_OCTETS, createServerCookies } from "../../src/query/cookies.js";
import type { QueryPolicy } from "../../src/query/policy.js";
import type { ZoneSketch } from "../answers/serve.js";
import { encodeQuery } from "../support/dns-message.js";

const MANY = Object.fromEntries(
  Array.from({ length: 60 }, (_, i) => [`t${i}`, [`192.0.2.${i + 1}`, `2001:db8::${i + 1}`]]),
);

/** A zone with every kind of name. */
export const SKETCH: ZoneSketch = {
  endpoints: { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] }, many: MANY },
  records: [
    "registry IN A 192.0.2.20",
    "www IN CNAME registry",
    "alias IN CNAME api",
    "out IN CNAME host.example.net.",
    "*.wild IN A 192.0.2.30",
    "*.wild IN TXT wild",
    "child IN NS ns.child",
    "ns.child IN A 192.0.2.40",
    "a.b.c IN MX 10 registry",
    `big IN TXT ${`"${"x".repeat(200)}" `.repeat(4)}`,
  ].join("\n"),
};

const label = fc.constantFrom(
  "api",
  "API",
  "many",
  "registry",
  "www",
  "alias",
  "out",
  "wild",
  "child",
  "ns",
  "a",
  "b",
  "c",
  "big",
  "*",
  "_https",
  "_tcp",
  "cp1",
  "nope",
  "x".repeat(63),
);
const names = fc.array(label, { maxLength: 4 }).map((labels) => [...labels, "k8s.example.test"].join("."));
const elsewhere = fc.constantFrom(".", "test", "example.test", "k8s.example.com", "xk8s.example.test");
const SECRET = Uint8Array.from({ length: 16 }, (_, i) => i);
/** When questions are asked: seconds since 1970. */
const NOW = 1_700_000_000;
/** Who asks. */
export const CLIENT = clientAt("192.0.2.77");

/** Makes and judges cookies at one moment. */
export const policy: QueryPolicy = {
  cookieSecrets: [SECRET],
  tcpIdleMs: 10_000,
  cookies: createServerCookies([SECRET], () => NOW * 1_000),
};

/** A client cookie, and the server cookie that came with it so many seconds ago. */
export function keptCookie(client: Uint8Array, secondsAgo: number): Uint8Array {
  const reply = new Uint8Array(COOKIE_OCTETS);
  const jar = createServerCookies([SECRET], () => (NOW - secondsAgo) * 1_000);
  jar.exchange(client, 0, client.length, CLIENT, new DataView(reply.buffer), 0);
  return reply;
}

const clientCookies = fc.uint8Array({ minLength: 8, maxLength: 8 }).map((octets) => octets.map((octet) => octet & 3));
/** The data of a COOKIE option: new, kept, forged, and of lengths that cannot be. */
const cookies = fc.oneof(
  { weight: 4, arbitrary: clientCookies },
  {
    weight: 4,
    arbitrary: fc.tuple(clientCookies, fc.integer({ min: -400, max: 4_000 })).map((kept) => keptCookie(...kept)),
  },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 24, maxLength: 24 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 42 }) },
);

/** A question in, around or outside the zone of {@link SKETCH}, as most clients put it. */
export const questions = fc.record({
  name: fc.oneof({ weight: 9, arbitrary: names }, { weight: 1, arbitrary: elsewhere }),
  type: fc.oneof(fc.constantFrom(1, 28, 5, 2, 6, 15, 16, 33, 257, 255, 43, 41, 252, 250), fc.nat(65_535)),
  rd: fc.boolean(),
  udpOctets: fc.option(fc.oneof(fc.constantFrom(0, 511, 512, 1232, 4096), fc.nat(65_535)), { nil: undefined }),
  dnssecOk: fc.boolean(),
  cookie: fc.option(cookies, { nil: undefined }),
});

type Asked = typeof questions extends fc.Arbitrary<infer T> ? T : never;

/** The octets of a question; one without `udpOctets` has no OPT record, so no cookie either. */
export function encode({
  name,
  type,
  rd,
  udpOctets,
  dnssecOk,
  cookie,
}: Omit<Asked, "cookie"> & Partial<Asked>): Buffer {
  const query = encodeQuery({ name, type: `TYPE${type}` });
  const plain = Buffer.from(query.subarray(0, query.length));
  plain[2] = rd ? 1 : 0;
  if (udpOctets === undefined) return plain;
  plain[11] = 1;
  const option = cookie === undefined ? [] : [0, 10, 0, cookie.length, ...cookie];
  return Buffer.concat([
    plain,
    Buffer.from([
      0,
      0,
      41,
      udpOctets >>> 8,
      udpOctets & 0xff,
      0,
      0,
      dnssecOk ? 0x80 : 0,
      0,
      0,
      option.length,
      ...option,
    ]),
  ]);
}

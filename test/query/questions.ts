import fc from "fast-check";
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
/** A question in, around or outside the zone of {@link SKETCH}, as most clients put it. */
export const questions = fc.record({
  name: fc.oneof({ weight: 9, arbitrary: names }, { weight: 1, arbitrary: elsewhere }),
  type: fc.oneof(fc.constantFrom(1, 28, 5, 2, 6, 15, 16, 33, 257, 255, 43, 41, 252, 250), fc.nat(65_535)),
  rd: fc.boolean(),
  udpOctets: fc.option(fc.oneof(fc.constantFrom(0, 511, 512, 1232, 4096), fc.nat(65_535)), { nil: undefined }),
  dnssecOk: fc.boolean(),
});

/** The octets of a question. */
export function encode({
  name,
  type,
  rd,
  udpOctets,
  dnssecOk,
}: typeof questions extends fc.Arbitrary<infer T> ? T : never): Buffer {
  const query = encodeQuery({ name, type: `TYPE${type}` });
  const plain = Buffer.from(query.subarray(0, query.length));
  plain[2] = rd ? 1 : 0;
  if (udpOctets === undefined) return plain;
  plain[11] = 1;
  return Buffer.concat([
    plain,
    Buffer.from([0, 0, 41, udpOctets >>> 8, udpOctets & 0xff, 0, 0, dnssecOk ? 0x80 : 0, 0, 0, 0]),
  ]);
}

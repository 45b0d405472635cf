import { describe, expect, test } from "vitest";
import type { CompiledAnswer } from "../../src/answers/answer.js";
import { compileNodata, compileNode, compileNxdomain, isWildcard } from "../../src/answers/compile.js";
import { TYPE } from "../../src/wire/constants.js";
import { formatName, type Name, nameOctets, parseName } from "../../src/wire/name.js";
import { LiveZone } from "../../src/zone/live-zone.js";
import { type DnsRecord, parseMessage } from "../support/dns-message.js";
import { answering, SERIAL, sketchZone, type ZoneSketch } from "./serve.js";

const TARGETS = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] };

const SKETCH: ZoneSketch = {
  endpoints: { api: TARGETS },
  records: `
www       60 IN CNAME api
twice     60 IN CNAME www
outside   60 IN CNAME elsewhere.test.
dangling  60 IN CNAME nothing.here
round     60 IN CNAME about
about     60 IN CNAME round
*.wild    60 IN TXT   "w"
*.link    60 IN CNAME api
into-wild 60 IN CNAME any.thing.wild
past-wild 60 IN CNAME some.thing.mail
mail      60 IN A     192.0.2.25
mail      60 IN MX    10 mail
mail      60 IN MX    20 mail
mail      60 IN MX    30 mx.elsewhere.test.
child     60 IN NS    ns1.child
child     60 IN NS    mail
child     60 IN NS    ns.elsewhere.test.
child     60 IN TYPE43 \\# 6 000108020a0b
ns1.child 60 IN A     192.0.2.53
ns1.child 60 IN AAAA  2001:db8::53
bare      60 IN NS    ns.elsewhere.test.
into-cut  60 IN CNAME deep.child
at-cut    60 IN CNAME child
at-bare   60 IN CNAME bare
`,
};

function live(sketch: ZoneSketch = SKETCH): LiveZone {
  const zone = sketchZone(sketch);
  const answers = new Map(zone.endpoints.map(({ fqdn }) => [fqdn, answering(TARGETS)]));
  return new LiveZone(zone, answers, SERIAL * 1000);
}

const ZONE = live();
const APEX = ZONE.zone.name;

function nameOf(text: string): Name {
  return parseName(text, APEX);
}

/** A compiled answer as a client reads it, names without the zone and its dot. */
function read(answer: CompiledAnswer, asked: Name, soa: (rdata: string) => string | undefined = () => "…") {
  const question = Buffer.concat([nameOctets(asked), Buffer.from([0, 1, 0, 1])]);
  const { flags, answerCount, authorityCount, additionalCount, body } = answer;
  const words = [0, 0x8000 | flags, 1, answerCount, authorityCount, additionalCount];
  const header = Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
  const message = parseMessage(Buffer.concat([header, question, body]));
  const brief = (text: string) => text.replaceAll(".k8s.example.test.", "").replace("k8s.example.test.", "@");
  const texts = (records: readonly DnsRecord[]) =>
    records.map(({ owner, type, rdata }) => [brief(owner), type, type === "SOA" ? soa(rdata) : brief(rdata)].join(" "));
  return {
    outcome: `${message.rcode}${message.flags.aa ? " AA" : ""}`,
    answer: texts(message.answers),
    authority: texts(message.authorities),
    additional: texts(message.additionals),
  };
}

/** What a name of {@link SKETCH} answers for a type. */
function answerOf(name: string, type: keyof typeof TYPE, zone = ZONE) {
  const { node } = compileNode(zone, nameOf(name));
  const own = node.types.find((one) => one.type === TYPE[type])?.answer ?? node.fallback;
  if (own === "nodata") return "NODATA";
  return read(own as CompiledAnswer, nameOf(name));
}

const API_A = ["api A 192.0.2.11", "api A 192.0.2.12", "api A 192.0.2.13"];

describe("a name with records", () => {
  test.each([
    { name: "an endpoint", of: "api", type: "A", answer: API_A },
    { name: "its other family", of: "api", type: "AAAA", answer: ["api AAAA 2001:db8::13"] },
    { name: "the apex", of: "@", type: "SOA", answer: ["@ SOA …"] },
    {
      name: "the apex's nameservers, with their addresses",
      of: "@",
      type: "NS",
      answer: ["@ NS ns1"],
      additional: ["ns1 A 127.0.0.1"],
    },
    {
      name: "mail servers: each address once, none of another zone",
      of: "mail",
      type: "MX",
      answer: ["mail MX 10 mail", "mail MX 20 mail", "mail MX 30 mx.elsewhere.test."],
      additional: ["mail A 192.0.2.25"],
    },
  ] as const)("$name", ({ of, type, name: _, ...expected }) => {
    const whole = { outcome: "NOERROR AA", authority: [], additional: [], ...expected };
    expect(answerOf(of, type)).toEqual(whole);
  });

  test.each(["mail", "api", "@"])("answers NODATA for a type that %s lacks", (name) => {
    expect(answerOf(name, "CAA")).toBe("NODATA");
  });

  test("has no answers of its own if it only stands above others", () => {
    expect(compileNode(ZONE, nameOf("wild")).node).toEqual({ types: [], fallback: "nodata", below: "wildcard" });
  });
});

describe("a chain of aliases", () => {
  const cases = [
    { name: "one link", of: "www", type: "A", answer: ["www CNAME api", ...API_A] },
    { name: "two links", of: "twice", type: "A", answer: ["twice CNAME www", "www CNAME api", ...API_A] },
    { name: "asked for itself", of: "www", type: "CNAME", answer: ["www CNAME api"] },
    { name: "to a type that is not there", of: "www", type: "CAA", answer: ["www CNAME api"], authority: ["@ SOA …"] },
    { name: "out of the zone", of: "outside", type: "A", answer: ["outside CNAME elsewhere.test."] },
    {
      name: "to a name that does not exist (RFC 6604)",
      of: "dangling",
      type: "A",
      outcome: "NXDOMAIN AA",
      answer: ["dangling CNAME nothing.here"],
      authority: ["@ SOA …"],
    },
    { name: "in a circle", of: "round", type: "A", answer: ["round CNAME about", "about CNAME round"] },
    {
      name: "to a wildcard: the owner is what the alias says",
      of: "into-wild",
      type: "TXT",
      answer: ["into-wild CNAME any.thing.wild", 'any.thing.wild TXT "w"'],
    },
    {
      name: "below a name that exists and has no wildcard",
      of: "past-wild",
      type: "A",
      outcome: "NXDOMAIN AA",
      answer: ["past-wild CNAME some.thing.mail"],
      authority: ["@ SOA …"],
    },
    {
      name: "into a delegation: with AA, since the alias is ours",
      of: "into-cut",
      type: "A",
      answer: ["into-cut CNAME deep.child"],
      authority: ["child NS ns1.child", "child NS mail", "child NS ns.elsewhere.test."],
      additional: ["ns1.child A 192.0.2.53", "ns1.child AAAA 2001:db8::53", "mail A 192.0.2.25"],
    },
    {
      name: "to a delegation, for DS, which is on our side of it (RFC 4035 §3.1.4.1)",
      of: "at-cut",
      type: "DS",
      answer: ["at-cut CNAME child", "child DS \\# 6 000108020a0b"],
    },
    {
      name: "to a delegation without DS, for DS",
      of: "at-bare",
      type: "DS",
      answer: ["at-bare CNAME bare"],
      authority: ["@ SOA …"],
    },
  ] as const;

  test.each(cases)("$name", ({ of, type, name: _, ...expected }) => {
    const whole = { outcome: "NOERROR AA", authority: [], additional: [], ...expected };
    expect(answerOf(of, type)).toEqual(whole);
  });

  test("is cut after 16 links", () => {
    const links = Array.from({ length: 20 }, (_, link) => `l${link} 60 IN CNAME l${link + 1}`);
    const long = live({ records: [...links, "l20 60 IN A 192.0.2.1"].join("\n") });
    expect(answerOf("l0", "A", long)).toMatchObject({ answer: { length: 16 }, authority: [] });
    expect(answerOf("l5", "A", long)).toMatchObject({ answer: { length: 16 } });
    expect(answerOf("l6", "A", long)).toMatchObject({ answer: { length: 15, 14: "l20 A 192.0.2.1" } });
  });
});

describe("a delegation", () => {
  const servers = ["child NS ns1.child", "child NS mail", "child NS ns.elsewhere.test."];

  test("is answered with a referral without AA, and the glue that it needs first", () => {
    const { node } = compileNode(ZONE, nameOf("child"));
    expect(node.below).toBe("fallback");
    const referral = node.fallback as CompiledAnswer;
    expect(read(referral, nameOf("child"))).toEqual({
      outcome: "NOERROR",
      answer: [],
      authority: servers,
      additional: ["ns1.child A 192.0.2.53", "ns1.child AAAA 2001:db8::53", "mail A 192.0.2.25"],
    });
    // What may be left out is the address of `mail`, which a resolver can ask for.
    expect(referral.requiredAdditional).toBe(2);
    expect(referral.requiredLength).toBeLessThan(referral.body.length);
  });

  test.each([
    { of: "child", answer: ["child DS \\# 6 000108020a0b"], authority: [] },
    { of: "bare", answer: [], authority: ["@ SOA …"] },
  ])("is answered with authority for DS: $of", ({ of, answer, authority }) => {
    expect(answerOf(of, "DS")).toEqual({ outcome: "NOERROR AA", answer, authority, additional: [] });
  });
});

describe("names below", () => {
  test.each([
    { name: "wild", below: "wildcard" },
    { name: "link", below: "wildcard" },
    { name: "mail", below: "nxdomain" },
    { name: "child", below: "fallback" },
    // A wildcard covers names below it too, and is itself the closest name that exists.
    { name: "*.wild", below: "nxdomain" },
  ])("$name: $below", ({ name, below }) => {
    expect(compileNode(ZONE, nameOf(name)).node.below).toBe(below);
  });

  test("a wildcard is compiled for the name it hangs from", () => {
    const { node } = compileNode(ZONE, nameOf("*.link"));
    const [alias] = node.types.map(({ answer }) => answer as CompiledAnswer);
    expect(alias?.baseLength).toBe(nameOf("link").length);
  });

  test("a name too long for a wildcard below it has none", () => {
    const label = "x".repeat(63);
    const owner = `${label}.${label}.${label}.${"y".repeat(254 - 3 * 64 - 1 - APEX.length)}`;
    const long = live({ records: `${owner} 60 IN A 192.0.2.1` });
    expect(nameOf(owner).length).toBeGreaterThan(253);
    expect(compileNode(long, nameOf(owner)).node.below).toBe("nxdomain");
  });

  test.each([
    ["*.wild", true],
    ["wild", false],
    ["*x.wild", false],
    ["x.*.wild", false],
  ])("%s is a wildcard: %s", (text, expected) => {
    expect(isWildcard(nameOf(text))).toBe(expected);
  });
});

describe("ANY is answered with one RRset", () => {
  test.each([
    { of: "api", type: "A" },
    { of: "www", type: "CNAME" },
    { of: "mail", type: "A" },
    { of: "@", type: "NS" },
    { of: "*.wild", type: "TXT" },
  ] as const)("$of: $type", ({ of, type }) => {
    expect(compileNode(ZONE, nameOf(of)).node.anyType).toBe(TYPE[type]);
  });

  test.each(["wild", "child"])("or as any other type, where there is none to choose: %s", (name) => {
    expect(compileNode(ZONE, nameOf(name)).node).not.toHaveProperty("anyType");
  });
});

describe("what a query changes", () => {
  const answersOf = (name: string, type: number): CompiledAnswer =>
    compileNode(ZONE, nameOf(name)).node.types.find((one) => one.type === type)?.answer as CompiledAnswer;

  test.each([
    { name: "an endpoint", of: "api", type: TYPE.A, count: 3, stride: 16 },
    { name: "the end of a chain", of: "twice", type: TYPE.A, count: 3, stride: 16 },
    { name: "the other family", of: "api", type: TYPE.AAAA, count: 1, stride: 28 },
    { name: "no addresses", of: "mail", type: TYPE.MX, count: 0, stride: 0 },
  ])("the order of addresses: $name", ({ of, type, count, stride }) => {
    expect(answersOf(of, type)).toMatchObject({
      rotationCount: count,
      rotationStride: stride,
      rotationSent: count,
    });
  });

  test("fewer addresses than there are, with maxAnswers", () => {
    const capped = live({ ...SKETCH, maxAnswers: 2 });
    const types = compileNode(capped, nameOf("www")).node.types;
    const answer = types.find(({ type }) => type === TYPE.A)?.answer;
    expect(answer).toMatchObject({ answerCount: 4, rotationCount: 3, rotationSent: 2 });
  });

  test.each([
    { name: "an SOA that was asked for", answer: answersOf("@", TYPE.SOA) },
    { name: "NODATA", answer: compileNodata(ZONE) },
    { name: "NXDOMAIN", answer: compileNxdomain(ZONE) },
  ])("the serial: $name", ({ answer }) => {
    const body = Buffer.from(answer.body);
    body.writeUInt32BE(4_294_967_295, answer.serialAt);
    const { answer: own, authority } = read({ ...answer, body }, APEX, (soa) => soa.split(" ")[2]);
    expect([...own, ...authority]).toEqual(["@ SOA 4294967295"]);
  });

  test("an answer without an SOA has no serial", () => {
    expect(answersOf("api", TYPE.A).serialAt).toBe(-1);
  });
});

test("NODATA and NXDOMAIN of the zone carry its SOA", () => {
  const negative = { answer: [], authority: ["@ SOA …"], additional: [] };
  expect(read(compileNodata(ZONE), APEX)).toEqual({ outcome: "NOERROR AA", ...negative });
  expect(read(compileNxdomain(ZONE), APEX)).toEqual({ outcome: "NXDOMAIN AA", ...negative });
});

describe("what an answer was made from, so that it is compiled again when that changes", () => {
  const shown = (names: Iterable<Name>) =>
    [...names].map((name) => formatName(name).replace(/\.?k8s\.example\.test\.?$/, "") || "@").sort();

  test.each([
    { of: "api", reads: ["api"], existence: ["*.api"] },
    { of: "twice", reads: ["api", "twice", "www", "@"], existence: ["*.twice", "api", "www"] },
    { of: "mail", reads: ["mail"], existence: ["*.mail"] },
    { of: "child", reads: ["child", "ns1.child", "mail"], existence: [] },
    { of: "dangling", reads: ["dangling", "@"], existence: ["*", "*.dangling", "here", "nothing.here", "@"] },
  ])("$of", ({ of, reads, existence }) => {
    const compilation = compileNode(ZONE, nameOf(of));
    expect(shown(compilation.reads.keys())).toEqual([...reads].sort());
    expect(shown(compilation.existence.keys())).toEqual([...existence].sort());
  });
});

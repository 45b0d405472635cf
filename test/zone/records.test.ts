import { describe, expect, test } from "vitest";
import { formatProblem } from "../../src/lib/errors.js";
import { typeText } from "../../src/wire/constants.js";
import { formatName, parseName } from "../../src/wire/name.js";
import { formatRdata } from "../../src/wire/rdata.js";
import { parseRecords } from "../../src/zone/records.js";

/** The text as if it began at line 11, column 3 of a file. */
function parse(text: string, zone = "k8s.example.com.") {
  return parseRecords(text, {
    origin: parseName(zone),
    defaultTtl: 5,
    locate: (line, column) => ({ file: "zone.yaml", line: line + 10, column: column + 2 }),
  });
}

/** Records as lines of text; the test fails if there were problems. */
function lines(text: string): string[] {
  const { records, problems } = parse(text);
  expect(problems.map(formatProblem)).toEqual([]);
  return records.map(
    ({ name, ttl, type, rdata }) => `${formatName(name)} ${ttl} ${typeText(type)} ${formatRdata(type, rdata)}`,
  );
}

const RIGHT = [
  { name: "all fields", text: "www 300 IN A 192.0.2.1", is: ["www.k8s.example.com. 300 A 192.0.2.1"] },
  { name: "class before TTL", text: "www IN 300 A 192.0.2.1", is: ["www.k8s.example.com. 300 A 192.0.2.1"] },
  { name: "neither", text: "www A 192.0.2.1", is: ["www.k8s.example.com. 5 A 192.0.2.1"] },
  { name: "lower case", text: "www in a 192.0.2.1", is: ["www.k8s.example.com. 5 A 192.0.2.1"] },
  { name: "CLASS1 and TYPE1", text: "www CLASS1 TYPE1 192.0.2.1", is: ["www.k8s.example.com. 5 A 192.0.2.1"] },
  { name: "units", text: "www 1h30m A 192.0.2.1", is: ["www.k8s.example.com. 5400 A 192.0.2.1"] },
  { name: "a day", text: "www 1D A 192.0.2.1", is: ["www.k8s.example.com. 86400 A 192.0.2.1"] },
  { name: "the least TTL", text: "www 1 A 192.0.2.1", is: ["www.k8s.example.com. 1 A 192.0.2.1"] },
  { name: "the apex", text: "@ TXT hello", is: ['k8s.example.com. 5 TXT "hello"'] },
  { name: "a whole name", text: "a.K8S.example.COM. TXT x", is: ['a.K8S.example.COM. 5 TXT "x"'] },
  { name: "a numeric owner", text: "300 300 TXT x", is: ['300.k8s.example.com. 300 TXT "x"'] },
  { name: "an owner that looks like a type", text: "A A 192.0.2.1", is: ["A.k8s.example.com. 5 A 192.0.2.1"] },
  { name: "an escaped $", text: "\\$ORIGIN TXT x", is: ['\\$ORIGIN.k8s.example.com. 5 TXT "x"'] },
  { name: "a wildcard", text: "*.w A 192.0.2.1", is: ["*.w.k8s.example.com. 5 A 192.0.2.1"] },
  {
    name: "the owner before",
    text: "www A 192.0.2.1\n\n; nothing\n\tA 192.0.2.2\n  300 TXT x",
    is: [
      "www.k8s.example.com. 5 A 192.0.2.1",
      "www.k8s.example.com. 5 A 192.0.2.2",
      'www.k8s.example.com. 300 TXT "x"',
    ],
  },
  {
    name: "parentheses and comments",
    text: 'srv SRV ( 0 0 ; order\n2379 ; port\n  db ) ; end\nt TXT ("a;b"\n"(c")',
    is: ["srv.k8s.example.com. 5 SRV 0 0 2379 db.k8s.example.com.", 't.k8s.example.com. 5 TXT "a;b" "(c"'],
  },
  {
    name: "line ends of Windows",
    text: "a TXT x\r\nb TXT y\r\n",
    is: ['a.k8s.example.com. 5 TXT "x"', 'b.k8s.example.com. 5 TXT "y"'],
  },
  { name: "strings that touch", text: 't TXT "a""b"c', is: ['t.k8s.example.com. 5 TXT "a" "b" "c"'] },
  { name: "a delegation", text: "child NS ns.example.net.", is: ["child.k8s.example.com. 5 NS ns.example.net."] },
  {
    name: "DS of a child",
    text: "child TYPE43 \\# 4 abcd0802",
    is: ["child.k8s.example.com. 5 DS \\# 4 abcd0802"],
  },
  {
    name: "an unknown type",
    text: "x TYPE65280 \\# ( 4 0102\n 0304 )",
    is: ["x.k8s.example.com. 5 TYPE65280 \\# 4 01020304"],
  },
  {
    name: "MX, PTR, CAA, CNAME, AAAA",
    text: "m MX 1 @\np PTR h\nc CAA 0 issue ca\nn CNAME h\nq AAAA 2001:db8::1",
    is: [
      "m.k8s.example.com. 5 MX 1 k8s.example.com.",
      "p.k8s.example.com. 5 PTR h.k8s.example.com.",
      'c.k8s.example.com. 5 CAA 0 issue "ca"',
      "n.k8s.example.com. 5 CNAME h.k8s.example.com.",
      "q.k8s.example.com. 5 AAAA 2001:db8::1",
    ],
  },
  { name: "nothing", text: "\n  \n;\n", is: [] },
] as const;

test.each(RIGHT)("reads $name", ({ text, is }) => {
  expect(lines(text)).toEqual(is);
});

test("a record says where its line begins", () => {
  expect(parse("\n  \nwww A 192.0.2.1\n   A 192.0.2.2").records.map(({ position }) => position)).toEqual([
    { file: "zone.yaml", line: 13, column: 3 },
    { file: "zone.yaml", line: 14, column: 6 },
  ]);
});

// Line and column in the text, from 1.
const WRONG = [
  { text: "www 0 A 192.0.2.1", at: "1:5", code: "RECORD_TTL", says: '"0": some resolvers' },
  { text: "www 86401 A 192.0.2.1", at: "1:5", code: "RECORD_TTL", says: "more than a day" },
  { text: "www 2147483648 A 192.0.2.1", at: "1:5", code: "RECORD_TTL", says: "31 bits" },
  { text: "www -5 A 192.0.2.1", at: "1:5", code: "RECORD_TTL", says: "whole number" },
  { text: "www 1h30 A 192.0.2.1", at: "1:5", code: "RECORD_TTL", says: "whole number" },
  { text: "www 2d A 192.0.2.1", at: "1:5", code: "RECORD_TTL", says: "more than a day" },
  { text: "www 5 IN 5 A 192.0.2.1", at: "1:10", code: "RECORD_TYPE_UNKNOWN", says: '"5" stands where' },
  { text: "A 192.0.2.1", at: "1:3", code: "RECORD_TYPE_UNKNOWN", says: '"192.0.2.1" stands where' },
  { text: "www CH TXT x", at: "1:5", code: "RECORD_CLASS", says: '"CH"' },
  { text: "www 5 hs TXT x", at: "1:7", code: "RECORD_CLASS", says: '"hs"' },
  { text: "www CLASS3 TXT x", at: "1:5", code: "RECORD_CLASS", says: '"CLASS3"' },
  { text: "www IN HTTPS 1 .", at: "1:8", code: "RECORD_TYPE_UNKNOWN", says: '"HTTPS"' },
  { text: "www TYPE65536 \\# 0", at: "1:5", code: "RECORD_TYPE_UNKNOWN", says: '"TYPE65536"' },
  { text: 'www "A" 192.0.2.1', at: "1:5", code: "RECORD_TYPE_UNKNOWN", says: '"A"' },
  { text: "www TYPE65 1 .", at: "1:12", code: "RECORD_GENERIC", says: "TYPE65" },
  { text: "www 300 IN", at: "1:9", code: "RECORD_TYPE_MISSING", says: "no type" },
  { text: "www", at: "1:1", code: "RECORD_TYPE_MISSING", says: "no type" },
  { text: "www A", at: "1:5", code: "RECORD_FIELD_MISSING", says: "lacks its address" },
  { text: "www A 192.0.2.1 x", at: "1:17", code: "RECORD_FIELD_SURPLUS", says: '"x"' },
  { text: "www MX ten mail", at: "1:8", code: "RECORD_NUMBER", says: '"ten"' },
  { text: "www A 192.0.2.01", at: "1:7", code: "RECORD_ADDRESS", says: '"192.0.2.01"' },
  { text: "@ SOA ns h 1 2 3 4 5", at: "1:3", code: "RECORD_SOA", says: "`soa:`" },
  { text: "@ NS ns.example.net.", at: "1:3", code: "RECORD_APEX_NS", says: "`nameservers:`" },
  { text: "K8S.example.com. 5 NS ns", at: "1:20", code: "RECORD_APEX_NS", says: "`nameservers:`" },
  { text: "@ TYPE43 \\# 4 abcd0802", at: "1:3", code: "RECORD_APEX_DS", says: "parent zone" },
  { text: "www TYPE41 \\# 0", at: "1:5", code: "RECORD_TYPE_REFUSED", says: "OPT" },
  { text: "www ANY x", at: "1:5", code: "RECORD_TYPE_REFUSED", says: "ANY" },
  { text: "www AXFR", at: "1:5", code: "RECORD_TYPE_REFUSED", says: "AXFR" },
  { text: "www TYPE250 \\# 0", at: "1:5", code: "RECORD_TYPE_REFUSED", says: "TSIG" },
  { text: "www TYPE0 \\# 0", at: "1:5", code: "RECORD_TYPE_REFUSED", says: "TYPE0" },
  { text: "www RRSIG A", at: "1:5", code: "RECORD_TYPE_REFUSED", says: "unsigned" },
  { text: "www TYPE47 \\# 0", at: "1:5", code: "RECORD_TYPE_REFUSED", says: "NSEC belongs" },
  { text: "@ NSEC3PARAM 1 0 0 -", at: "1:3", code: "RECORD_TYPE_REFUSED", says: "unsigned" },
  { text: "www.example.com. A 192.0.2.1", at: "1:1", code: "RECORD_OUT_OF_ZONE", says: "not inside the zone" },
  { text: "a..b A 192.0.2.1", at: "1:1", code: "RECORD_OWNER_NAME", says: "empty label" },
  { text: '"www" A 192.0.2.1', at: "1:1", code: "RECORD_OWNER_NAME", says: "in quotes" },
  { text: "bücher A 192.0.2.1", at: "1:1", code: "RECORD_OWNER_NAME", says: "xn--" },
  { text: " A 192.0.2.1", at: "1:2", code: "RECORD_OWNER_MISSING", says: "white space" },
  { text: 'www TXT "open', at: "1:9", code: "RECORD_QUOTE_OPEN", says: "not closed" },
  { text: 'www TXT "open\\"', at: "1:9", code: "RECORD_QUOTE_OPEN", says: "not closed" },
  { text: "www TXT ( a\n b", at: "1:9", code: "RECORD_PARENTHESIS_OPEN", says: "not closed" },
  { text: "www TXT ((a))", at: "1:9", code: "RECORD_PARENTHESIS_OPEN", says: "not closed" },
  { text: "www TXT a )", at: "1:11", code: "RECORD_PARENTHESIS_STRAY", says: "closes none" },
  { text: 'www TXT "a\\256"', at: "1:11", code: "RECORD_ESCAPE", says: "above 255" },
  { text: "www TXT a\\12", at: "1:10", code: "RECORD_ESCAPE", says: "neither" },
  { text: "www TXT a\\", at: "1:10", code: "RECORD_ESCAPE", says: "neither" },
  { text: "$ORIGIN example.com.", at: "1:1", code: "RECORD_DIRECTIVE", says: "$ORIGIN is not read" },
  { text: "$ttl 5", at: "1:1", code: "RECORD_DIRECTIVE", says: "$TTL is not read" },
  { text: "$INCLUDE f", at: "1:1", code: "RECORD_DIRECTIVE", says: "$INCLUDE is not read" },
  { text: "$GENERATE 1-9 a$ A 192.0.2.$", at: "1:1", code: "RECORD_DIRECTIVE", says: "$GENERATE is not read" },
  { text: "$X 5", at: "1:1", code: "RECORD_DIRECTIVE", says: '"$X" is not a directive' },
  {
    text: "a 5 A 192.0.2.1\nA 9 A 192.0.2.2",
    at: "2:3",
    code: "RECORD_TTL_DIFFERS",
    says: "is 9, but 5 at zone.yaml:11",
  },
  {
    text: "a 9 A 192.0.2.1\na A 192.0.2.2",
    at: "2:1",
    code: "RECORD_TTL_DIFFERS",
    says: "is 5, but 9 at zone.yaml:11",
  },
  { text: "a MX 1 h\n\nA 9 MX 1 H", at: "3:1", code: "RECORD_DUPLICATE", says: "stands at zone.yaml:11" },
  { text: "a A 192.0.2.1\na TYPE1 \\# 4 c0000201", at: "2:1", code: "RECORD_DUPLICATE", says: "zone.yaml:11" },
] as const;

describe("says what is wrong and where", () => {
  test.each(WRONG)("$text", ({ text, at, code, says }) => {
    const { problems } = parse(text);
    const [problem] = problems;
    expect(problems.map(formatProblem)).toHaveLength(1);
    expect({ code: problem?.code, at: `${(problem?.line ?? 0) - 10}:${(problem?.column ?? 0) - 2}` }).toEqual({
      code,
      at,
    });
    expect(problem?.message).toContain(says);
    expect(problem?.message).toMatch(/\.$/);
    expect(problem?.remedy).toMatch(/^[A-Z].*\.$/);
    expect(problem?.severity).toBeUndefined();
  });
});

describe("goes on behind a mistake", () => {
  function placesOf(text: string): string[] {
    return parse(text).problems.map(({ line, code }) => `${line - 10} ${code}`);
  }

  test("with the next line", () => {
    const text = 'a A x\nb TXT "\nc A 192.0.2.1\nd TXT )\ne TTL\n A y';
    expect(placesOf(text)).toEqual([
      "1 RECORD_ADDRESS",
      "2 RECORD_QUOTE_OPEN",
      "4 RECORD_PARENTHESIS_STRAY",
      "5 RECORD_TYPE_UNKNOWN",
      "6 RECORD_ADDRESS",
    ]);
    expect(parse(text).records).toHaveLength(1);
  });

  test("lines that an open parenthesis swallowed are read, those meant to be in it are not", () => {
    expect(placesOf("a SRV ( 0 0\n   2379 b\nc A x\nd TXT ( e )\nf A y")).toEqual([
      "1 RECORD_PARENTHESIS_OPEN",
      "3 RECORD_ADDRESS",
      "5 RECORD_ADDRESS",
    ]);
    expect(placesOf("a SRV ( 0 0\nc A x\n")).toEqual(["1 RECORD_PARENTHESIS_OPEN", "2 RECORD_ADDRESS"]);
    expect(placesOf('a TXT ( "b\n  c\n)\nd A x')).toEqual(["1 RECORD_QUOTE_OPEN", "4 RECORD_ADDRESS"]);
  });

  test("lines that continue an owner which is none belong to nobody, but are read", () => {
    const text = "ok TXT x\na..b A 192.0.2.1\n  A 192.0.2.2\n  A x\nwww TXT \\999\n  TXT y";
    expect(placesOf(text)).toEqual(["2 RECORD_OWNER_NAME", "4 RECORD_ADDRESS", "5 RECORD_ESCAPE"]);
    expect(parse(text).records.map(({ name }) => formatName(name))).toEqual(["ok.k8s.example.com."]);
  });

  test("in time that does not explode with the number of open parentheses", () => {
    const { problems } = parse("a TXT (\n".repeat(20_000));
    expect(problems).toHaveLength(20_000);
  });
});

describe("warns of a name that repeats the zone's", () => {
  test.each([
    ["www.k8s.example.com A 192.0.2.1", 3],
    ["www CNAME b.k8s.example.com", 13],
    ["www MX 1 K8S.EXAMPLE.COM", 12],
  ])("%s", (text, column) => {
    const { records, problems } = parse(text);
    expect(records).toHaveLength(1);
    expect(problems).toMatchObject([{ code: "RECORD_NAME_DOUBLED", severity: "warning", line: 11, column }]);
  });

  test("but not with a dot at its end, nor in the root zone, nor in data that is no name", () => {
    expect(lines("a.k8s.example.com.k8s.example.com. TXT k8s.example.com")).toHaveLength(1);
    expect(parse("a NS b", ".").problems).toEqual([]);
  });
});

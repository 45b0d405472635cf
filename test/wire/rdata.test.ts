import { Packet } from "dns2";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TYPE, typeText } from "../../src/wire/constants.js";
import { type Name, parseName, ROOT } from "../../src/wire/name.js";
import { checkRdata, embeddedNames, formatGeneric, formatRdata, parseRdata, rdataKey } from "../../src/wire/rdata.js";
import { RdataError, type Token } from "../../src/wire/rdata-text.js";
import { readEntries } from "../../src/zone/master-file.js";

const origin = parseName("example.com.");

function words(text: string): readonly Token[] {
  const [entry, ...rest] = readEntries(text);
  if (rest.length > 0 || entry?.mistake !== undefined) throw new Error(`not one entry: ${text}`);
  return entry?.tokens ?? [];
}

function hex(octets: Uint8Array): string {
  return Buffer.from(octets).toString("hex");
}

function unhex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
}

/** Octets of ASCII text, for tables. */
function ascii(text: string): string {
  return Buffer.from(text, "latin1").toString("hex");
}

const EXAMPLE_COM = `07${ascii("example")}03${ascii("com")}00`;

// Octets written by hand from the RFC of each type.
const LINES = [
  { type: TYPE.A, text: "192.0.2.20", octets: "c0000214" },
  { type: TYPE.A, text: "0.0.0.0", octets: "00000000" },
  { type: TYPE.AAAA, text: "2001:db8::20", octets: "20010db8000000000000000000000020" },
  { type: TYPE.AAAA, text: "::", octets: "00000000000000000000000000000000" },
  { type: TYPE.AAAA, text: "::ffff:192.0.2.1", octets: "00000000000000000000ffffc0000201" },
  { type: TYPE.AAAA, text: "2001:DB8:0:0:1::1", octets: "20010db8000000000001000000000001" },
  { type: TYPE.NS, text: "ns1", octets: `03${ascii("ns1")}${EXAMPLE_COM}` },
  { type: TYPE.CNAME, text: "@", octets: EXAMPLE_COM },
  { type: TYPE.CNAME, text: "Www.Example.NET.", octets: `03${ascii("Www")}07${ascii("Example")}03${ascii("NET")}00` },
  { type: TYPE.PTR, text: "a\\.b", octets: `03${ascii("a.b")}${EXAMPLE_COM}` },
  {
    type: TYPE.SOA,
    text: "@ h.@example.com. 4294967295 7200 900 1209600 5",
    octets: `${EXAMPLE_COM}01${ascii("h")}08${ascii("@example")}03${ascii("com")}00ffffffff00001c20000003840012750000000005`,
  },
  { type: TYPE.MX, text: "10 mail", octets: `000a04${ascii("mail")}${EXAMPLE_COM}` },
  { type: TYPE.MX, text: "0 .", octets: "000000" },
  { type: TYPE.SRV, text: "1 2 2379 registry", octets: `00010002094b08${ascii("registry")}${EXAMPLE_COM}` },
  { type: TYPE.SRV, text: "65535 65535 65535 .", octets: "ffffffffffff00" },
  { type: TYPE.TXT, text: '"v=spf1 -all"', octets: `0b${ascii("v=spf1 -all")}` },
  { type: TYPE.TXT, text: 'one "two;2" ""', octets: `03${ascii("one")}05${ascii("two;2")}00` },
  { type: TYPE.TXT, text: '"\\"\\\\\\009\\255"', octets: "04225c09ff" },
  { type: TYPE.TXT, text: "a\\;b\\ c", octets: `05${ascii("a;b c")}` },
  { type: TYPE.TXT, text: '"é€\\😀"', octets: "09c3a9e282acf09f9880" },
  { type: TYPE.CAA, text: '0 issue "ca.example.net"', octets: `0005${ascii("issue")}${ascii("ca.example.net")}` },
  { type: TYPE.CAA, text: '128 issuewild ";"', octets: `8009${ascii("issuewild")}3b` },
  { type: TYPE.CAA, text: '0 iodef ""', octets: `0005${ascii("iodef")}` },
] as const;

describe("record data in text becomes octets", () => {
  test.each(LINES)("$type $text", ({ type, text, octets }) => {
    expect(hex(parseRdata(type, words(text), origin))).toBe(octets);
  });

  test.each(LINES)("the generic form says the same: $type $text", ({ type, octets }) => {
    expect(hex(parseRdata(type, words(`\\# ${octets.length / 2} ${octets}`), origin))).toBe(octets);
  });

  test.each(LINES)("and back, with absolute names: $type $text", ({ type, octets }) => {
    const text = formatRdata(type, unhex(octets));
    expect(text).not.toContain("\\#");
    expect(hex(parseRdata(type, words(text), ROOT))).toBe(octets);
  });

  test("hexadecimal may come in several words and cases", () => {
    expect(hex(parseRdata(65280, words("\\# 4 C0 00021 4"), origin))).toBe("c0000214");
    expect(hex(parseRdata(65280, words("\\# 0"), origin))).toBe("");
  });

  test("an unknown type is written in the generic form, and so are octets that do not fit", () => {
    expect(formatRdata(65280, unhex("abcd"))).toBe("\\# 2 abcd");
    expect(formatRdata(65280, unhex(""))).toBe("\\# 0");
    expect(formatRdata(TYPE.A, unhex("c00002"))).toBe("\\# 3 c00002");
  });

  test.each([
    [TYPE.AAAA, "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    [TYPE.MX, "10 mail", "10 mail.example.com."],
    [TYPE.TXT, 'a\\;b "\\009\\""', '"a;b" "\\009\\""'],
    [TYPE.CAA, "0 issue ca.example.net", '0 issue "ca.example.net"'],
  ])("the text is canonical: %i %s", (type, text, canonical) => {
    expect(formatRdata(type, parseRdata(type, words(text), origin))).toBe(canonical);
  });
});

// `at`: the word at fault, from 0; undefined where words are missing.
const MISTAKES = [
  { type: TYPE.A, text: "010.0.0.1", code: "RECORD_ADDRESS", at: 0 },
  { type: TYPE.A, text: "192.0.2", code: "RECORD_ADDRESS", at: 0 },
  { type: TYPE.A, text: "192.0.2.256", code: "RECORD_ADDRESS", at: 0 },
  { type: TYPE.A, text: "0x7f.0.0.1", code: "RECORD_ADDRESS", at: 0 },
  { type: TYPE.A, text: '"192.0.2.1"', code: "RECORD_ADDRESS", at: 0 },
  { type: TYPE.A, text: "2001:db8::1", code: "RECORD_ADDRESS", at: 0, remedy: "AAAA" },
  { type: TYPE.A, text: "192.0.2.1 192.0.2.2", code: "RECORD_FIELD_SURPLUS", at: 1 },
  { type: TYPE.AAAA, text: "fe80::1%eth0", code: "RECORD_ADDRESS", at: 0, remedy: "zone id" },
  { type: TYPE.AAAA, text: "[2001:db8::1]", code: "RECORD_ADDRESS", at: 0 },
  { type: TYPE.AAAA, text: "2001:db8::1::2", code: "RECORD_ADDRESS", at: 0 },
  { type: TYPE.AAAA, text: "192.0.2.1", code: "RECORD_ADDRESS", at: 0, remedy: "type A " },
  { type: TYPE.MX, text: "mail", code: "RECORD_NUMBER", at: 0 },
  { type: TYPE.MX, text: "65536 mail", code: "RECORD_NUMBER", at: 0 },
  { type: TYPE.MX, text: "10", code: "RECORD_FIELD_MISSING", at: undefined, remedy: "MX <preference> <exchange>" },
  { type: TYPE.MX, text: "10 a..b", code: "RECORD_NAME", at: 1 },
  { type: TYPE.SRV, text: "0 0 -1 registry", code: "RECORD_NUMBER", at: 2 },
  { type: TYPE.CNAME, text: '"www"', code: "RECORD_NAME", at: 0 },
  { type: TYPE.CNAME, text: `${"a".repeat(64)}`, code: "RECORD_NAME", at: 0 },
  { type: TYPE.SOA, text: "@ h 4294967296 1 1 1 1", code: "RECORD_NUMBER", at: 2 },
  { type: TYPE.TXT, text: "", code: "RECORD_FIELD_MISSING", at: undefined },
  { type: TYPE.TXT, text: `short ${"a".repeat(256)}`, code: "RECORD_STRING", at: 1 },
  { type: TYPE.TXT, text: Array(257).fill("a".repeat(255)).join(" "), code: "RECORD_TOO_LONG", at: 0 },
  { type: TYPE.CAA, text: "256 issue ca", code: "RECORD_NUMBER", at: 0 },
  { type: TYPE.CAA, text: "0 is-sue ca", code: "RECORD_CAA_TAG", at: 1 },
  { type: TYPE.CAA, text: "0 issue", code: "RECORD_FIELD_MISSING", at: undefined },
  { type: 65280, text: "abcd", code: "RECORD_GENERIC", at: 0 },
  { type: 65280, text: "\\#", code: "RECORD_GENERIC", at: 0 },
  { type: 65280, text: "\\# x", code: "RECORD_GENERIC", at: 1 },
  { type: 65280, text: "\\# 65536", code: "RECORD_GENERIC", at: 1 },
  { type: 65280, text: "\\# 2 abc", code: "RECORD_GENERIC", at: 1 },
  { type: 65280, text: "\\# 2 ab xy", code: "RECORD_GENERIC", at: 3 },
  { type: TYPE.A, text: "\\# 3 c00002", code: "RECORD_GENERIC", at: 2 },
  { type: TYPE.CNAME, text: "\\# 2 c00c", code: "RECORD_GENERIC", at: 2 },
] as const;

describe("record data that cannot be", () => {
  test.each(MISTAKES)("$type $text", ({ type, text, code, at, ...rest }) => {
    const tokens = text === "" ? [] : words(text);
    let thrown: unknown;
    try {
      parseRdata(type, tokens, origin);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(RdataError);
    const { code: got, token, message, remedy } = thrown as RdataError;
    expect(got).toBe(code);
    expect(token).toBe(at === undefined ? undefined : tokens[at]);
    if ("remedy" in rest) expect(`${message} ${remedy}`).toContain(rest.remedy);
  });
});

describe("wire form", () => {
  test.each([
    [TYPE.A, "c0000214", undefined],
    [TYPE.A, "c00002", "address: it ends 1 octets too early"],
    [TYPE.A, "c000021400", "1 octets too many"],
    [TYPE.TXT, "", "string: a string is missing"],
    [TYPE.TXT, "0361", "string: it ends 2 octets too early"],
    [TYPE.TXT, "016100", undefined],
    [TYPE.MX, "000a", "exchange: the name runs past the end of the message"],
    [TYPE.SRV, "000000000000c000", "target: a name is compressed"],
    [TYPE.NS, `02616200${"00"}`, "1 octets too many"],
    [TYPE.CAA, "0000", "tag: the tag is not made of ASCII letters and digits"],
    [TYPE.CAA, "0002612d", "tag: the tag is not made of ASCII letters and digits"],
    [TYPE.CAA, "00056973", "tag: the tag is cut off"],
    [65280, "", undefined],
  ])("type %i, %s: %s", (type, octets, flaw) => {
    expect(checkRdata(type, unhex(octets))).toBe(flaw);
  });

  test("more than RDLENGTH can say is refused for every type", () => {
    expect(checkRdata(65280, new Uint8Array(65_535))).toBeUndefined();
    expect(checkRdata(65280, new Uint8Array(65_536))).toContain("65535");
  });

  test("arbitrary octets are judged without an exception, and sound ones are written and read back", () => {
    const types = [...new Set(LINES.map(({ type }) => type)), 65280];
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.uint8Array({ maxLength: 40 }), (type, octets) => {
        const text = formatRdata(type, octets);
        if (checkRdata(type, octets) === undefined) {
          expect(hex(parseRdata(type, words(text), origin))).toBe(hex(octets));
        } else {
          expect(text).toBe(formatGeneric(octets));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("names inside record data", () => {
  test.each([
    [TYPE.A, "192.0.2.1", []],
    [TYPE.NS, "b.", [{ offset: 0, length: 3, compressible: true }]],
    [TYPE.CNAME, "b.", [{ offset: 0, length: 3, compressible: true }]],
    [TYPE.PTR, "b.", [{ offset: 0, length: 3, compressible: true }]],
    [TYPE.MX, "1 b.", [{ offset: 2, length: 3, compressible: true }]],
    [TYPE.SRV, "1 2 3 b.", [{ offset: 6, length: 3, compressible: false }]],
    [
      TYPE.SOA,
      "b. cd. 1 2 3 4 5",
      [
        { offset: 0, length: 3, compressible: true },
        { offset: 3, length: 4, compressible: true },
      ],
    ],
    [TYPE.TXT, "b.", []],
    [TYPE.CAA, "0 issue b.", []],
    [65280, "\\# 3 016200", []],
  ])("type %i, %s", (type, text, names) => {
    expect(embeddedNames(type, parseRdata(type, words(text), origin))).toEqual(names);
  });

  test.each([
    [TYPE.MX, "10 Mail", "10 mail", true],
    [TYPE.MX, "10 mail", "20 mail", false],
    [TYPE.SRV, "0 0 1 A", "0 0 1 a", true],
    [TYPE.TXT, "Mail", "mail", false],
    [65280, "\\# 1 41", "\\# 1 61", false],
  ])("letter case counts outside names only: type %i, %s, %s", (type, left, right, same) => {
    const [a, b] = [left, right].map((text) => rdataKey(type, parseRdata(type, words(text), origin)));
    expect(a === b).toBe(same);
  });
});

const label = fc.uint8Array({ minLength: 1, maxLength: 20 });
const name = fc
  .array(label, { maxLength: 5 })
  .map((labels) => Buffer.concat([...labels.map((octets) => Buffer.of(octets.length, ...octets)), Buffer.of(0)]));
const u16 = fc.uint8Array({ minLength: 2, maxLength: 2 });
const u32 = fc.uint8Array({ minLength: 4, maxLength: 4 });
const tag = fc.stringMatching(/^[A-Za-z0-9]{1,15}$/).map((text) => Buffer.of(text.length, ...Buffer.from(text)));
const string = fc.uint8Array({ maxLength: 255 }).map((octets) => Buffer.of(octets.length, ...octets));

const RDATA = [
  { type: TYPE.A, fields: [u32] },
  { type: TYPE.AAAA, fields: [u32, u32, u32, u32] },
  { type: TYPE.NS, fields: [name] },
  { type: TYPE.CNAME, fields: [name] },
  { type: TYPE.PTR, fields: [name] },
  { type: TYPE.SOA, fields: [name, name, u32, u32, u32, u32, u32] },
  { type: TYPE.MX, fields: [u16, name] },
  { type: TYPE.SRV, fields: [u16, u16, u16, name] },
  { type: TYPE.TXT, fields: [string, string] },
  { type: TYPE.CAA, fields: [fc.uint8Array({ minLength: 1, maxLength: 1 }), tag, fc.uint8Array({ maxLength: 300 })] },
  { type: 65280, fields: [fc.uint8Array({ maxLength: 300 })] },
];

describe("octets → text → octets → text is steady", () => {
  test.each(RDATA)("type $type", ({ type, fields }) => {
    fc.assert(
      fc.property(fc.tuple(...fields), (parts) => {
        const octets = Uint8Array.from(Buffer.concat(parts));
        const text = formatRdata(type, octets);
        expect(text.startsWith("\\#")).toBe(type === 65280);
        const again = parseRdata(type, words(text), origin);
        expect(hex(again)).toBe(hex(octets));
        expect(formatRdata(type, again)).toBe(text);
        expect(hex(parseRdata(type, words(formatGeneric(octets)), origin))).toBe(hex(octets));
      }),
      { numRuns: 200 },
    );
  });
});

// An independent decoder must find in the octets what the text says.
const SEEN_BY_DNS2 = [
  { type: TYPE.A, text: "192.0.2.20", seen: { address: "192.0.2.20" } },
  { type: TYPE.AAAA, text: "2001:db8::20", seen: { address: "2001:db8::20" } },
  { type: TYPE.NS, text: "ns1", seen: { ns: "ns1.example.com" } },
  { type: TYPE.CNAME, text: "www", seen: { domain: "www.example.com" } },
  { type: TYPE.MX, text: "10 mail", seen: { priority: 10, exchange: "mail.example.com" } },
  {
    type: TYPE.SRV,
    text: "1 2 2379 registry",
    seen: { priority: 1, weight: 2, port: 2379, target: "registry.example.com" },
  },
  { type: TYPE.TXT, text: '"v=spf1 -all"', seen: { data: ["v=spf1 -all"] } },
  { type: TYPE.CAA, text: '0 issue "ca.example.net"', seen: { flags: 0, tag: "issue", value: "ca.example.net" } },
] as const;

describe("dns2 reads the same from a message", () => {
  test.each(SEEN_BY_DNS2)("$type $text", ({ type, text, seen }) => {
    expect(Packet.parse(message(origin, type, parseRdata(type, words(text), origin))).answers).toMatchObject([seen]);
  });

  test("every type but SOA and PTR is compared", () => {
    const known = new Set(LINES.map((line) => typeText(line.type)));
    for (const { type } of SEEN_BY_DNS2) known.delete(typeText(type));
    expect([...known].sort()).toEqual(["PTR", "SOA"]);
  });
});

/** A reply without a question, with one answer. */
function message(owner: Name, type: number, rdata: Uint8Array): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(300, 4);
  fixed.writeUInt16BE(rdata.length, 8);
  return Buffer.concat([unhex("0001 8400 0000 0001 0000 0000"), Buffer.from(owner, "latin1"), fixed, rdata]);
}

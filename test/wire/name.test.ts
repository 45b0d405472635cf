import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatName,
  isWithin,
  labelCount,
  labelsOf,
  lowerName,
  type Name,
  NameError,
  nameOctets,
  nameWithoutDot,
  parentName,
  parseName,
  prependLabels,
  ROOT,
  readName,
} from "../../src/wire/name.js";

const origin = parseName("example.com.");

/** Any domain name: up to 255 octets of any kind. */
const anyName = fc.array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { maxLength: 127 }).map((labels) => {
  let wire = "";
  for (const label of labels) {
    const next = String.fromCharCode(label.length, ...label);
    if (wire.length + next.length + 1 > 255) break;
    wire += next;
  }
  return `${wire}\0` as Name;
});

describe("parseName", () => {
  test.each([
    { text: "@", wire: "\x07example\x03com\0" },
    { text: ".", wire: "\0" },
    { text: "www", wire: "\x03www\x07example\x03com\0" },
    { text: "www.", wire: "\x03www\0" },
    { text: "a.b", wire: "\x01a\x01b\x07example\x03com\0" },
    { text: "a\\.b.", wire: "\x03a.b\0" },
    { text: "\\097\\.", wire: "\x02a.\x07example\x03com\0" },
    { text: "\\@.", wire: "\x01@\0" },
    { text: "\\000\\255.", wire: "\x02\x00\xff\0" },
    { text: "*", wire: "\x01*\x07example\x03com\0" },
    { text: `${"x".repeat(63)}.`, wire: `\x3f${"x".repeat(63)}\0` },
  ])("reads $text", ({ text, wire }) => {
    expect(parseName(text, origin)).toBe(wire);
  });

  test.each([
    { text: "", why: "empty" },
    { text: "a..b", why: "empty label" },
    { text: ".a", why: "empty label" },
    { text: "a..", why: "empty label" },
    { text: `${"x".repeat(64)}`, why: "64 octets" },
    { text: `${"a.".repeat(121)}b`, why: "257 octets" },
    { text: "\\256", why: "above 255" },
    { text: "\\25", why: "neither" },
    { text: "a\\", why: "neither" },
    { text: "bücher", why: "xn--" },
    { text: "a\\ü", why: "xn--" },
  ])("refuses $text", ({ text, why }) => {
    expect(() => parseName(text, origin)).toThrow(NameError);
    expect(() => parseName(text, origin)).toThrow(why);
  });

  test("reads back whatever formatName writes", () => {
    fc.assert(fc.property(anyName, (name) => parseName(formatName(name)) === name));
  });
});

test.each([
  ["\\000\\255.", "\x02\x00\xff\0"],
  ["a\\.b.", "\x03a.b\0"],
  ['\\@\\$\\;\\(\\)\\"\\\\.', '\x07@$;()"\\\0'],
  ["\\032.", "\x01 \0"],
])("formatName writes %s", (text, wire) => {
  expect(formatName(wire as Name)).toBe(text);
});

test("lowerName changes ASCII letters only", () => {
  const octets = Array.from({ length: 256 }, (_, octet) => String.fromCharCode(octet));
  for (const octet of octets) {
    const expected = /[A-Z]/.test(octet) ? octet.toLowerCase() : octet;
    expect(lowerName(`\x01${octet}\0` as Name)).toBe(`\x01${expected}\0`);
  }
});

test("labels, parents and prefixes are three views of one thing", () => {
  fc.assert(
    fc.property(anyName, (name) => {
      const labels = labelsOf(name);
      expect(labelCount(name)).toBe(labels.length);
      expect(prependLabels(labels, ROOT)).toBe(name);
      const parent = parentName(name);
      if (name === ROOT) expect(parent).toBeUndefined();
      else expect(labelsOf(parent as Name)).toEqual(labels.slice(1));
    }),
  );
});

test("prependLabels refuses what gets too long", () => {
  const long = parseName(`${"a.".repeat(126)}`);
  expect(() => prependLabels(["bb"], long)).toThrow("256 octets");
  expect(prependLabels(["b"], long)).toHaveLength(255);
});

test.each([
  { name: "example.com.", ancestor: "example.com.", is: true },
  { name: "www.EXAMPLE.com.", ancestor: "example.COM.", is: true },
  { name: "xexample.com.", ancestor: "example.com.", is: false },
  { name: "com.", ancestor: "example.com.", is: false },
  { name: "x.y\\.example.com.", ancestor: "example.com.", is: false },
  { name: "anything.", ancestor: ".", is: true },
  { name: ".", ancestor: ".", is: true },
  { name: ".", ancestor: "a.", is: false },
])("$name within $ancestor: $is", ({ name, ancestor, is }) => {
  expect(isWithin(parseName(name), parseName(ancestor))).toBe(is);
});

describe("readName", () => {
  const bytes = (...octets: readonly (number | string)[]) =>
    Uint8Array.from(
      octets.flatMap((octet) => (typeof octet === "string" ? [...Buffer.from(octet, "latin1")] : [octet])),
    );

  test("reads what nameOctets writes, at any offset", () => {
    fc.assert(
      fc.property(anyName, fc.uint8Array({ maxLength: 20 }), (name, before) => {
        const message = Uint8Array.from([...before, ...nameOctets(name), 1, 2, 3]);
        expect(readName(message, before.length)).toEqual({ name, end: before.length + name.length });
      }),
    );
  });

  test("follows pointers and ends behind the first", () => {
    const message = bytes(3, "com", 0, 7, "Example", 0xc0, 0, 3, "www", 0xc0, 5, 99);
    expect(readName(message, 15)).toEqual({ name: "\x03www\x07Example\x03com\0", end: 21 });
  });

  test.each([
    { name: "a pointer to itself", message: bytes(0xc0, 0), why: "backwards" },
    { name: "a pointer forwards", message: bytes(0xc0, 2, 0), why: "backwards" },
    { name: "a loop of two pointers", message: bytes(0xc0, 2, 0xc0, 0), at: 2, why: "backwards" },
    { name: "a loop through a label", message: bytes(1, "a", 0xc0, 0), why: "backwards" },
    { name: "a cut pointer", message: bytes(0xc0), why: "cut off" },
    { name: "a cut label", message: bytes(5, "abc"), why: "past the end" },
    { name: "no end", message: bytes(1, "a"), why: "past the end" },
    { name: "an extended label type", message: bytes(0x41, 0), why: "reserved" },
    { name: "the other reserved label type", message: bytes(0x80, 0), why: "reserved" },
    { name: "256 octets", message: bytes(...Array(127).fill([1, "a"]).flat(), 1, "b", 0), why: "more than 255" },
  ])("refuses $name", ({ message, why, at = 0 }) => {
    expect(() => readName(message, at)).toThrow(why);
  });

  test("throws nothing but NameError, whatever the octets", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 600 }), fc.nat(599), (message, at) => {
        try {
          const { name, end } = readName(message, at % message.length);
          expect(name.length).toBeLessThanOrEqual(255);
          expect(end).toBeLessThanOrEqual(message.length);
        } catch (error) {
          expect(error).toBeInstanceOf(NameError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

test.each([
  ["k8s.example.com.", "k8s.example.com"],
  [".", ""],
])("nameWithoutDot writes %s as %o", (absolute, text) => {
  expect(nameWithoutDot(parseName(absolute))).toBe(text);
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSerialNewer, nextSerial } from "../../src/zone/serial.js";

const HALF = 2 ** 31;
const END = 2 ** 32;

describe("nextSerial", () => {
  test.each([
    { name: "the first is the time", last: undefined, seconds: 1_700_000_000, next: 1_700_000_000 },
    { name: "later, it is the time again", last: 1_700_000_000, seconds: 1_700_000_007, next: 1_700_000_007 },
    { name: "in the same second it is one more", last: 1_700_000_000, seconds: 1_700_000_000, next: 1_700_000_001 },
    { name: "ahead of the time it is one more", last: 1_700_000_500, seconds: 1_700_000_007, next: 1_700_000_501 },
    { name: "it wraps", last: END - 1, seconds: END - 10, next: 0 },
    { name: "after the wrap the time leads again", last: END - 5, seconds: END + 3, next: 3 },
  ])("$name", ({ last, seconds, next }) => {
    expect(nextSerial(last, seconds * 1_000 + 999)).toBe(next);
  });

  test("never stands still, whatever the clock does", () => {
    let last = nextSerial(undefined, 1_000_000);
    for (const seconds of [1_000, 999, 5, 1_001, 1_001, 1_001, 0, 2_000]) {
      const next = nextSerial(last, seconds * 1_000);
      expect(isSerialNewer(next, last)).toBe(true);
      last = next;
    }
  });
});

describe("one of several primaries", () => {
  test.each([
    {
      name: "its first is the next that fits",
      last: undefined,
      seconds: 1_700_000_001,
      modulo: "0/2",
      next: 1_700_000_002,
    },
    { name: "or the time itself", last: undefined, seconds: 1_700_000_001, modulo: "1/2", next: 1_700_000_001 },
    {
      name: "in the same second it is one share further",
      last: 1_700_000_002,
      seconds: 1_700_000_001,
      modulo: "0/2",
      next: 1_700_000_004,
    },
    {
      name: "it leaves a serial that another used",
      last: 1_700_000_003,
      seconds: 5,
      modulo: "2/3",
      next: 1_700_000_006,
    },
    { name: "at the end it begins anew", last: END - 2, seconds: END - 2, modulo: "1/3", next: 1 },
  ])("$name", ({ last, seconds, modulo, next }) => {
    const [remainder = 0, modulus = 1] = modulo.split("/").map(Number);
    expect(nextSerial(last, seconds * 1_000, { remainder, modulus })).toBe(next);
  });

  test("serials only increase, and two of them never use the same", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 16 }),
        fc.array(fc.record({ who: fc.nat(15), seconds: fc.integer({ min: 0, max: END - 20 }) }), { maxLength: 100 }),
        (modulus, steps) => {
          const lasts = new Map<number, number>();
          for (const { who, seconds } of steps) {
            const remainder = who % modulus;
            const last = lasts.get(remainder);
            const next = nextSerial(last, seconds * 1_000, { remainder, modulus });
            if (last !== undefined) expect(isSerialNewer(next, last)).toBe(true);
            expect(next % modulus).toBe(remainder);
            lasts.set(remainder, next);
          }
        },
      ),
      { seed: 1982 },
    );
  });
});

test.each([
  { a: 1, b: 0, newer: true },
  { a: 0, b: 1, newer: false },
  { a: 0, b: 0, newer: false },
  { a: 0, b: END - 1, newer: true },
  { a: HALF - 1, b: 0, newer: true },
  { a: HALF + 1, b: 0, newer: false },
  // RFC 1982 §3.2 leaves this open; neither is newer.
  { a: HALF, b: 0, newer: false },
  { a: 0, b: HALF, newer: false },
])("$a after $b: $newer (RFC 1982 §3.2)", ({ a, b, newer }) => {
  expect(isSerialNewer(a, b)).toBe(newer);
});

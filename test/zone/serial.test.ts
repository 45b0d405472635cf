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

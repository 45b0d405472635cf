import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addressOctets, addressText } from "../../src/wire/address.js";

/** Printed when a property fails, so that it can be run again. */
const SEED = 5;

describe("addresses", () => {
  test.each([
    { text: "192.0.2.1", octets: "c0000201" },
    { text: "0.0.0.0", octets: "00000000" },
    { text: "255.255.255.255", octets: "ffffffff" },
    { text: "::", octets: "00000000000000000000000000000000" },
    { text: "::1", octets: "00000000000000000000000000000001" },
    // RFC 5952 §4.2.2: one group of zeros is not shortened; §4.2.3: of two runs the longer is, of equal ones the first.
    { text: "2001:db8:0:1:1:1:1:1", octets: "20010db8000000010001000100010001" },
    { text: "2001:0:0:1::1", octets: "20010000000000010000000000000001" },
    { text: "2001:db8::1:0:0:1", octets: "20010db8000000000001000000000001" },
  ])("$text is $octets, and back", ({ text, octets }) => {
    expect(Buffer.from(addressOctets(text)).toString("hex")).toBe(octets);
    expect(addressText(Buffer.from(octets, "hex"))).toBe(text);
  });

  test.each(["2001:DB8::1", "2001:0db8:0000::0001"])("%s is an address, spelt otherwise than it would be", (text) => {
    expect(addressText(addressOctets(text))).toBe("2001:db8::1");
  });

  test.each([4, 16])("any %i octets are read back as they were written", (length) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: length, maxLength: length }), (octets) => {
        expect(addressOctets(addressText(octets))).toEqual(octets);
      }),
      { seed: SEED },
    );
  });

  test.each(["", "a", "192.0.2.256x", "2001:db8::1::2"])("%j is none", (text) => {
    expect(() => addressOctets(text)).toThrow();
  });

  test.each([0, 3, 5, 15, 17])("%i octets are none", (length) => {
    expect(() => addressText(new Uint8Array(length))).toThrow();
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRange } from "../../src/config/range.js";
import { addressOctets, addressText } from "../../src/wire/address.js";

describe("a range of addresses", () => {
  test.each([
    ["10.0.0.0/8", "10.0.0.0", 8],
    ["0.0.0.0/0", "0.0.0.0", 0],
    ["10.128.0.0/9", "10.128.0.0", 9],
    ["192.0.2.7", "192.0.2.7", 32],
    ["192.0.2.7/32", "192.0.2.7", 32],
    ["::/0", "::", 0],
    ["::1", "::1", 128],
    ["2001:DB8::/32", "2001:db8::", 32],
    ["2001:db8:0:8000::/49", "2001:db8:0:8000::", 49],
  ])("%s is read", (text, address, bits) => {
    expect(parseRange(text)).toEqual({ value: { address, bits } });
  });

  test.each([
    ["10.1.2.3/8", "the range of 8 bits begins at 10.0.0.0", 'Write "10.0.0.0/8".'],
    ["192.0.2.129/31", "the range of 31 bits begins at 192.0.2.128", 'Write "192.0.2.128/31".'],
    ["1.0.0.0/0", "the range of 0 bits begins at 0.0.0.0", 'Write "0.0.0.0/0".'],
    ["2001:db8::1/127", "the range of 127 bits begins at 2001:db8::", 'Write "2001:db8::/127".'],
    ["10.0.0.0/33", "an address of that family has 32 bits", 'such as "10.0.0.0/8"'],
    ["2001:db8::/129", "an address of that family has 128 bits", 'or "2001:db8::/32"'],
    ["10.0.0.0/", "not a range", "Write a range"],
    ["/8", "not a range", "Write a range"],
    ["10.0.0.0/8/8", "not a range", "Write a range"],
    ["10.0.0.0/-1", "not a range", "Write a range"],
    ["10.0.0.0/255.0.0.0", "not a range", "Write a range"],
    ["corp.example.com/8", "not a range", "Write a range"],
    ["", "not a range", "Write a range"],
    [10, "not a range", "Write a range"],
    [null, "not a range", "Write a range"],
  ])("%j is none, and it is said why", (value, why, remedy) => {
    expect(parseRange(value)).toEqual({
      why: expect.stringContaining(why),
      remedy: expect.stringContaining(remedy),
      code: "CONFIG_RANGE_OF_ADDRESSES",
    });
  });

  test("what is said to write instead is right, whatever the address", () => {
    const family = fc.constantFrom(4, 16);
    const octets = family.chain((length) => fc.uint8Array({ minLength: length, maxLength: length }));
    fc.assert(
      fc.property(octets, fc.nat(), (address, number) => {
        const text = addressText(address);
        // IPv4 written as IPv6 is no address here.
        fc.pre(addressOctets(text).length === address.length && !text.startsWith("::ffff:"));
        const bits = number % (address.length * 8 + 1);
        const verdict = parseRange(`${text}/${bits}`);
        const written = "value" in verdict ? `${text}/${bits}` : (/"(.*)"/.exec(verdict.remedy)?.[1] ?? "");
        const again = parseRange(written);
        expect(again).toMatchObject({ value: { bits } });
      }),
      { seed: 23, numRuns: 300 },
    );
  });
});

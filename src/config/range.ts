import { addressOctets, addressText } from "../wire/address.js";
import { parseAddress } from "./address.js";
import type { AddressRange } from "./config.js";
import type { Verdict } from "./parse-result.js";

/**
 * A range of addresses as `10.0.0.0/8` or `2001:db8::/32`; an address alone stands for itself. Bits behind the prefix
 * must be zero, since nobody means `10.1.2.3/8`.
 */
export function parseRange(value: unknown): Verdict<AddressRange> {
  const fault = {
    why: "that is not a range of addresses",
    remedy: 'Write a range such as "10.0.0.0/8" or "2001:db8::/32".',
    code: "CONFIG_RANGE_OF_ADDRESSES",
  };
  if (typeof value !== "string") return fault;
  const [, text, digits] = /^([^/]+?)(?:\/(\d{1,3}))?$/.exec(value) ?? [];
  const address = parseAddress(text);
  if (!("value" in address)) return fault;
  const octets = addressOctets(address.value);
  const most = octets.length * 8;
  const bits = digits === undefined ? most : Number(digits);
  if (bits > most) return { ...fault, why: `an address of that family has ${most} bits` };
  const masked = octets.map((octet, i) => octet & (0xff00 >> Math.min(8, Math.max(0, bits - i * 8))) & 0xff);
  const begin = addressText(masked);
  if (begin !== address.value) {
    return { ...fault, why: `the range of ${bits} bits begins at ${begin}`, remedy: `Write "${begin}/${bits}".` };
  }
  return { value: { address: begin, bits } };
}

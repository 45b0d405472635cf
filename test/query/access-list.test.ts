import { expect, test } from "vitest";
import { isWithinPrefixes, type Prefix } from "../../src/query/access-list.js";
import { clientAt } from "../../src/query/client.js";
import { addressOctets } from "../../src/wire/address.js";

const prefix = (text: string): Prefix => {
  const [address = "", bits = ""] = text.split("/");
  return { octets: addressOctets(address), bits: Number(bits) };
};

test("an address is read where it stands", () => {
  const octets = Uint8Array.of(10, 0, 0, 1, 192, 0, 2, 1);
  expect(isWithinPrefixes({ octets, at: 4, length: 4 }, [prefix("192.0.2.0/25")])).toBe(true);
  expect(isWithinPrefixes({ octets, at: 4, length: 4 }, [prefix("10.0.0.0/8")])).toBe(false);
});

test.each([
  { from: "192.0.2.1", prefixes: ["192.0.2.0/24"], is: true },
  { from: "192.0.3.1", prefixes: ["192.0.2.0/24"], is: false },
  { from: "192.0.3.1", prefixes: ["192.0.2.0/23"], is: true },
  { from: "192.0.2.129", prefixes: ["192.0.2.0/25"], is: false },
  { from: "192.0.2.1", prefixes: ["192.0.2.1/32"], is: true },
  { from: "192.0.2.2", prefixes: ["192.0.2.1/32"], is: false },
  { from: "192.0.2.2", prefixes: ["192.0.2.3/31"], is: true },
  { from: "8.8.8.8", prefixes: ["0.0.0.0/0"], is: true },
  { from: "::1", prefixes: ["0.0.0.0/0"], is: false },
  { from: "2001:db8::1", prefixes: ["2001:db8::/32"], is: true },
  { from: "2001:db9::1", prefixes: ["2001:db8::/32"], is: false },
  { from: "2001:db8:8000::1", prefixes: ["2001:db8::/33"], is: false },
  { from: "fe80::1%eth0", prefixes: ["fe80::/10"], is: true },
  { from: "192.0.2.1", prefixes: ["10.0.0.0/8", "::/0", "192.0.2.0/24"], is: true },
  { from: "192.0.2.1", prefixes: [], is: false },
])("$from in $prefixes: $is", ({ from, prefixes, is }) => {
  expect(isWithinPrefixes(clientAt(from), prefixes.map(prefix))).toBe(is);
});

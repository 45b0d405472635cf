import { expect, test } from "vitest";
import { clientAt } from "../../src/query/client.js";

test.each([
  { address: "0.0.0.0", octets: [0, 0, 0, 0] },
  { address: "192.0.2.255", octets: [192, 0, 2, 255] },
  { address: "::1", octets: [...Array(15).fill(0), 1] },
  { address: "fe80::a%eth0", octets: [0xfe, 0x80, ...Array(13).fill(0), 10] },
])("$address", ({ address, octets }) => {
  expect(clientAt(address)).toEqual({ octets: Uint8Array.from(octets), at: 0, length: octets.length });
});

test.each(["", "192.0.2", "192.0.2.256", "192.0.2.1.5", "a.b.c.d", "192.0.2.x"])("%s is no address", (address) => {
  expect(() => clientAt(address)).toThrow("address");
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { clientAt, setClient } from "../../src/query/client.js";
import { addressOctets, addressText } from "../../src/wire/address.js";

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

test("one client is pointed to address after address, in every form that a system writes", () => {
  const client = clientAt("::");
  const zeros = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((octets) => octets.map((octet) => octet % 3));
  const addresses = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    zeros.map((octets) => addressText(octets)),
  );
  fc.assert(
    fc.property(addresses, (address) => {
      setClient(client, address);
      const octets = addressOctets(address);
      expect([...client.octets.subarray(client.at, client.at + client.length)]).toEqual([...octets]);
    }),
    { seed: 7, numRuns: 2_000 },
  );
});

test.each(["1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1::", "12345::", "g::", "1:2:3:4:5:6:7:8::"])(
  "%s is no address",
  (address) => {
    expect(() => setClient(clientAt("::"), address)).toThrow();
  },
);

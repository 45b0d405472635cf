import { expect, test } from "vitest";
import { readServerAddress } from "../../src/config/server-address.js";

const read = readServerAddress("CODE");

test.each([
  ["10.0.0.53", "10.0.0.53", 53],
  ["10.0.0.53:5353", "10.0.0.53", 5353],
  ["2001:db8::53", "2001:db8::53", 53],
  ["[2001:db8::53]:5353", "2001:db8::53", 5353],
])("%s is port %s of it", (text, address, port) => {
  expect(read(text)).toMatchObject({ value: { address, port } });
});

test.each(["ns1.example.com", "10.0.0.53:0", "10.0.0.0/8", 53, null])("%s is none", (value) => {
  expect(read(value)).toMatchObject({ why: "that is not the address of a server", code: "CODE" });
});

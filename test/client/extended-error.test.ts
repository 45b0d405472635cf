import { expect, test } from "vitest";
import { extendedErrors, formatExtendedError } from "../../src/client/extended-error.js";

const option = (code: number, ...data: number[]) => ({ code, data: Uint8Array.from(data) });
const TEXT = [...Buffer.from("no key\0")];

test("extended errors are read among other options", () => {
  const options = [option(10, 1, 2, 3), option(15, 0, 9, ...TEXT), option(15, 0), option(15, 0xc0, 0)];
  const errors = extendedErrors({ edns: { udpOctets: 1232, version: 0, options } });
  expect(errors).toEqual([
    { code: 9, name: "DNSKEY Missing", text: "no key" },
    { code: 0xc000, text: "" },
  ]);
  expect(errors.map(formatExtendedError)).toEqual([
    'extended error 9, DNSKEY Missing: "no key"',
    "extended error 49152",
  ]);
  expect(extendedErrors({})).toEqual([]);
});

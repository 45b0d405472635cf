import { expect, test } from "vitest";
import { warnOfMissingAddresses } from "../../src/cli/missing-addresses.js";
import { loadRight } from "../config/folder.js";

test.each([
  ["addresses of this machine, and all of them", '["127.0.0.1:53", "127.9.9.9:53", "0.0.0.0:5300"]', []],
  ["a network that it is not in", '["192.0.2.1:53", "127.0.0.1:53"]', [1]],
  ["two of them", '["203.0.113.1:53", "[2001:db8::1]:53"]', [1, 1]],
])("%s", async (_name, listen, lines) => {
  const { config } = loadRight({ "livezone.yaml": `listen: ${listen}\nzones: zone.yaml\n` });
  const found = await warnOfMissingAddresses(config);
  expect(found.map(({ line }) => line)).toEqual(lines);
  for (const problem of found)
    expect(problem).toMatchObject({ severity: "warning", remedy: expect.stringContaining("freebind") });
});

import { join } from "node:path";
import { expect, test } from "vitest";
import { type SecondaryOptions, secondarySetup } from "../../src/cli/delegation-secondary.js";
import { prepare } from "../../src/server/load-zones.js";
import { folderWith } from "../config/folder.js";

const SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=";

const zoneWith = (zone: string, transfer: string): string =>
  `zone: ${zone}\nnameservers: { ns1: 192.0.2.53 }\n${transfer}endpoints: { api: { targets: { cp1: 192.0.2.11 } } }\n`;

function setup(
  options: SecondaryOptions,
  listen = "192.0.2.1:53",
  transfer = "transfer: { to: { address: 10.0.0.53, key: corp } }\n",
  more = "",
  catalog = "",
) {
  const folder = folderWith({
    "livezone.yaml": `listen: ["${listen}"]\ntransfer: { ${catalog}keys: { corp: { algorithm: hmac-sha512, secretFile: corp.tsig }, other: { secretFile: corp.tsig } } }\n${more}zones: [a.yaml, b.yaml]\n`,
    "a.yaml": zoneWith("a.example.com", transfer),
    "b.yaml": zoneWith("b.example.com", ""),
    "corp.tsig": SECRET,
    "siblings.key": "0123456789abcdef".repeat(4),
  });
  return secondarySetup(prepare(join(folder, "livezone.yaml")).config, undefined, options);
}

test("takes zones that may be transferred, the address that is listened on, and the key of those under `to`", () => {
  expect(setup({ secondary: "knot" })).toEqual({
    zones: ["a.example.com"],
    primaries: [{ address: "192.0.2.1", port: 53 }],
    key: { name: "corp", algorithm: "hmac-sha512", secret: "SECRET" },
  });
});

test("prints the secret only where that was asked for", () => {
  expect(setup({ secondary: "bind", showSecret: true }).key?.secret).toBe(SECRET);
});

test("names no key to a server that signs nothing, nor where there is none", () => {
  expect(setup({ secondary: "unbound" }).key).toBeUndefined();
  expect(setup({ secondary: "knot" }, "192.0.2.1:53", "transfer: { to: 10.0.0.53 }\n").key).toBeUndefined();
});

test("takes the nameservers' addresses where livezone listens on all, and siblings too", () => {
  expect(setup({ secondary: "nsd" }, "0.0.0.0:5300").primaries).toEqual([{ address: "192.0.2.53", port: 5300 }]);
  const siblings =
    'siblings: { name: ns1, listen: "192.0.2.1:9854", peers: { ns2: "198.51.100.1:9854" }, secretFile: siblings.key }\n';
  expect(setup({ secondary: "nsd" }, "192.0.2.1:53", undefined, siblings).primaries).toEqual([
    { address: "192.0.2.1", port: 53 },
    { address: "198.51.100.1", port: 53 },
  ]);
});

test("names the catalog to a server that reads one", () => {
  const setupOf = (secondary: "knot" | "nsd") =>
    setup({ secondary }, "192.0.2.1:53", undefined, "", "catalog: catalog.example.net, ");
  expect(setupOf("knot").catalog).toBe("catalog.example.net");
  expect(setupOf("nsd").catalog).toBeUndefined();
});

test.each([
  ["a zone that nobody may transfer", { secondary: "knot" }, "192.0.2.1:53", "", "TRANSFER_NOT_CONFIGURED"],
  [
    "several keys",
    { secondary: "knot" },
    "192.0.2.1:53",
    "transfer: { to: [10.0.0.1, { address: 10.0.0.2, key: corp }] }\n",
    "SECONDARY_KEY",
  ],
  ["a key that is not there", { secondary: "knot", key: "none" }, "192.0.2.1:53", undefined, "KEY_UNKNOWN"],
  ["a port that the server cannot ask", { secondary: "windows" }, "192.0.2.1:5300", undefined, "SECONDARY_PORT"],
] as const)("refuses %s", (_, options, listen, transfer, code) => {
  expect(() => setup(options, listen, transfer)).toThrow(expect.objectContaining({ code }));
});

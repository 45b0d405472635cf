import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { SECONDARY_FORMATS, type SecondaryKind, type SecondarySetup } from "../../src/cli/secondary-formats.js";
import { describeWith, requireProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";

const run = promisify(execFile);

const setup: SecondarySetup = {
  zones: ["k8s.example.com", "k9s.example.test"],
  primaries: [
    { address: "192.0.2.53", port: 5300 },
    { address: "2001:db8::53", port: 53 },
  ],
  key: { name: "corp", algorithm: "hmac-sha512", secret: "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=" },
};
const { key: _, ...unsigned } = setup;

/** Each server's own checker, and how it is called. */
const CHECKERS: readonly (readonly [SecondaryKind, string, (file: string) => readonly string[]])[] = [
  ["knot", "knotc", (file) => ["-c", file, "conf-check"]],
  ["nsd", "nsd-checkconf", (file) => [file]],
  ["bind", "named-checkconf", (file) => [file]],
  ["unbound", "unbound-checkconf", (file) => [file]],
];

async function accepts(program: string, args: (file: string) => readonly string[], text: string) {
  const folder = temporaryFolder();
  const file = join(folder, "file.conf");
  writeFileSync(file, text);
  return run(requireProgram(program), args(file), { cwd: folder });
}

describe.each(CHECKERS)("%s", (kind, program, args) => {
  describeWith([program], "and its own checker", () => {
    const { print, signs, readsCatalog } = SECONDARY_FORMATS[kind];
    const setups = [
      ...(signs ? [["signed", setup] as const] : []),
      ["unsigned", unsigned] as const,
      ...(readsCatalog ? [["with a catalog", { ...setup, catalog: "catalog.example.com" }] as const] : []),
    ];

    test.each(setups)("%s: takes what is printed, and takes no nonsense", async (_name, one) => {
      const text = print(one);
      await accepts(program, args, text);
      await expect(accepts(program, args, `${text}nonsense: {\n`)).rejects.toThrow();
    });
  });
});

test("BIND is told of the catalog within its options clause", async () => {
  const text = SECONDARY_FORMATS.bind.print({ ...setup, catalog: "catalog.example.com" });
  const clause = /^\/\/ (catalog-zones .*)$/m.exec(text)?.[1] ?? "";
  expect(clause).toContain('zone "catalog.example.com"');
  await accepts("named-checkconf", (file) => [file], `options { ${clause} };\n${text}`);
});

test.each(Object.keys(SECONDARY_FORMATS) as SecondaryKind[])("%s: names every zone and every primary", (kind) => {
  const { print, signs } = SECONDARY_FORMATS[kind];
  const sha256 = { ...setup, key: { ...setup.key, algorithm: "hmac-sha256" } } as SecondarySetup;
  const text = print(signs ? sha256 : unsigned);
  for (const zone of setup.zones) expect(text).toContain(zone);
  for (const { address } of setup.primaries) expect(text).toContain(address);
  expect(text.includes("corp")).toBe(signs);
});

test("what is printed for PowerDNS is commands and comments", () => {
  for (const line of SECONDARY_FORMATS.powerdns.print(setup).trimEnd().split("\n")) {
    expect(line).toMatch(/^(#|pdnsutil (import-tsig-key|create-secondary-zone|activate-tsig-key) )/);
  }
});

test("what is printed for Infoblox is JSON, and hmac-sha512 is refused", () => {
  const one = { ...setup, zones: ["k8s.example.com"], key: { ...setup.key, algorithm: "hmac-sha256" } };
  expect(JSON.parse(SECONDARY_FORMATS.infoblox.print(one as SecondarySetup))).toMatchObject({
    fqdn: "k8s.example.com",
    external_primaries: [{ address: "192.0.2.53", tsig_key_name: "corp" }, { address: "2001:db8::53" }],
  });
  expect(() => SECONDARY_FORMATS.infoblox.print(setup)).toThrow("hmac-sha512");
});

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DELEGATION_FORMATS, type Delegation, type DelegationFormat } from "../../src/cli/delegation-formats.js";
import { startBindAuthoritative } from "../support/bind.js";
import { ask } from "../support/dns-client.js";
import { describeWith, requireProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { runIn } from "./in-process.js";
import { configurationFiles } from "./run.js";

const run = promisify(execFile);

const ZONE = `zone: k8s.example.com
nameservers:
  ns1: 192.0.2.53
  ns2: [198.51.100.53, "2001:db8::53"]
  ns.example.net.: []
endpoints:
  api: { targets: { cp1: 192.0.2.11 } }
`;

/** An address of the nameserver outside the zone, which the configuration cannot hold. */
const OUTSIDE = ["--address", "ns.example.net=203.0.113.53"];

function folderWith(...zones: readonly string[]): string {
  return folderListening("127.0.0.1:53", ...zones);
}

function folderListening(listen: string, ...zones: readonly string[]): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "zones"));
  writeFileSync(join(folder, "livezone.yaml"), configurationFiles(listen)["livezone.yaml"] ?? "");
  for (const [index, zone] of zones.entries()) writeFileSync(join(folder, "zones", `${index}.yaml`), zone);
  return folder;
}

async function printed(format: DelegationFormat, ...more: readonly string[]): Promise<string> {
  const outcome = await runIn(["delegation", "--format", format, ...OUTSIDE, ...more], { cwd: folderWith(ZONE) });
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  return outcome.stdout;
}

/** Writes a file into a new folder and runs a program on it. */
async function accepts(program: string, text: string, args: (file: string, folder: string) => readonly string[]) {
  const folder = temporaryFolder();
  const file = join(folder, "file.conf");
  writeFileSync(file, text);
  return run(requireProgram(program), args(file, folder));
}

const uncommented = (text: string) => text.replace(/^; (?=zone )/gm, "").replace(/^;.*$/gm, "");

describeWith(["named", "named-checkconf"], "livezone delegation --format bind", () => {
  test("is a delegation that BIND serves as a referral", async () => {
    const text = await printed("bind", "--ttl", "600");
    const parent = `$TTL 300\n@ SOA ns hostmaster 1 7200 900 1209600 300\n@ NS ns\nns A 127.0.0.1\n${text}`;
    const bind = await startBindAuthoritative({ zones: { "example.com": parent } });
    const reply = await ask({ server: bind.address, port: bind.port, name: "api.k8s.example.com" });
    expect(reply.flags.aa).toBe(false);
    expect(reply.authorities.map(({ owner, type, ttl, rdata }) => `${owner} ${ttl} ${type} ${rdata}`).sort()).toEqual([
      "k8s.example.com. 600 NS ns.example.net.",
      "k8s.example.com. 600 NS ns1.k8s.example.com.",
      "k8s.example.com. 600 NS ns2.k8s.example.com.",
    ]);
    expect(reply.additionals.map(({ owner, rdata }) => `${owner} ${rdata}`).sort()).toEqual([
      "ns1.k8s.example.com. 192.0.2.53",
      "ns2.k8s.example.com. 198.51.100.53",
      "ns2.k8s.example.com. 2001:db8::53",
    ]);
  });

  test("ends with a zone clause that BIND reads", async () => {
    const clause = uncommented(await printed("bind"))
      .split("\n")
      .filter((line) => line.startsWith("zone "))
      .join("\n");
    expect(clause).toContain("static-stub");
    await accepts("named-checkconf", clause, (file) => [file]);
    await expect(accepts("named-checkconf", clause.replace("};", ""), (file) => [file])).rejects.toThrow();
  });
});

describeWith(["unbound-checkconf"], "livezone delegation --format unbound", () => {
  test("is what Unbound reads", async () => {
    const text = await printed("unbound");
    expect(text).toContain("stub-addr: 2001:db8::53");
    await accepts("unbound-checkconf", text, (file) => [file]);
    await expect(accepts("unbound-checkconf", `${text}bad: 1\n`, (file) => [file])).rejects.toThrow();
  });
});

describeWith(["dnsmasq"], "livezone delegation --format dnsmasq", () => {
  test("is what dnsmasq reads", async () => {
    const text = await printed("dnsmasq");
    expect(text).toContain("server=/k8s.example.com/2001:db8::53\n");
    await accepts("dnsmasq", text, (file) => ["--test", `--conf-file=${file}`]);
    await expect(accepts("dnsmasq", `${text}bad=1\n`, (file) => ["--test", `--conf-file=${file}`])).rejects.toThrow();
  });
});

const ON_LOOPBACK = `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api: { targets: { cp1: 192.0.2.11 }, probe: { type: none } }
`;

describe("livezone delegation of a server on a port other than 53", () => {
  const delegation = (format: DelegationFormat) =>
    runIn(["delegation", "--format", format], { cwd: folderListening("127.0.0.1:5300", ON_LOOPBACK) });

  test.each([
    ["unbound", "  stub-addr: 127.0.0.1@5300\n"],
    ["dnsmasq", "server=/k8s.example.test/127.0.0.1#5300\n"],
    ["coredns", "    forward . 127.0.0.1:5300\n"],
  ] as const)("--format %s names it", async (format, line) => {
    expect(await delegation(format)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining(line) });
  });

  test("--format unbound lets Unbound ask on loopback, and for names below .test", async () => {
    const { stdout } = await delegation("unbound");
    expect(stdout).toContain('  local-zone: "test." nodefault\n  do-not-query-localhost: no\n');
  });

  test.each(["bind", "windows", "infoblox", "route53"] as const)("--format %s cannot, and says so", async (format) => {
    expect(await delegation(format)).toMatchObject({
      code: 0,
      stderr:
        "warning: livezone listens on port 5300, and a delegation leads to port 53: listen there, or forward it\n",
    });
  });
});

/** https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeBatch.html */
const changeBatch = z.strictObject({
  Comment: z.string().max(256),
  Changes: z.array(
    z.strictObject({
      Action: z.enum(["CREATE", "DELETE", "UPSERT"]),
      ResourceRecordSet: z.strictObject({
        Name: z.string(),
        Type: z.enum(["NS", "A", "AAAA"]),
        TTL: z.int(),
        ResourceRecords: z.array(z.strictObject({ Value: z.string() })).min(1),
      }),
    }),
  ),
});

describe("livezone delegation", () => {
  test("--format route53 is a change batch: one set of each name and type", async () => {
    const { Changes } = changeBatch.parse(JSON.parse(await printed("route53")));
    const sets = Changes.map(({ ResourceRecordSet: { Name, Type, ResourceRecords } }) => [
      `${Name} ${Type}`,
      ResourceRecords.map(({ Value }) => Value),
    ]);
    expect(Object.fromEntries(sets)).toEqual({
      "k8s.example.com. NS": ["ns1.k8s.example.com.", "ns2.k8s.example.com.", "ns.example.net."],
      "ns1.k8s.example.com. A": ["192.0.2.53"],
      "ns2.k8s.example.com. A": ["198.51.100.53"],
      "ns2.k8s.example.com. AAAA": ["2001:db8::53"],
    });
    expect(sets).toHaveLength(4);
  });

  test("--format infoblox is the body of a WAPI request", async () => {
    expect(JSON.parse(await printed("infoblox"))).toMatchObject({
      fqdn: "k8s.example.com",
      delegate_to: [
        { name: "ns1.k8s.example.com", address: "192.0.2.53" },
        { name: "ns2.k8s.example.com", address: "198.51.100.53" },
        { name: "ns2.k8s.example.com", address: "2001:db8::53" },
        { name: "ns.example.net", address: "203.0.113.53" },
      ],
    });
  });

  test("--format windows is one command for each nameserver", async () => {
    const lines = (await printed("windows")).split("\n").filter((line) => line.startsWith("Add-"));
    expect(lines).toHaveLength(3);
    expect(lines[1]).toBe(
      'Add-DnsServerZoneDelegation -Name "example.com" -ChildZoneName "k8s" -NameServer "ns2.k8s.example.com" -IPAddress "198.51.100.53","2001:db8::53"',
    );
  });

  test("--format coredns is a server block that keeps short TTLs", async () => {
    const text = await printed("coredns");
    expect(text).toMatch(/^k8s\.example\.com:53 \{\n[\s\S]*^\}\n$/m);
    expect(text).toContain("forward . 192.0.2.53 198.51.100.53 [2001:db8::53]:53 203.0.113.53\n");
    expect(text).toContain("success 9984 3600 1\n");
  });

  test("--parent moves the cut, and what counts as glue", async () => {
    const text = await printed("windows", "--parent", "com");
    expect(text).toContain('-Name "com" -ChildZoneName "k8s.example"');
    const json = await runIn(["delegation", "k8s.example.com.", "--parent", "com", "--json"], {
      cwd: folderWith(ZONE),
    });
    const { parent, records } = JSON.parse(json.stdout);
    expect(parent).toBe("com");
    expect(records).toContainEqual({ name: "ns1.k8s.example.com.", type: "A", ttl: 3600, data: "192.0.2.53" });
    expect(records.filter(({ type }: { type: string }) => type === "NS")).toHaveLength(3);
    expect(records).toHaveLength(6);
  });

  const other = ZONE.replace("k8s.example.com", "k8s.example.org");
  const refused = [
    {
      name: "several zones",
      zones: [ZONE, other],
      args: [],
      code: 1,
      says: "name one of k8s.example.com, k8s.example.org",
    },
    { name: "a zone that there is not", zones: [ZONE], args: ["a.example"], code: 1, says: "it has k8s.example.com" },
    {
      name: "a parent that is none",
      zones: [ZONE],
      args: ["--parent", "example.org"],
      code: 1,
      says: "does not lie in",
    },
    {
      name: "a format that there is not",
      zones: [ZONE],
      args: ["--format", "djbdns"],
      code: 2,
      says: "Allowed choices",
    },
    { name: "no address", zones: [ZONE], args: ["--address", "a=b"], code: 2, says: "its address" },
    { name: "no TTL", zones: [ZONE], args: ["--ttl", "0"], code: 2, says: "whole seconds" },
  ];
  test.each(refused)("refuses $name", async ({ zones, args, code, says }) => {
    const outcome = await runIn(["delegation", ...args], { cwd: folderWith(...zones) });
    expect(outcome).toMatchObject({ code, stdout: "" });
    expect(outcome.stderr).toContain(says);
  });

  const withoutAddress: Delegation = {
    zone: "k8s.example.com",
    parent: "example.com",
    nameservers: [{ name: "ns.example.net", addresses: [] }],
    ttl: 3600,
    port: 53,
  };
  test.each(["windows", "infoblox", "dnsmasq", "coredns"] as const)(
    "%s says what it needs an address for",
    (format) => {
      expect(() => DELEGATION_FORMATS[format].print(withoutAddress)).toThrow("--address");
    },
  );

  test("unbound looks up a nameserver without an address by itself", () => {
    expect(DELEGATION_FORMATS.unbound.print(withoutAddress)).toContain("stub-host: ns.example.net\n");
  });
});

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Config, EndpointConfig } from "../../src/config/config.js";
import { loadConfig } from "../../src/config/load.js";
import { createAuthority } from "../../src/demo/certificates.js";
import { formatProblem } from "../../src/lib/errors.js";
import { folderWith, loadRight, loadWrong, MAIN, ZONE, zoneWith } from "./folder.js";

function endpointOf(config: Config): EndpointConfig {
  const endpoint = config.zones[0]?.endpoints[0];
  if (endpoint === undefined) throw new Error("there is no endpoint");
  return endpoint;
}

const { caPem, issue } = await createAuthority();
const client = await issue({ names: ["probe"], clientAuth: true });

describe("defaults", () => {
  test("the least that can be written becomes this", () => {
    const folder = folderWith({});
    const result = loadConfig(join(folder, "livezone.yaml"));
    if ("problems" in result) throw new Error(result.problems.map(formatProblem).join("\n"));
    const file = join(folder, "zone.yaml");
    expect(result.warnings).toEqual([]);
    expect(result.config).toEqual({
      file: join(folder, "livezone.yaml"),
      listen: [
        { address: "0.0.0.0", port: 53 },
        { address: "::", port: 53 },
      ],
      workers: 1,
      listenPositions: [1, 1].map((line) => ({ file: join(folder, "livezone.yaml"), line, column: 1 })),
      admin: { hostNames: [] },
      queries: { tcp: { maxConnections: 2_000, maxPerClient: 200, idleMs: 10_000 } },
      freebind: false,
      watch: false,
      log: { level: "info" },
      transfer: { keys: [] },
      zones: [
        {
          position: { file: expect.stringContaining("zone.yaml"), line: 1, column: 1 },
          zone: "k8s.example.com",
          nameserverTtl: 300,
          nameservers: [
            { position: { file: expect.any(String), line: 2, column: 16 }, name: "ns1", addresses: ["192.0.2.53"] },
          ],
          soa: { contact: "hostmaster.k8s.example.com", negativeTtl: 5, refresh: 7200, retry: 900, expire: 1_209_600 },
          endpoints: [
            {
              position: { file: expect.any(String), line: 4, column: 3 },
              name: "api",
              fqdn: "api.k8s.example.com",
              port: 6443,
              ttl: 5,
              targets: [
                { position: { file: expect.any(String), line: 5, column: 16 }, id: "cp1", addresses: ["192.0.2.11"] },
                { position: { file: expect.any(String), line: 5, column: 33 }, id: "cp2", addresses: ["192.0.2.12"] },
              ],
              probe: {
                type: "https",
                intervalMs: 2000,
                timeoutMs: 3000,
                connectTimeoutMs: 1500,
                recheckMs: 1000,
                rise: 2,
                fall: 3,
                flap: { limit: 5, windowMs: 600_000 },
                tripwire: true,
                path: "/readyz",
                expectStatus: [200],
                serverName: "api.k8s.example.com",
                port: 6443,
                insecureSkipVerify: false,
                resumeTls: false,
              },
              whenAllDown: { kind: "all" },
              minHealthy: 1,
              whenUnknown: "withhold",
              statusRecord: false,
            },
          ],
          allowSpecialAddresses: false,
        },
      ],
    });
    expect([file, relative("", file)]).toContain(result.config.zones[0]?.position.file);
  });

  test("auto is at least one worker and at most 64", () => {
    const { config } = loadRight({ "livezone.yaml": `${MAIN}workers: auto\n` });
    expect(config.workers).toBeGreaterThanOrEqual(1);
    expect(config.workers).toBeLessThanOrEqual(64);
  });

  test.each([
    { name: "built in", main: "", zone: "", endpoint: "", ttl: 5, records: 5 },
    { name: "the main file's", main: "defaults: { ttl: 7 }\n", zone: "", endpoint: "", ttl: 7, records: 7 },
    { name: "the zone's", main: "defaults: { ttl: 7 }\n", zone: "ttl: 8\n", endpoint: "", ttl: 8, records: 8 },
    {
      name: "the endpoint's",
      main: "defaults: { ttl: 7 }\n",
      zone: "ttl: 8\n",
      endpoint: "ttl: 9",
      ttl: 9,
      records: 8,
    },
  ])("the TTL is $name", ({ main, zone, endpoint, ttl, records }) => {
    const { config } = loadRight({
      "livezone.yaml": MAIN + main,
      "zone.yaml": `${zoneWith(endpoint)}${zone}records: a 300 A 192.0.2.1\n`,
    });
    expect(endpointOf(config).ttl).toBe(ttl);
    expect(config.zones[0]?.records?.defaultTtl).toBe(records);
  });
});

describe("zone files", () => {
  test("are found by glob, each once, without the main file, in a stable order", () => {
    const named = (zone: string) => ZONE.replace("k8s", zone);
    const { config } = loadRight({
      "livezone.yaml": 'zones: ["sub/*.yaml", "*.yaml", sub/b.yaml]\n',
      "sub/b.yaml": named("b"),
      "sub/a.yaml": named("a"),
    });
    expect(config.zones.map(({ zone }) => zone)).toEqual(["a.example.com", "b.example.com", "k8s.example.com"]);
  });

  test("a glob that matches nothing is a warning; nothing at all is an error", () => {
    const { warnings } = loadRight({ "livezone.yaml": 'zones: [zone.yaml, "none/*.yaml"]\n' });
    expect(warnings).toMatchObject([{ code: "CONFIG_ZONES_UNMATCHED", line: 1, column: 20, severity: "warning" }]);
    expect(
      loadWrong({ "livezone.yaml": 'zones: "none/*.yaml"\n' })
        .map(({ code }) => code)
        .sort(),
    ).toEqual(["CONFIG_NO_ZONES", "CONFIG_ZONES_UNMATCHED"]);
  });

  test("a main file that is missing is told", () => {
    const name = `${randomUUID()}.yaml`;
    expect(loadConfig(name)).toEqual({
      problems: [expect.objectContaining({ file: name, line: 1, column: 1, code: "CONFIG_FILE_UNREADABLE" })],
    });
  });

  test("names are lower case, without a trailing dot, in the order written", () => {
    const { config } = loadRight({
      "zone.yaml": `zone: K8S.Example.COM.
nameservers: { ns.Other.example.: [], NS1: ["2001:DB8:0:0::53"] }
soa: { contact: host.master@example.com, negativeTtl: 30 }
endpoints:
  "@": { targets: { 2: 192.0.2.2, 1: 192.0.2.1, CP: [192.0.2.3, "2001:db8:0::3"] }, whenAllDown: { addresses: 192.0.2.9 } }
  API.eu: { targets: { a: 192.0.2.1 }, whenAllDown: last-healthy, maxAnswers: 8, statusRecord: true }
`,
    });
    const [zone] = config.zones;
    expect(zone).toMatchObject({
      zone: "k8s.example.com",
      soa: { contact: "host\\.master.example.com", negativeTtl: 30 },
    });
    expect(zone?.nameservers).toMatchObject([
      { name: "ns.other.example.", addresses: [] },
      { name: "ns1", addresses: ["2001:db8::53"] },
    ]);
    expect(zone?.endpoints).toMatchObject([
      { name: "@", fqdn: "k8s.example.com", whenAllDown: { kind: "addresses", addresses: ["192.0.2.9"] } },
      {
        name: "api.eu",
        fqdn: "api.eu.k8s.example.com",
        whenAllDown: { kind: "last-healthy" },
        maxAnswers: 8,
        statusRecord: true,
      },
    ]);
    expect(zone?.endpoints[0]?.targets.map(({ id, addresses }) => [id, ...addresses])).toEqual([
      ["2", "192.0.2.2"],
      ["1", "192.0.2.1"],
      ["cp", "192.0.2.3", "2001:db8::3"],
    ]);
  });

  test("special addresses are taken where the zone says so", () => {
    const { config } = loadRight({
      "zone.yaml": `${zoneWith('targets: { a: 127.0.0.1, b: "fe80::1" }')}allowSpecialAddresses: true\n`,
    });
    expect(endpointOf(config).targets.flatMap(({ addresses }) => addresses)).toEqual(["127.0.0.1", "fe80::1"]);
  });

  test("a zone without endpoints is a warning", () => {
    const { warnings } = loadRight({ "zone.yaml": "zone: a.example\nnameservers: { ns1: 192.0.2.1 }\n" });
    expect(warnings).toMatchObject([{ code: "CONFIG_NO_ENDPOINTS", line: 1, column: 1 }]);
  });

  test("aliases stand for their values", () => {
    const { config } = loadRight({
      "zone.yaml": `${ZONE.replace("targets: {", "targets: &t {")}  b: { targets: *t }\n`,
    });
    expect(config.zones[0]?.endpoints[1]?.targets).toHaveLength(2);
  });
});

test("the configuration is frozen to the bottom", () => {
  const { config } = loadRight({
    "zone.yaml": zoneWith("probe: { expectStatus: [200, 204] }\nwhenAllDown: { addresses: [192.0.2.1] }"),
  });
  const loose: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    if (!Object.isFrozen(value)) loose.push(path);
    for (const [key, inner] of Object.entries(value)) walk(inner, `${path}.${key}`);
  };
  walk(config, "config");
  expect(loose).toEqual([]);
  expect(Object.isFrozen(config.zones[0]?.endpoints[0]?.probe)).toBe(true);
});

describe("the files that ship", () => {
  const zones = fileURLToPath(new URL("../../zones/", import.meta.url));

  test("the commented example is right and says what the defaults are", () => {
    const result = loadConfig(join(zones, "example/livezone.yaml"));
    if ("problems" in result) throw new Error(result.problems.map(formatProblem).join("\n"));
    expect(result.warnings).toEqual([]);
    const [api] = result.config.zones[0]?.endpoints ?? [];
    const plain = endpointOf(loadRight({ "zone.yaml": zoneWith("") }).config);
    const { position: _here, targets: _targets, ...written } = api ?? plain;
    const { position: _there, targets: _others, ...defaults } = plain;
    expect(api?.targets).toHaveLength(3);
    expect(written).toEqual(defaults);
  });

  test("the demo's zone is right once its authority is there", () => {
    const read = (name: string) => readFileSync(join(zones, "demo", name), "utf8");
    const { config } = loadRight({
      "livezone.yaml": read("livezone.yaml"),
      "zones/k8s.example.test.yaml": read("zones/k8s.example.test.yaml"),
      "ca.crt": caPem,
    });
    expect(endpointOf(config).fqdn).toBe("api.k8s.example.test");
  });

  test("the design's example is right", () => {
    const { config, warnings } = loadRight({
      "livezone.yaml": `listen: ["0.0.0.0:53", "[::]:53"]
workers: 1
stateDir: /var/lib/livezone
admin:
  socket: /run/livezone/admin.sock
  http: 127.0.0.1:9853
  tokenFile: token
defaults:
  ttl: 5
  probe: { interval: 2s, timeout: 2s, recheck: 1s, rise: 2, fall: 3 }
zones: ["zones/*.yaml"]
`,
      "zones/k8s.example.com.yaml": `zone: k8s.example.com
nameservers:
  ns1: 192.0.2.53
  ns2: [198.51.100.53, "2001:db8::53"]
soa: { contact: hostmaster.example.com, negativeTtl: 5 }
records: |
  registry    300 IN A   192.0.2.20
  _etcd._tcp  300 IN SRV 0 0 2379 registry
endpoints:
  api:
    port: 6443
    ttl: 5
    targets:
      cp1: 192.0.2.11
      cp2: 192.0.2.12
      cp3: [192.0.2.13, "2001:db8::13"]
    probe:
      type: https
      path: /readyz
      ca: ../ca.crt
      serverName: api.k8s.example.com
      clientCertificate: { cert: probe.crt, key: probe.key }
      expectStatus: [200]
    whenAllDown: all
    minHealthy: 1
    maxAnswers: 8
`,
      token: "abc\n",
      "ca.crt": caPem,
      "zones/probe.crt": client.certPem,
      "zones/probe.key": client.keyPem,
    });
    expect(warnings).toEqual([]);
    expect(config).toMatchObject({
      stateDir: "/var/lib/livezone",
      admin: { socket: "/run/livezone/admin.sock", http: { address: "127.0.0.1", port: 9853 }, hostNames: [] },
    });
    expect(config.zones[0]?.records?.locate(2, 3)).toMatchObject({ line: 8, column: 5 });
  });
});

describe("targets in their long form", () => {
  const load = (text: string) => endpointOf(loadRight({ "zone.yaml": zoneWith(text) }).config);

  test("a target may be probed elsewhere, and be disabled", () => {
    const { targets } = load(
      "targets: { a: { addresses: [192.0.2.1], probe: { address: 10.0.0.1, port: 8443 } }, b: { addresses: 192.0.2.2, disabled: true }, c: { addresses: 192.0.2.3, disabled: false } }",
    );
    expect(targets.map(({ position: _, ...rest }) => rest)).toEqual([
      { id: "a", addresses: ["192.0.2.1"], probe: { address: "10.0.0.1", port: 8443 } },
      { id: "b", addresses: ["192.0.2.2"], disabled: true },
      { id: "c", addresses: ["192.0.2.3"] },
    ]);
  });
});

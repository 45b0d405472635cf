import { createPrivateKey, createPublicKey, randomUUID } from "node:crypto";
import { chmodSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Config, EndpointConfig, ProbeConfig } from "../../src/config/config.js";
import { loadConfig } from "../../src/config/load.js";
import { createAuthority } from "../../src/demo/certificates.js";
import { formatProblem } from "../../src/lib/errors.js";
import { type Files, folderWith, loadRight, loadWrong, MAIN, ZONE, zoneWith } from "./folder.js";

function endpointOf(config: Config): EndpointConfig {
  const endpoint = config.zones[0]?.endpoints[0];
  if (endpoint === undefined) throw new Error("there is no endpoint");
  return endpoint;
}

/** The probe of the endpoint `api`, with `probe:` options as flow mappings at three places. */
function probeFrom(defaults: string, zone: string, endpoint: string): ProbeConfig {
  const { config } = loadRight({
    "livezone.yaml": `${MAIN}defaults: { probe: {${defaults}} }\n`,
    "zone.yaml": `${zoneWith(`probe: {${endpoint}}`)}probe: {${zone}}\n`,
    "ca.crt": caPem,
    token: "abc\n",
  });
  return endpointOf(config).probe;
}

const { caPem, issue } = await createAuthority();
const client = await issue({ names: ["probe"], clientAuth: true });
const other = await issue({ names: ["other"], clientAuth: true });

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

describe("probe options come from the nearest place that writes them", () => {
  test("each by itself", () => {
    expect(probeFrom("interval: 9s, timeout: 8s, rise: 7", "timeout: 6s, fall: 5", "fall: 4")).toMatchObject({
      intervalMs: 9000,
      timeoutMs: 6000,
      rise: 7,
      fall: 4,
      recheckMs: 1000,
    });
  });

  test("thresholds and flap as a whole, with the defaults for what they leave out", () => {
    const far = "thresholds: { timeout: 5, refused: 1 }, flap: { limit: 9 }";
    expect(probeFrom(far, "", "flap: { window: 1h }")).toMatchObject({
      thresholds: { timeout: 5, refused: 1 },
      flap: { limit: 5, windowMs: 3_600_000 },
    });
    expect(probeFrom(far, "thresholds: { reset: 2 }", "")).toMatchObject({
      thresholds: { reset: 2 },
      flap: { limit: 9, windowMs: 600_000 },
    });
    expect(probeFrom(far, "thresholds: { reset: 2 }", "")).not.toHaveProperty("thresholds.timeout");
  });

  test("a program is told the port, and has no tripwire", () => {
    const probe = probeFrom("", "", "type: exec, command: [/bin/sh, -c, exit 0], timeout: 1s");
    expect(probe).toMatchObject({ type: "exec", command: ["/bin/sh", "-c", "exit 0"], port: 6443, timeoutMs: 1000 });
    expect(probe).not.toHaveProperty("tripwire");
  });

  test("the port is the endpoint's unless the probe has its own", () => {
    expect(probeFrom("", "", "")).toMatchObject({ port: 6443 });
    expect(probeFrom("", "port: 6444", "")).toMatchObject({ port: 6444 });
  });

  test("an inherited option that does not fit the type is left alone", () => {
    expect(probeFrom("path: /livez, ca: ca.crt", "", "type: tcp")).toEqual({
      type: "tcp",
      port: 6443,
      intervalMs: 2000,
      timeoutMs: 3000,
      recheckMs: 1000,
      rise: 2,
      fall: 3,
      flap: { limit: 5, windowMs: 600_000 },
      tripwire: true,
    });
    expect(probeFrom("interval: 1s", "type: none", "")).toMatchObject({ type: "none", intervalMs: 1000 });
  });

  test("the default timeout and recheck give way to a short interval", () => {
    expect(probeFrom("", "", "interval: 500ms")).toMatchObject({ timeoutMs: 750, recheckMs: 500 });
  });

  test("of ca and insecureSkipVerify the nearer one holds", () => {
    const skipping = probeFrom("ca: ca.crt", "", "insecureSkipVerify: true");
    expect(skipping).toMatchObject({ insecureSkipVerify: true });
    expect(skipping).not.toHaveProperty("ca");
    expect(probeFrom("insecureSkipVerify: true", "", "ca: ca.crt")).toMatchObject({
      insecureSkipVerify: false,
      ca: expect.stringMatching(/^\/.*\/ca\.crt$/),
    });
  });

  test("a file is relative to the file that names it", () => {
    const { config } = loadRight({
      "livezone.yaml": "zones: zones/*.yaml\ndefaults: { probe: { ca: pki/ca.crt } }\n",
      "zones/a.yaml": zoneWith("probe: { bearerTokenFile: token }"),
      "pki/ca.crt": `a comment\n${caPem}${caPem}`,
      "zones/token": "abc\n",
    });
    expect(endpointOf(config).probe).toMatchObject({
      ca: expect.stringMatching(/[^s]\/pki\/ca\.crt$/),
      bearerTokenFile: expect.stringMatching(/\/zones\/token$/),
    });
  });
});

describe("credentials", () => {
  const files = (cert: string, key: string): Files => ({
    "zone.yaml": zoneWith("probe:\n  clientCertificate:\n    cert: a.crt\n    key: a.key"),
    "a.crt": cert,
    "a.key": key,
  });

  test("a certificate and its key are taken, as absolute files", () => {
    const { config } = loadRight(files(client.certPem + caPem, client.keyPem));
    expect(endpointOf(config).probe).toMatchObject({
      clientCertificate: { cert: expect.stringMatching(/^\/.*a\.crt$/), key: expect.stringMatching(/^\/.*a\.key$/) },
    });
  });

  test.each([
    {
      name: "another certificate's key",
      cert: client.certPem,
      key: other.keyPem,
      code: "CONFIG_KEY_MISMATCH",
      line: 9,
    },
    { name: "no key", cert: client.certPem, key: "nothing", code: "CONFIG_KEY_INVALID", line: 9 },
    { name: "a key alone", cert: client.keyPem, key: client.keyPem, code: "CONFIG_CERTIFICATE_INVALID", line: 8 },
    {
      name: "a public key",
      cert: client.certPem,
      key: createPublicKey(client.keyPem).export({ type: "spki", format: "pem" }).toString(),
      code: "CONFIG_KEY_INVALID",
      line: 9,
    },
  ])("$name is refused", ({ cert, key, code, line }) => {
    expect(loadWrong(files(cert, key))).toMatchObject([{ code, line }]);
  });

  test("an encrypted key is named as such", () => {
    const key = createPrivateKey(client.keyPem).export({
      type: "pkcs8",
      format: "pem",
      cipher: "aes-256-cbc",
      passphrase: "sesame",
    });
    expect(loadWrong(files(client.certPem, key.toString()))[0]?.message).toContain("which is encrypted");
  });

  test.each([
    { name: "http", probe: "type: http", severity: "warning" },
    { name: "unverified https", probe: "insecureSkipVerify: true", severity: "warning" },
  ])("a token over $name is warned of", ({ probe, severity }) => {
    const { warnings } = loadRight({
      "zone.yaml": zoneWith(`probe: { ${probe}, bearerTokenFile: token }`),
      token: "abc",
    });
    expect(warnings).toMatchObject([{ code: "CONFIG_TOKEN_EXPOSED", severity }]);
  });
});

describe("the file of admin.tokenFile", () => {
  test.each([
    { mode: 0o600, warned: undefined },
    { mode: 0o400, warned: undefined },
    { mode: 0o640, warned: "its group may read (mode 0640)" },
    { mode: 0o644, warned: "everybody on this machine may read (mode 0644)" },
  ])("with mode $mode is warned of: $warned", ({ mode, warned }) => {
    const folder = folderWith({
      "livezone.yaml": `${MAIN}admin: { http: "127.0.0.1:9853", tokenFile: token }\n`,
      token: "abc",
    });
    chmodSync(join(folder, "token"), mode);
    const loaded = loadConfig(join(folder, "livezone.yaml"));
    const warnings = "config" in loaded ? loaded.warnings : [];
    expect("config" in loaded).toBe(true);
    expect(warnings.map(({ code, message }) => [code, message.includes(warned ?? "")])).toEqual(
      warned === undefined ? [] : [["CONFIG_TOKEN_FILE_MODE", true]],
    );
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

describe("targets and probes in their long forms", () => {
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

  test("a list of probes shares the schedule of the first, and nothing else of it", () => {
    const { probe } = load(
      'probe: [{ type: http, port: 9345, path: /supervisor, interval: 4s }, { type: http, serverName: "2001:DB8::1" }]',
    );
    expect(probe).toMatchObject({
      type: "all",
      intervalMs: 4000,
      probes: [
        { type: "http", port: 9345, path: "/supervisor", intervalMs: 4000, serverName: "api.k8s.example.com" },
        { type: "http", port: 6443, path: "/readyz", intervalMs: 4000, serverName: "2001:db8::1" },
      ],
    });
  });

  test("a list of one is that probe", () => {
    expect(load("probe: [{ type: tcp }]").probe).toEqual(load("probe: { type: tcp }").probe);
  });
});

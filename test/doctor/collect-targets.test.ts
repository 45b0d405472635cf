import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import type { EndpointConfig, ProbeConfig } from "../../src/config/config.js";
import { createAuthority, type IssuedCertificate } from "../../src/demo/certificates.js";
import { certificateFacts, collectTargets } from "../../src/doctor/collect-targets.js";
import { judgeTargets } from "../../src/doctor/judge-targets.js";
import type { ResultClass } from "../../src/health/health.js";
import type { RunProbe } from "../../src/health/probes/probe.js";
import { afterAllTests, afterThisTest } from "../support/cleanup.js";

const FQDN = "api.k8s.example.com";
const SCHEDULE = { intervalMs: 2_000, timeoutMs: 5_000, recheckMs: 1_000, rise: 2, fall: 3 };

function https(port: number, more: object = {}): ProbeConfig {
  const request = { path: "/readyz", expectStatus: [200], serverName: FQDN };
  return { ...SCHEDULE, type: "https", port, ca: "ca.crt", insecureSkipVerify: false, ...request, ...more };
}

const LOOPBACK = [{ id: "cp1", addresses: ["127.0.0.1"] }];

function endpoint(probe: ProbeConfig, targets: readonly object[] = LOOPBACK): EndpointConfig {
  return { fqdn: FQDN, port: 6443, probe, targets } as unknown as EndpointConfig;
}

/** A probe that has this result, and what was probed with it. */
function probing(resultClass: ResultClass = "ok") {
  const probed: string[] = [];
  const probe: RunProbe = async ({ address, fqdn, target }, config) => {
    probed.push(`${target} of ${fqdn} at ${address} ${"port" in config ? config.port : config.type}`);
    return { class: resultClass, reason: "r", durationMs: 1 };
  };
  return { probe, probed };
}

const cleanup = afterAllTests();
let issued: IssuedCertificate;
let port: number;

// A certificate of an authority that nobody trusts: it is looked at whoever signed it.
beforeAll(async () => {
  const authority = await createAuthority();
  issued = await authority.issue({ names: [FQDN, "kubernetes", "127.0.0.1", "2001:db8::11"] });
  const server = createHttpsServer({ cert: issued.certPem, key: issued.keyPem });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanup(() => server.close());
  port = (server.address() as AddressInfo).port;
});

describe("what is probed", () => {
  test.each([
    {
      name: "every address, but of targets that are switched off",
      targets: [
        { id: "cp1", addresses: ["192.0.2.11", "2001:db8::11"] },
        { id: "cp2", addresses: ["192.0.2.12"], disabled: true },
        { id: "cp3", addresses: ["192.0.2.13"], disabled: false },
      ],
      probed: ["cp1 of F at 192.0.2.11 6443", "cp1 of F at 2001:db8::11 6443", "cp3 of F at 192.0.2.13 6443"],
    },
    {
      name: "where the target's own probe says",
      targets: [{ id: "cp1", addresses: ["192.0.2.11"], probe: { address: "198.51.100.1", port: 7443 } }],
      probed: ["cp1 of F at 198.51.100.1 7443"],
    },
  ])("$name", async ({ targets, probed: expected }) => {
    const { probe, probed } = probing("refused");
    await collectTargets(probe, endpoint(https(6443), targets));
    expect(probed.map((text) => text.replace(FQDN, "F"))).toEqual(expected);
  });

  test.each([
    { name: "https", config: https(7443), expected: 7443 },
    { name: "a program", config: { ...SCHEDULE, type: "exec", command: ["/bin/true"] }, expected: 6443 },
    { name: "none", config: { ...SCHEDULE, type: "none" }, expected: 6443 },
    { name: "a list", config: { ...SCHEDULE, type: "all", probes: [https(8443), https(9443)] }, expected: 8443 },
  ] as const)("the port that is told: $name", async ({ config, expected }) => {
    const found = await collectTargets(probing("refused").probe, endpoint(config as ProbeConfig));
    expect(found).toEqual([
      { target: "cp1", address: "127.0.0.1", port: expected, result: { class: "refused", reason: "r", durationMs: 1 } },
    ]);
  });
});

describe("the certificate", () => {
  const facts = () => certificateFacts(new X509Certificate(issued.certPem));

  test.each<ResultClass>(["ok", "tls-untrusted", "not-ready", "auth-required"])(
    "is looked at after %s",
    async (one) => {
      const [found] = await collectTargets(probing(one).probe, endpoint(https(port)));
      expect(found?.certificate).toEqual(facts());
    },
  );

  test.each<ResultClass>(["refused", "unreachable", "timeout"])("is not asked for in vain after %s", async (one) => {
    const [found] = await collectTargets(probing(one).probe, endpoint(https(port)));
    expect(found).not.toHaveProperty("certificate");
  });

  test("is that of the https probe of a list", async () => {
    const tcp = { ...SCHEDULE, type: "tcp", port: 1 };
    const list = { ...SCHEDULE, type: "all", probes: [tcp, https(port)] } as unknown as ProbeConfig;
    const [found] = await collectTargets(probing().probe, endpoint(list));
    expect(found).toMatchObject({ port: 1, certificate: facts() });
  });

  test("is asked for without a name where the probe has an address for one (RFC 6066 §3)", async () => {
    const [found] = await collectTargets(probing().probe, endpoint(https(port, { serverName: "127.0.0.1" })));
    expect(found?.certificate).toEqual(facts());
  });

  test.each([
    { name: "the server speaks no TLS", behave: "close", timeoutMs: 5_000 },
    { name: "the server says nothing within the probe's timeout", behave: "silent", timeoutMs: 50 },
  ])("is absent if $name", async ({ behave, timeoutMs }) => {
    const sockets = new Set<{ destroy(): void }>();
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      if (behave === "close") socket.end("no\r\n");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    afterThisTest(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const config = https((server.address() as AddressInfo).port, { timeoutMs });
    const [found] = await collectTargets(probing().probe, endpoint(config));
    expect(found).not.toHaveProperty("certificate");
  });

  test("is told in the words of its findings, addresses as the configuration writes them", () => {
    const { altNames, dnsNames, addresses, issuer, fingerprint, validToMs } = facts();
    expect(altNames).toContain(`DNS:${FQDN}, DNS:kubernetes`);
    expect(dnsNames).toEqual([FQDN, "kubernetes"]);
    expect(addresses).toEqual(["127.0.0.1", "2001:db8::11"]);
    expect(issuer).not.toContain("\n");
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(validToMs).toBe(Date.parse(new X509Certificate(issued.certPem).validTo));
  });
});

test("kubeadm's certificates of an IPv6 cluster, each with its own and the Service's address, share no advertise address", async () => {
  const authority = await createAuthority();
  const own = ["2001:db8::11", "2001:db8::12"];
  const found = await Promise.all(
    own.map(async (address, index) => {
      const { certPem } = await authority.issue({ names: [FQDN, "fd00:10:96::1", address] });
      const certificate = certificateFacts(new X509Certificate(certPem));
      const result = { class: "ok", reason: "r", durationMs: 1 } as const;
      return { target: `cp${index}`, address, port: 6443, result, certificate };
    }),
  );
  const findings = judgeTargets(endpoint(https(6443)), found, Date.now());
  expect(findings.map(({ id }) => id)).not.toContain("advertise-address-shared");
});

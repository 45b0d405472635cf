import { describe, expect, test } from "vitest";
import { createCertificateWatch } from "../../src/health/certificates.js";
import type { ProbeReport } from "../../src/health/health-monitor.js";
import { HTTPS } from "./monitor-harness.js";

const DAY_MS = 86_400_000;
const NAMES = "DNS:api.k8s.example.com, IP Address:192.0.2.11";

function report(more: { expiryMs?: number; names?: string; fqdns?: string[]; address?: string } = {}): ProbeReport {
  const { expiryMs, names = NAMES, fqdns = ["api.k8s.example.com"], address = "192.0.2.11" } = more;
  const certificate = expiryMs === undefined ? {} : { certificateExpiryMs: expiryMs, certificateNames: names };
  return {
    address,
    config: HTTPS,
    result: { class: "ok", reason: "status 200", durationMs: 1, ...certificate },
    lagMs: 0,
    targets: fqdns.map((fqdn) => ({ fqdn, target: "cp1" })),
  };
}

describe("a certificate that ends", () => {
  test("is told of at 30 days, at 7 days and when it has ended, once each", () => {
    const watch = createCertificateWatch();
    const expiryMs = 100 * DAY_MS;
    const told: string[] = [];
    for (let hour = 0; hour < 101 * 24; hour += 1) {
      for (const warning of watch.look(report({ expiryMs }), hour * 3_600_000)) {
        if (warning.kind === "expiry") told.push(`day ${hour / 24}: ${warning.days}`);
      }
    }
    expect(told).toEqual(["day 70: 30", "day 93: 7", "day 100: 0"]);
  });

  test("is told of once with the most urgent warning if it is late already", () => {
    const watch = createCertificateWatch();
    const look = () => watch.look(report({ expiryMs: 3 * DAY_MS }), 0);
    expect(look()).toEqual([
      {
        kind: "expiry",
        fqdn: "api.k8s.example.com",
        target: "cp1",
        address: "192.0.2.11",
        days: 7,
        expiryMs: 3 * DAY_MS,
      },
    ]);
    expect(look()).toEqual([]);
  });

  test("is told of anew when it was replaced by another that ends soon", () => {
    const watch = createCertificateWatch();
    expect(watch.look(report({ expiryMs: 3 * DAY_MS }), 0)).toHaveLength(1);
    expect(watch.look(report({ expiryMs: 400 * DAY_MS }), 0)).toEqual([]);
    expect(watch.look(report({ expiryMs: 20 * DAY_MS }), 0)).toMatchObject([{ days: 30 }]);
  });

  test("is told of for each target and endpoint that is shown it", () => {
    const watch = createCertificateWatch();
    const fqdns = ["api.k8s.example.com", "alias.k8s.example.com"];
    const names = `${NAMES}, DNS:alias.k8s.example.com`;
    expect(watch.look(report({ expiryMs: 1, fqdns, names }), DAY_MS).map(({ fqdn }) => fqdn)).toEqual(fqdns);
    expect(watch.look(report({ expiryMs: 1, address: "192.0.2.12" }), DAY_MS)).toHaveLength(1);
  });
});

describe("a certificate without the endpoint's name", () => {
  const expiryMs = 400 * DAY_MS;

  test("is told of once, and again when its names have changed", () => {
    const watch = createCertificateWatch();
    const names = "DNS:cp1.internal";
    expect(watch.look(report({ expiryMs, names }), 0)).toEqual([
      { kind: "name", fqdn: "api.k8s.example.com", target: "cp1", address: "192.0.2.11", names },
    ]);
    expect(watch.look(report({ expiryMs, names }), 0)).toEqual([]);
    expect(watch.look(report({ expiryMs: expiryMs + 1, names }), 0)).toEqual([]);
    expect(watch.look(report({ expiryMs, names: `${names}, DNS:cp2.internal` }), 0)).toHaveLength(1);
    expect(watch.look(report({ expiryMs }), 0)).toEqual([]);
    expect(watch.look(report({ expiryMs, names }), 0)).toHaveLength(1);
  });

  test.each([
    ["a wildcard", "DNS:*.k8s.example.com", true],
    ["a wildcard of another depth", "DNS:*.example.com", false],
    ["another spelling", "DNS:API.K8S.example.com", true],
    ["addresses only", "IP Address:192.0.2.11", false],
    ["no names", "", false],
  ])("by %s", (_name, names, covers) => {
    expect(createCertificateWatch().look(report({ expiryMs, names }), 0)).toHaveLength(covers ? 0 : 1);
  });
});

test("a probe without a certificate says nothing", () => {
  expect(createCertificateWatch().look(report(), 0)).toEqual([]);
});

test("what is forgotten is told of anew", () => {
  const watch = createCertificateWatch();
  watch.look(report({ expiryMs: 1 }), DAY_MS);
  watch.forget((fqdn, target, address) => `${fqdn} ${target} ${address}` === "api.k8s.example.com cp1 192.0.2.11");
  expect(watch.look(report({ expiryMs: 1 }), DAY_MS)).toEqual([]);
  watch.forget(() => false);
  expect(watch.look(report({ expiryMs: 1 }), DAY_MS)).toHaveLength(1);
});

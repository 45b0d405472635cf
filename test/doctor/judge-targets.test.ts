import { describe, expect, test } from "vitest";
import type { EndpointConfig } from "../../src/config/config.js";
import type { CertificateFacts, TargetFacts } from "../../src/doctor/facts.js";
import { FINDINGS } from "../../src/doctor/finding.js";
import { judgeProbeResult, withdraws } from "../../src/doctor/judge-probe-result.js";
import { EXPIRES_SOON_MS, judgeTargets } from "../../src/doctor/judge-targets.js";
import { RESULT_CLASSES, type ResultClass } from "../../src/health/health.js";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const endpoint = { fqdn: "api.k8s.example.com", port: 6443, probe: { type: "https" } } as unknown as EndpointConfig;

/** An address of a target with a certificate of its own, good for a year; with changes. */
function target(last: number, change: Partial<CertificateFacts> = {}, resultClass: ResultClass = "ok"): TargetFacts {
  const address = `192.0.2.${last}`;
  const dnsNames = change.dnsNames ?? ["api.k8s.example.com"];
  return {
    target: `cp${last}`,
    address,
    port: 6443,
    result: { class: resultClass, reason: "r", durationMs: 1 },
    certificate: {
      altNames: dnsNames.map((name) => `DNS:${name}`).join(", "),
      dnsNames,
      addresses: [address],
      issuer: "CN=kubernetes",
      fingerprint: `${last}`.repeat(16),
      validToMs: NOW + 365 * 86_400_000,
      ...change,
    },
  };
}

const idsFor = (...targets: readonly TargetFacts[]) => judgeTargets(endpoint, targets, NOW).map(({ id }) => id);

describe("the names of a certificate are judged as the probe judges them", () => {
  test.each([
    { names: ["api.k8s.example.com"], covers: true },
    { names: ["API.K8S.example.com"], covers: true },
    { names: ["*.k8s.example.com"], covers: true },
    { names: ["kubernetes", "*.example.com"], covers: false },
    { names: ["ap*.k8s.example.com"], covers: false },
    { names: ["api.k8s.example.com."], covers: false },
    { names: [], covers: false },
  ])("$names", ({ names, covers }) => {
    expect(idsFor(target(1, { dnsNames: names }))).toEqual(covers ? [] : ["certificate-name-missing"]);
  });
});

test.each([
  { leftMs: EXPIRES_SOON_MS, ids: [] },
  { leftMs: EXPIRES_SOON_MS - 1, ids: ["certificate-expiring"] },
  { leftMs: 0, ids: ["certificate-expired"] },
])("a certificate that ends in $leftMs ms", ({ leftMs, ids }) => {
  expect(idsFor(target(1, { validToMs: NOW + leftMs }))).toEqual(ids);
});

test("targets that share a certificate, or an address in theirs, are told of", () => {
  const fingerprint = "ab";
  expect(idsFor(target(1, { fingerprint }), target(2, { fingerprint }))).toEqual(["targets-same-server"]);
  const addresses = ["10.96.0.1", "192.0.2.100"];
  expect(idsFor(target(1, { addresses }), target(2, { addresses }))).toEqual(["advertise-address-shared"]);
});

describe("results", () => {
  test.each(RESULT_CLASSES)("%s has a finding of the documentation, or is none", (resultClass) => {
    const found = judgeProbeResult("s", { class: resultClass, reason: "seen", durationMs: 1 });
    expect(found.length).toBe(resultClass === "ok" ? 0 : 1);
    for (const finding of found) {
      expect(Object.keys(FINDINGS)).toContain(finding.id);
      expect(finding.evidence).toContain("seen");
    }
  });

  test("one that is only overloaded is not down, unless a threshold says so", () => {
    expect(idsFor(target(1, {}, "overloaded"))).toEqual(["target-overloaded"]);
    expect(idsFor(target(1, {}, "not-ready"))).toEqual(["target-not-ready", "targets-all-down"]);
    const strict = { probe: { thresholds: { overloaded: 5 } } } as unknown as EndpointConfig;
    expect([withdraws("overloaded", endpoint), withdraws("overloaded", strict)]).toEqual([false, true]);
  });
});

import { expect, test } from "vitest";
import type { EndpointConfig } from "../../src/config/config.js";
import { judgeKubeconfigs, requiredShutdownDelaySeconds } from "../../src/doctor/judge-files.js";

const endpoint = {
  fqdn: "api.k8s.example.com",
  port: 6443,
  ttl: 5,
  targets: [{ id: "cp1", addresses: ["192.0.2.11", "2001:db8::11"] }],
  probe: { type: "https", intervalMs: 2_000, timeoutMs: 2_000, recheckMs: 1_000, rise: 2, fall: 3 },
} as unknown as EndpointConfig;

const cases = [
  { server: "https://api.k8s.example.com:6443", severity: undefined },
  { server: "https://192.0.2.11:6443", severity: "error", evidence: "the target cp1 alone" },
  { server: "https://[2001:db8::11]:6443", severity: "error", evidence: "the target cp1 alone" },
  { server: "https://198.51.100.1:6443", severity: "error", evidence: "is https://198.51.100.1:6443." },
  { server: "https://127.0.0.1:6444", severity: "warning", evidence: "on the machine itself" },
  { server: "https://[::1]:6444", severity: "warning", evidence: "on the machine itself" },
  { server: "no URL", severity: undefined },
] as const;

test.each(cases)("a kubeconfig with server: $server", ({ server, severity, ...says }) => {
  const [finding] = judgeKubeconfigs([{ file: "f", servers: [{ cluster: "c", server }] }], [endpoint]);
  expect(finding?.severity).toBe(severity);
  if ("evidence" in says) expect(finding?.evidence).toContain(says.evidence);
  if (severity !== undefined) expect(finding?.remedy).toContain("server: https://api.k8s.example.com:6443");
});

test("a shutdown delay covers detection of what says that it is not ready, and the TTL", () => {
  // 2.2 s until the next probe, 0.2 s until the second, 5 s of TTL.
  expect(requiredShutdownDelaySeconds(endpoint)).toBe(8);
});

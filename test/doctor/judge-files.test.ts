import { expect, test } from "vitest";
import type { EndpointConfig, ProbeConfig } from "../../src/config/config.js";
import { judgeManifests, requiredShutdownDelaySeconds, seesShutdown } from "../../src/doctor/judge-files.js";

const endpoint = {
  fqdn: "api.k8s.example.com",
  port: 6443,
  ttl: 5,
  targets: [{ id: "cp1", addresses: ["192.0.2.11", "2001:db8::11"] }],
  probe: { type: "https", path: "/readyz", intervalMs: 2_000, timeoutMs: 2_000, recheckMs: 1_000, rise: 2, fall: 3 },
} as unknown as EndpointConfig;

test("a shutdown delay covers detection of what says that it is not ready, and the TTL", () => {
  // 2.2 s until the next probe, 0.2 s until the second, 5 s of TTL.
  expect(requiredShutdownDelaySeconds(endpoint)).toBe(8);
});

test.each([
  { probe: { type: "https", path: "/readyz" }, sees: true },
  { probe: { type: "https", path: "/readyz?verbose" }, sees: true },
  { probe: { type: "https", path: "/livez" }, sees: false },
  { probe: { type: "http", path: "/healthz" }, sees: false },
  { probe: { type: "exec" }, sees: true },
  { probe: { type: "tcp" }, sees: false },
  { probe: { type: "none" }, sees: false },
])("$probe sees that an apiserver is about to stop: $sees", ({ probe, sees }) => {
  expect(seesShutdown(probe as ProbeConfig)).toBe(sees);
  const blind = { ...endpoint, probe: { ...endpoint.probe, ...probe } } as EndpointConfig;
  const manifest = { file: "f", shutdownDelayMs: 0, anonymousAuth: true, graceSeconds: 30 };
  expect(judgeManifests([manifest], [blind]).map(({ id }) => id)).toEqual(sees ? ["shutdown-delay-short"] : []);
});

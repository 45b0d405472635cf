import { expect, test } from "vitest";
import type { EndpointConfig } from "../../src/config/config.js";
import { requiredShutdownDelaySeconds } from "../../src/doctor/judge-files.js";

const endpoint = {
  fqdn: "api.k8s.example.com",
  port: 6443,
  ttl: 5,
  targets: [{ id: "cp1", addresses: ["192.0.2.11", "2001:db8::11"] }],
  probe: { type: "https", intervalMs: 2_000, timeoutMs: 2_000, recheckMs: 1_000, rise: 2, fall: 3 },
} as unknown as EndpointConfig;

test("a shutdown delay covers detection of what says that it is not ready, and the TTL", () => {
  // 2.2 s until the next probe, 0.2 s until the second, 5 s of TTL.
  expect(requiredShutdownDelaySeconds(endpoint)).toBe(8);
});

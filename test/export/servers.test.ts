import { describe, expect, test } from "vitest";
import type { EndpointView } from "../../src/admin/schemas.js";
import { exportedEndpoint } from "../../src/export/servers.js";

const view = (answers: string[]): EndpointView => ({
  endpoint: "api.k8s.example.com",
  port: 6443,
  ttl: 5,
  mode: "healthy",
  upTargets: 1,
  minHealthy: 1,
  answers,
  targets: [
    { id: "cp1", addresses: ["192.0.2.11", "2001:db8::11"].map((address) => addressView(address)) },
    { id: "cp2", addresses: [addressView("192.0.2.12")] },
  ],
});

// What the probes say does not matter here.
const addressView = (address: string) => ({ address, health: "up" as const, sinceMs: 0, answered: true });

describe("an endpoint to export", () => {
  test("has every address of its targets, and says which are answered", () => {
    expect(exportedEndpoint(view(["192.0.2.12", "2001:db8::11"])).servers).toEqual([
      { name: "cp1", address: "192.0.2.11", isAnswered: false },
      { name: "cp1-2", address: "2001:db8::11", isAnswered: true },
      { name: "cp2", address: "192.0.2.12", isAnswered: true },
    ]);
  });

  test("has the addresses of a fallback, in one order, when these are answered", () => {
    const { servers } = exportedEndpoint(view(["198.51.100.2", "198.51.100.1"]));
    expect(servers.filter(({ isAnswered }) => isAnswered)).toEqual([
      { name: "fallback1", address: "198.51.100.1", isAnswered: true },
      { name: "fallback2", address: "198.51.100.2", isAnswered: true },
    ]);
  });
});

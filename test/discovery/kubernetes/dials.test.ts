import { describe, expect, test } from "vitest";
import type { EndpointConfig } from "../../../src/config/config.js";
import { type DialSurroundings, dialsFor } from "../../../src/discovery/kubernetes/dials.js";

const fqdn = "api.k8s.example.com";
const probe = { type: "https", serverName: "api.k8s.example.com" } as unknown as EndpointConfig["probe"];
const servers = ["192.0.2.11", "192.0.2.12"].map((address) => ({ address, port: 6443 }));

const hosts = (host: string, more: Partial<DialSurroundings> = {}) =>
  dialsFor({ host, port: 6443 }, { endpoint: { fqdn, probe }, zone: "k8s.example.com", servers, ...more }).map(
    (dial) => dial.host,
  );

describe("where the API is asked", () => {
  const rows = [
    {
      name: "at the targets, then where the credential says",
      host: "192.0.2.99",
      dials: ["192.0.2.11", "192.0.2.12", "192.0.2.99"],
    },
    { name: "at each place once", host: "192.0.2.11", dials: ["192.0.2.11", "192.0.2.12"] },
    { name: "never by the endpoint's name", host: fqdn, dials: ["192.0.2.11", "192.0.2.12"] },
    { name: "never by a name of the zone", host: "cp1.api.k8s.example.com", dials: ["192.0.2.11", "192.0.2.12"] },
    { name: "by another name last", host: "lb.example.com", dials: ["192.0.2.11", "192.0.2.12", "lb.example.com"] },
  ] as const;
  test.each(rows)("$name", ({ host, dials }) => expect(hosts(host)).toEqual(dials));

  test("first where it was last, and last where it fell silent", () => {
    expect(hosts("192.0.2.99", { lastGood: "192.0.2.99", avoid: "192.0.2.11" })).toEqual([
      "192.0.2.99",
      "192.0.2.12",
      "192.0.2.11",
    ]);
  });

  test("at no more than eight places, that of the credential among them", () => {
    const many = Array.from({ length: 50 }, (_, index) => ({ address: `192.0.2.${index + 1}`, port: 6443 }));
    const dials = hosts("198.51.100.1", { servers: many });
    expect(dials).toHaveLength(8);
    expect(dials.at(-1)).toBe("198.51.100.1");
  });
});

describe("the name of the server", () => {
  const named = (host: string, serverName?: string) =>
    dialsFor(
      { host, port: 6443, ...(serverName === undefined ? {} : { serverName }) },
      { endpoint: { fqdn, probe }, zone: "k8s.example.com", servers: servers.slice(0, 1) },
    )[0];
  test("is the credential's", () => {
    expect(named("192.0.2.1", "k")).toMatchObject({ serverName: "k", identities: ["k"] });
    expect(named(fqdn)).toMatchObject({ host: "192.0.2.11", serverName: fqdn, identities: [fqdn] });
  });
  test("is that of the probes where the credential has an address", () => {
    expect(named("192.0.2.1")).toMatchObject({
      serverName: fqdn,
      identities: ["192.0.2.11", fqdn, "kubernetes.default.svc"],
    });
  });
});

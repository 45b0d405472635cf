import { describe, expect, test } from "vitest";
import { discoverOptions } from "../../src/config/schema-discovery.js";
import { loadRight, ZONE, zoneWith } from "./folder.js";

function discoverOf(text: string) {
  const { config, warnings } = loadRight({ "zone.yaml": text });
  return { discover: config.zones[0]?.endpoints.at(-1)?.discover, warnings };
}

describe("discover", () => {
  test("completes every type of source", () => {
    const { discover } = discoverOf(
      zoneWith(
        "discover: [{ type: kubernetes, inCluster: true }, { type: dns, name: Masters.corp.example.com., server: 10.0.0.53 }, { type: dns, name: _https._tcp.cp.example.com, server: '[2001:db8::53]:5353', interval: 5s }, { type: file, path: a.json }, { type: file, path: a.json }]",
      ),
    );
    expect(discover).toMatchObject({ forgetAfterMs: 3_600_000, maxTargets: 64 });
    expect(discover?.sources).toMatchObject([
      { name: "kubernetes:nodes", resource: "nodes", addressType: "InternalIP", honorCordon: false },
      { name: "dns:masters.corp.example.com", server: { address: "10.0.0.53", port: 53 }, intervalMs: 30_000 },
      { name: "dns:_https._tcp.cp.example.com", server: { port: 5353 }, intervalMs: 5_000, records: ["SRV"] },
      { name: "file:a.json", path: expect.stringMatching(/^\/.*\/a\.json$/) },
      { name: "file:a.json#2" },
    ]);
  });

  test("stands alone, without targets, and takes away the limit of minHealthy", () => {
    const { discover } = discoverOf(
      `${ZONE}  b: { discover: [{ type: file, path: a.json }], minHealthy: 3, forgetAfter: 2h, maxTargets: 7 }\n`,
    );
    expect(discover).toMatchObject({ forgetAfterMs: 7_200_000, maxTargets: 7 });
  });

  test("warns where probes verify no certificate", () => {
    const { warnings } = discoverOf(zoneWith("discover: [{ type: file, path: a.json }]\nprobe: { type: tcp }"));
    expect(warnings.map(({ code }) => code)).toContain("CONFIG_DISCOVER_UNVERIFIED");
  });

  test("warns where what is written leaves no room for more", () => {
    const text = (most: number) =>
      `${ZONE}  b: { targets: { a: 192.0.2.1, b: 192.0.2.2 }, discover: [{ type: file, path: a.json }], maxTargets: ${most} }\n`;
    const told = (most: number) =>
      discoverOf(text(most)).warnings.filter(({ code }) => code === "CONFIG_DISCOVER_NO_ROOM");
    expect(told(3)).toEqual([]);
    expect(told(2)).toMatchObject([{ message: expect.stringContaining("maxTargets is 2, and 2 targets are written") }]);
  });

  test("refuses what is no server", () => {
    for (const server of ["masters", "10.0.0.53:0", 53]) {
      expect(discoverOptions.server.safeParse(server).success).toBe(false);
    }
  });
});

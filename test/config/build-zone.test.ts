import { describe, expect, test } from "vitest";
import { loadRight, MAIN, ZONE } from "./folder.js";

const zoneOf = (zone: string, main = MAIN) => loadRight({ "zone.yaml": zone, "livezone.yaml": main }).config.zones[0];

describe("a zone", () => {
  test("has the built-in values where nothing is written", () => {
    expect(zoneOf(ZONE)).toMatchObject({
      zone: "k8s.example.com",
      nameserverTtl: 300,
      soa: { contact: "hostmaster.k8s.example.com", negativeTtl: 5, refresh: 7200, retry: 900, expire: 1_209_600 },
      allowSpecialAddresses: false,
    });
  });

  test("its TTL is that of the main file's defaults, unless it has its own", () => {
    const main = `${MAIN}defaults: { ttl: 7 }\n`;
    expect(zoneOf(ZONE, main)?.endpoints[0]?.ttl).toBe(7);
    expect(zoneOf(`${ZONE}ttl: 9\n`, main)?.endpoints[0]?.ttl).toBe(9);
  });

  test("its records are told with their place in the file", () => {
    const records = zoneOf(`${ZONE}records: |\n  a A 192.0.2.1\n  b A 192.0.2.2\n`)?.records;
    expect(records?.defaultTtl).toBe(5);
    expect(records?.locate(2, 3)).toMatchObject({ line: 8, column: 5 });
  });
});

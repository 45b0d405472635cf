import { describe, expect, test } from "vitest";
import { loadRight, loadWrong, ZONE } from "./folder.js";

const zoneWith = (nameservers: string, more = "") => `${ZONE.replace("{ ns1: 192.0.2.53 }", nameservers)}${more}`;
const zoneOf = (text: string) => loadRight({ "zone.yaml": text }).config.zones[0];

describe("name servers", () => {
  test("are relative to the zone, or absolute with a dot", () => {
    const zone = zoneOf(zoneWith('{ NS1: [192.0.2.53, "2001:db8::53"], ns.example.net.: [] }'));
    expect(zone?.nameservers).toMatchObject([
      { name: "ns1", addresses: ["192.0.2.53", "2001:db8::53"] },
      { name: "ns.example.net.", addresses: [] },
    ]);
  });

  test.each([
    ["{}", "CONFIG_NAMESERVERS_EMPTY"],
    ["{ ns1: [] }", "CONFIG_GLUE_MISSING"],
    ["{ ns1.k8s.example.com.: [] }", "CONFIG_GLUE_MISSING"],
    ["{ ns1.k8s.example.com: 192.0.2.53 }", "CONFIG_NAME_ABSOLUTE"],
    ["{ ns1: 192.0.2.53, NS1: 192.0.2.54 }", "CONFIG_NAME_DUPLICATE"],
    ["{ ns1: [192.0.2.53, 192.0.2.53] }", "CONFIG_ADDRESS_DUPLICATE"],
    ["{ a..b: 192.0.2.53 }", "CONFIG_NAME"],
  ])("%s are refused", (nameservers, code) => {
    expect(loadWrong({ "zone.yaml": zoneWith(nameservers) }).map((problem) => problem.code)).toEqual([code]);
  });

  test("their TTL is 300 s, or nameserverTtl", () => {
    expect(zoneOf(ZONE)?.nameserverTtl).toBe(300);
    expect(zoneOf(`${ZONE}nameserverTtl: 3600\n`)?.nameserverTtl).toBe(3600);
    expect(loadWrong({ "zone.yaml": `${ZONE}nameserverTtl: 0\n` })).toMatchObject([{ code: "CONFIG_TTL_ZERO" }]);
  });
});

import { describe, expect, test } from "vitest";
import { loadRight, loadWrong, ZONE, zoneWith } from "./folder.js";

const endpointOf = (lines: string) => loadRight({ "zone.yaml": zoneWith(lines) }).config.zones[0]?.endpoints[0];
const codesOf = (text: string) => loadWrong({ "zone.yaml": text }).map(({ code }) => code);

describe("an endpoint", () => {
  test("has the built-in values where nothing is written", () => {
    expect(endpointOf("port: 6443")).toMatchObject({
      ...{ name: "api", fqdn: "api.k8s.example.com", port: 6443, ttl: 5, minHealthy: 1, whenUnknown: "withhold" },
      ...{ whenAllDown: { kind: "all" }, statusRecord: false },
    });
  });

  test.each([
    ["all", { kind: "all" }],
    ["none", { kind: "none" }],
    ["{ addresses: [192.0.2.9] }", { kind: "addresses", addresses: ["192.0.2.9"] }],
  ])("whenAllDown: %s", (written, whenAllDown) => {
    expect(endpointOf(`whenAllDown: ${written}`)).toMatchObject({ whenAllDown });
  });

  test("may not need more targets than it has, disabled ones apart", () => {
    expect(codesOf(zoneWith("minHealthy: 3"))).toEqual(["CONFIG_MIN_HEALTHY"]);
    const targets = "targets: { cp1: 192.0.2.11, cp2: { addresses: 192.0.2.12, disabled: true } }";
    expect(codesOf(zoneWith(`minHealthy: 2\n${targets}`))).toEqual(["CONFIG_MIN_HEALTHY"]);
  });

  test.each([
    ["api.k8s.example.com", "CONFIG_NAME_ABSOLUTE"],
    ["api.", "CONFIG_NAME_ABSOLUTE"],
    ['""', "CONFIG_NAME"],
    ["API", "CONFIG_NAME_DUPLICATE"],
  ])("may not be called %s beside api", (name, code) => {
    expect(codesOf(`${ZONE}  ${name}:\n    targets: { x: 192.0.2.13 }\n`)).toEqual([code]);
  });
});

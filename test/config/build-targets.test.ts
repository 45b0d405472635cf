import { describe, expect, test } from "vitest";
import { loadRight, loadWrong, zoneWith } from "./folder.js";

const targetsOf = (written: string) =>
  loadRight({ "zone.yaml": zoneWith(`targets: ${written}`) }).config.zones[0]?.endpoints[0]?.targets;

describe("targets", () => {
  test("in the short and the long form", () => {
    const long = "{ addresses: [192.0.2.12], probe: { address: 10.0.0.12, port: 7443 }, disabled: true }";
    expect(targetsOf(`{ CP1: 192.0.2.11, cp2: ${long} }`)).toMatchObject([
      { id: "cp1", addresses: ["192.0.2.11"] },
      { id: "cp2", addresses: ["192.0.2.12"], probe: { address: "10.0.0.12", port: 7443 }, disabled: true },
    ]);
  });

  test.each([
    ["{}", "CONFIG_TARGETS_EMPTY"],
    ["{ a: { addresses: 192.0.2.1, disabled: true } }", "CONFIG_TARGETS_EMPTY"],
    ["{ a.b: 192.0.2.1 }", "CONFIG_TARGET_ID"],
    ['{ "": 192.0.2.1 }', "CONFIG_TARGET_ID"],
    ["{ a: 192.0.2.1, A: 192.0.2.2 }", "CONFIG_NAME_DUPLICATE"],
    ["{ a: 192.0.2.1, b: 192.0.2.1 }", "CONFIG_ADDRESS_DUPLICATE"],
  ])("%s are refused", (written, code) => {
    expect(loadWrong({ "zone.yaml": zoneWith(`targets: ${written}`) }).map((problem) => problem.code)).toEqual([code]);
  });

  test("a port of a target's own is refused beside several probes", () => {
    const text = zoneWith(
      "targets: { a: { addresses: 192.0.2.1, probe: { port: 1 } } }\nprobe: [{ type: tcp, port: 1 }, { type: tcp, port: 2 }]",
    );
    expect(loadWrong({ "zone.yaml": text }).map(({ code }) => code)).toEqual(["CONFIG_PROBE_LIST"]);
  });
});

import { describe, expect, test } from "vitest";
import { loadRight, loadWrong, ZONE, zoneWith } from "./folder.js";

const SPECIAL: readonly (readonly [where: string, text: string])[] = [
  ["a name server", ZONE.replace("192.0.2.53", "127.0.0.1")],
  ["a target", zoneWith("targets: { a: 169.254.1.1 }")],
  ["a target in the long form", zoneWith('targets: { a: { addresses: ["fe80::1"] } }')],
  ["whenAllDown", zoneWith("whenAllDown: { addresses: [224.0.0.1] }")],
];

describe("addresses that no client could use", () => {
  test.each(SPECIAL)("of %s are refused", (_where, text) => {
    expect(loadWrong({ "zone.yaml": text }).map(({ code }) => code)).toEqual(["CONFIG_ADDRESS_SPECIAL"]);
  });

  test.each(SPECIAL)("of %s are accepted where that is asked for", (_where, text) => {
    expect(loadRight({ "zone.yaml": `${text}allowSpecialAddresses: true\n` }).warnings).toEqual([]);
  });
});

test("an address that stands twice is told with both places", () => {
  const [problem] = loadWrong({ "zone.yaml": zoneWith("targets: { a: [192.0.2.1, 192.0.2.2], b: 192.0.2.1 }") });
  expect(problem?.message).toBe(
    'endpoints.api.targets.b is "192.0.2.1", which is already at endpoints.api.targets.a[0].',
  );
});

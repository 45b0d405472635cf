import { expect, test } from "vitest";
import { loadRight, zoneWith } from "./folder.js";

test("entries keep the order in which they are written, those of digits too", () => {
  const text = zoneWith("targets: { z: 192.0.2.1, 10: 192.0.2.2, a: 192.0.2.3, 2: 192.0.2.4 }");
  const targets = loadRight({ "zone.yaml": text }).config.zones[0]?.endpoints[0]?.targets ?? [];
  expect(targets.map(({ id }) => id)).toEqual(["z", "10", "a", "2"]);
});

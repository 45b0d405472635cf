import { expect, test } from "vitest";
import { CompiledZones } from "../../src/answers/compiled-zones.js";
import { tableDistribution } from "../../src/server/table-distribution.js";
import { formatName, type Name } from "../../src/wire/name.js";
import { serveSketch } from "../answers/serve.js";

function setUp() {
  const sent: string[] = [];
  const pool = {
    loadZones: (zones: readonly Name[]) => sent.push(...zones.map((zone) => `load ${formatName(zone)}`)),
    changeZone: ({ kind, zone }: { readonly kind: string; readonly zone: Name }) =>
      sent.push(`${kind} ${formatName(zone)}`),
  };
  const subscriber = tableDistribution(pool, new CompiledZones());
  return { subscriber, sent };
}

const sketch = (zone: string) =>
  serveSketch({ zone, endpoints: { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"] } } });
const NOW = 0;

test("what happens in one turn of the event loop goes out at its end, and a zone that changed twice once", async () => {
  const { subscriber, sent } = setUp();
  const one = sketch("one.test");
  subscriber["zone-added"]?.({ type: "zone-added", zone: one.live }, NOW);
  subscriber["zone-added"]?.({ type: "zone-added", zone: sketch("two.test").live }, NOW);
  expect(sent).toEqual([]);
  await Promise.resolve();
  expect(sent.splice(0)).toEqual(["load one.test.", "load two.test."]);
  for (const targets of [{}, { cp1: ["192.0.2.11"] }]) {
    const change = one.setAnswer("api", targets);
    if (change !== undefined) subscriber["zone-changed"]?.({ type: "zone-changed", change }, NOW);
  }
  await Promise.resolve();
  expect(sent).toEqual(["zone-changed one.test."]);
});

test("a zone goes behind those that come in its place", async () => {
  const { subscriber, sent } = setUp();
  subscriber["zone-added"]?.({ type: "zone-added", zone: sketch("one.test").live }, NOW);
  subscriber["zone-removed"]?.({ type: "zone-removed", zone: sketch("old.test").zone.name }, NOW);
  await Promise.resolve();
  expect(sent).toEqual(["load one.test.", "zone-removed old.test."]);
});

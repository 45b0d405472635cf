import { expect, test } from "vitest";
import { CompiledZones } from "../../src/answers/compiled-zones.js";
import { parseName } from "../../src/wire/name.js";
import { serveSketch } from "./serve.js";

const THREE = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"] };

function setUp() {
  const served = serveSketch({ endpoints: { api: THREE } });
  const zones = new CompiledZones();
  zones.add(served.live);
  return { served, zones, name: served.zone.name };
}

test("a zone is compiled whole once for all who load it, and again when it has changed", () => {
  const { served, zones, name } = setUp();
  const first = zones.whole(name);
  expect(zones.whole(name)).toBe(first);
  const change = served.setAnswer("api", { cp1: THREE.cp1 });
  if (change !== undefined) zones.change(change);
  expect(zones.whole(name)).toMatchObject({ kind: "zone", serial: served.live.serial });
  expect(zones.whole(name)).not.toBe(first);
});

test("what changed several times is one message, as it is after the last", () => {
  const { served, zones, name } = setUp();
  for (const targets of [{ cp1: THREE.cp1 }, { cp2: THREE.cp2, cp9: ["192.0.2.19"] }, { cp2: THREE.cp2 }]) {
    const change = served.setTargets("api", targets);
    if (change !== undefined) zones.change(change);
  }
  const messages = zones.takeChanges();
  expect(messages).toMatchObject([{ kind: "zone-changed", zone: name, serial: served.live.serial }]);
  const [message] = messages;
  if (message?.kind !== "zone-changed") throw new Error("no change");
  const gone = ["cp1.api", "cp3.api", "cp9.api"].map((text) => parseName(`${text}.k8s.example.test.`));
  expect(new Set(message.removed)).toEqual(new Set(gone));
  expect(zones.takeChanges()).toEqual([]);
});

test("a zone that is removed has neither a whole nor changes", () => {
  const { served, zones, name } = setUp();
  const change = served.setAnswer("api", {});
  if (change !== undefined) zones.change(change);
  zones.remove(name);
  if (change !== undefined) zones.change(change);
  expect(zones.takeChanges()).toEqual([]);
  expect(zones.whole(name)).toBeUndefined();
  expect([...zones.names()]).toEqual([]);
});

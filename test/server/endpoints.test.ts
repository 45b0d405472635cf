import { expect, test } from "vitest";
import type { Snapshot } from "../../src/health/health.js";
import { ServedEndpoints, type ZoneWatcher } from "../../src/server/endpoints.js";
import { formatName } from "../../src/wire/name.js";
import { sketchZone, type ZoneSketch } from "../answers/serve.js";
import { createFakeClock } from "../support/fake-clock.js";

const THREE = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"] };
const FQDN = "api.one.test";

type Targets = Readonly<Record<string, readonly string[]>>;

/** Health in which every target is up but those named. */
function snapshot(endpoints: Readonly<Record<string, Targets>>, down: readonly string[] = []): Snapshot {
  const health = Object.entries(endpoints).map(([fqdn, targets]) => ({
    fqdn,
    targets: Object.entries(targets).map(([id, addresses]) => ({
      id,
      addresses: addresses.map((address) => ({
        address,
        health: down.includes(id) ? ("down" as const) : ("up" as const),
        sinceMs: 0,
      })),
    })),
  }));
  return { endpoints: new Map(health.map((endpoint) => [endpoint.fqdn, endpoint])) };
}

function setUp() {
  const told: string[] = [];
  const watcher: ZoneWatcher = {
    onZoneAdded: ({ zone }) => told.push(`added ${formatName(zone.name)}`),
    onZoneRemoved: (zone) => told.push(`removed ${formatName(zone)}`),
    onChange: ({ zone, rrsets, appeared, disappeared }) =>
      told.push(`changed ${formatName(zone)} ${rrsets.length} +${appeared.length} -${disappeared.length}`),
  };
  const clock = createFakeClock();
  return { served: new ServedEndpoints(clock, watcher), told, clock };
}

const zone = (name: string, endpoints: ZoneSketch["endpoints"] = { api: THREE }) =>
  sketchZone({ zone: name, endpoints });
const position = { file: "zone.yaml", line: 1, column: 1 };
const configured = (targets: Targets) =>
  Object.entries(targets).map(([id, addresses]) => ({ position, id, addresses }));

test("a reload tells of the zones that differ, and of no other; serials go on", async () => {
  const { served, told, clock } = setUp();
  const health = snapshot({ [FQDN]: THREE, "api.two.test": THREE, "api.three.test": THREE });
  served.replaceZones([zone("one.test"), zone("two.test")], health);
  expect(told.splice(0)).toEqual(["added one.test.", "added two.test."]);
  const before = served.zones();
  await clock.advance(5_000);
  const shrunk = snapshot({ [FQDN]: THREE, "api.two.test": { cp1: THREE.cp1 }, "api.three.test": THREE });
  const two = zone("two.test", { api: { cp1: THREE.cp1 } });
  served.replaceZones([zone("three.test"), zone("one.test"), two], shrunk);
  expect(told.splice(0)).toEqual(["added three.test.", "changed two.test. 4 +0 -2"]);
  expect(served.zones().map(({ zone }) => zone)).toEqual(["three.test", "one.test", "two.test"]);
  expect(served.zones()[1]?.serial).toBe(before[0]?.serial);
  expect(served.zones()[2]?.serial).toBeGreaterThan(before[1]?.serial ?? 0);
  expect([...served.endpoints.keys()]).toEqual(["api.three.test", FQDN, "api.two.test"]);
  served.replaceZones([two], shrunk);
  expect(told).toEqual(["removed three.test.", "removed one.test."]);
  expect(served.follow(FQDN, health)).toBeUndefined();
});

test("answers follow health, and the last healthy ones are remembered", () => {
  const { served, told } = setUp();
  served.replaceZones([zone("one.test")], snapshot({ [FQDN]: THREE }));
  const followed = served.follow(FQDN, snapshot({ [FQDN]: THREE }, ["cp1"]));
  expect(followed?.change).toBeDefined();
  expect(followed?.before.upTargets).toBe(3);
  expect(served.endpoints.get(FQDN)?.answerable.upTargets).toBe(2);
  expect(served.follow(FQDN, snapshot({ [FQDN]: THREE }, ["cp1"]))?.change).toBeUndefined();
  served.follow(FQDN, snapshot({ [FQDN]: THREE }, ["cp1", "cp2", "cp3"]));
  expect(served.endpoints.get(FQDN)?.lastHealthy.map(({ target }) => target)).toEqual(["cp2", "cp3"]);
  expect(told.filter((line) => line.startsWith("changed"))).toHaveLength(2);
});

test("targets change at run time: their names come and go, and caches are given time", async () => {
  const { served, told, clock } = setUp();
  served.replaceZones([zone("one.test"), zone("two.test")], snapshot({ [FQDN]: THREE, "api.two.test": THREE }));
  told.length = 0;
  await clock.advance(60_000);
  const next = { cp3: THREE.cp3, cp4: ["192.0.2.14"] };
  const followed = served.setTargets(FQDN, configured(next), snapshot({ [FQDN]: next }));
  expect(told).toEqual(["changed one.test. 5 +1 -2"]);
  expect(followed?.endpoint.config.targets.map(({ id }) => id)).toEqual(["cp3", "cp4"]);
  expect(served.safeAtMs(FQDN, "cp1")).toBe(clock.wallMs() + 6_000);
  expect(served.safeAtMs(FQDN, "cp4")).toBeUndefined();
  expect(served.follow(FQDN, snapshot({ [FQDN]: next }, ["cp3"]))?.change).toBeDefined();
  expect(served.endpoints.get(FQDN)?.answerable.addresses.map(({ target }) => target)).toEqual(["cp4"]);
  expect(served.setTargets("api.nowhere.test", [], snapshot({}))).toBeUndefined();
});

test("a target that cannot have its name is refused, and nothing has changed", () => {
  const { served, told } = setUp();
  served.replaceZones(
    [zone("one.test", { api: THREE, "x.api": THREE })],
    snapshot({ [FQDN]: THREE, "x.api.one.test": THREE }),
  );
  told.length = 0;
  const targets = { ...THREE, x: ["192.0.2.14"] };
  expect(() => served.setTargets(FQDN, configured(targets), snapshot({ [FQDN]: targets }))).toThrow(
    expect.objectContaining({ code: "TARGET_NAME_CONFLICT" }),
  );
  expect(told).toEqual([]);
  expect(served.endpoints.get(FQDN)?.config.targets).toHaveLength(3);
});

test("an endpoint that moves to another zone stays served, with what is known of it", () => {
  const { served, told } = setUp();
  served.replaceZones([zone("one.test")], snapshot({ [FQDN]: THREE }));
  served.follow(FQDN, snapshot({ [FQDN]: THREE }, ["cp1"]));
  told.length = 0;
  const down = snapshot({ [FQDN]: THREE }, ["cp1", "cp2", "cp3"]);
  served.replaceZones([zone("api.one.test", { "@": THREE })], down);
  expect(told).toEqual(["added api.one.test.", "removed one.test."]);
  expect(served.endpoints.get(FQDN)?.zone.zone).toBe("api.one.test");
  expect(served.endpoints.get(FQDN)?.lastHealthy).toHaveLength(2);
});

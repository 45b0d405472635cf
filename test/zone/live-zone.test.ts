import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TYPE } from "../../src/wire/constants.js";
import { formatName, type Name, parseName } from "../../src/wire/name.js";
import { createZoneEndpoint } from "../../src/zone/endpoint.js";
import { LiveZone, type ZoneChange } from "../../src/zone/live-zone.js";
import { answering, SERIAL, sketchZone } from "../answers/serve.js";

const THREE = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"] };
const ZONE = sketchZone({ endpoints: { api: THREE }, records: "a.deep 60 IN A 192.0.2.1\napi 60 IN TXT fixed\n" });
const AT = SERIAL * 1000;

function live(zone = ZONE, targets: Readonly<Record<string, readonly string[]>> = THREE): LiveZone {
  return new LiveZone(zone, new Map(zone.endpoints.map(({ fqdn }) => [fqdn, answering(targets)])), AT);
}

function setTargets(zone: LiveZone, targets: Readonly<Record<string, readonly string[]>>): ZoneChange | undefined {
  const endpoint = zone.endpoint("api.k8s.example.test");
  if (endpoint === undefined) throw new Error("no endpoint");
  const { config } = endpoint;
  const own = Object.entries(targets).map(([id, addresses]) => ({ position: config.position, id, addresses }));
  return zone.setEndpoint(createZoneEndpoint({ ...config, targets: own }, zone.zone.name), answering(targets), AT);
}

const short = (name: Name): string => formatName(name).replace(".k8s.example.test.", "");

/** A change as lines: `name type records before > records after`, `+name`, `-name`. */
function lines(change: ZoneChange | undefined): string[] {
  if (change === undefined) return [];
  const { rrsets, appeared, disappeared } = change;
  return [
    ...rrsets.map(
      ({ name, type, before, after }) =>
        `${short(name)} ${type} ${before?.rdatas.length ?? 0} > ${after?.rdatas.length ?? 0}`,
    ),
    ...appeared.map((name) => `+${short(name)}`),
    ...disappeared.map((name) => `-${short(name)}`),
  ].sort();
}

describe("a change", () => {
  test("of health holds the RRsets that differ, and both serials; no name appears or disappears", () => {
    const zone = live();
    const endpoint = zone.endpoint("api.k8s.example.test");
    const change = endpoint && zone.setEndpoint(endpoint, answering({ cp1: THREE.cp1 }), AT);
    expect(lines(change)).toEqual(["_https._tcp.api 33 3 > 1", "api 1 3 > 1", "cp2.api 1 1 > 0", "cp3.api 1 1 > 0"]);
    expect(change).toMatchObject({ zone: ZONE.name, serialBefore: SERIAL, serial: SERIAL + 1 });
    expect(zone.serial).toBe(SERIAL + 1);
    expect(zone.has(parseName("cp2.api.k8s.example.test."))).toBe(true);
    expect([...zone.rrsets(parseName("api.k8s.example.test.")).keys()].sort()).toEqual([TYPE.A, TYPE.TXT]);
  });

  test("that changes nothing is none, and keeps the serial", () => {
    const zone = live();
    expect(setTargets(zone, THREE)).toBeUndefined();
    expect(zone.replace(ZONE, new Map([["api.k8s.example.test", answering(THREE)]]), AT)).toBeUndefined();
    expect(zone.serial).toBe(SERIAL);
  });

  test("of the targets lets their names appear and disappear", () => {
    const zone = live();
    expect(lines(setTargets(zone, { cp1: THREE.cp1, cp4: ["192.0.2.14"] }))).toEqual([
      "+cp4.api",
      "-cp2.api",
      "-cp3.api",
      "_https._tcp.api 33 3 > 2",
      "api 1 3 > 2",
      "cp2.api 1 1 > 0",
      "cp3.api 1 1 > 0",
      "cp4.api 1 0 > 1",
    ]);
  });

  test("of the configuration is told like any other", () => {
    const zone = live();
    const other = sketchZone({ endpoints: { api: THREE }, records: "b.c 60 IN A 192.0.2.2\napi 60 IN TXT fixed\n" });
    expect(lines(zone.replace(other, new Map([["api.k8s.example.test", answering(THREE)]]), AT))).toEqual([
      "+b.c",
      "+c",
      "-a.deep",
      "-deep",
      "a.deep 1 1 > 0",
      "b.c 1 0 > 1",
    ]);
    expect(zone.zone).toBe(other);
  });

  test("a TTL alone is a change", () => {
    const zone = live();
    const endpoint = zone.endpoint("api.k8s.example.test");
    if (endpoint === undefined) throw new Error("no endpoint");
    const slow = createZoneEndpoint({ ...endpoint.config, ttl: 60 }, ZONE.name);
    expect(zone.setEndpoint(slow, answering(THREE), AT)?.rrsets.every(({ after }) => after?.ttl === 60)).toBe(true);
  });
});

test("a name where something else stands stays when a target of that name goes", () => {
  const zone = live(sketchZone({ endpoints: { api: THREE }, records: "cp1.api 60 IN TXT x\nx.cp2.api 60 IN TXT x\n" }));
  expect(lines(setTargets(zone, {})).filter((line) => line.startsWith("-"))).toEqual(["-cp3.api"]);
  expect([...zone.rrsets(parseName("cp1.api.k8s.example.test.")).keys()]).toEqual([TYPE.TXT]);
});

test("changes applied one after the other to a copy give what the zone has, names included", () => {
  const targets = fc
    .subarray(["cp1", "cp2", "cp3", "cp4", "cp5"])
    .map((ids) => Object.fromEntries(ids.map((id, i) => [id, [`192.0.2.${i}`]])));
  fc.assert(
    fc.property(fc.array(targets, { maxLength: 30 }), (sets) => {
      const zone = live();
      const names = new Set(zone.names());
      const copy = new Map([...names].map((name) => [name, new Map(zone.rrsets(name))]));
      for (const set of sets) {
        const change = setTargets(zone, set);
        for (const name of change?.appeared ?? []) names.add(name);
        for (const name of change?.disappeared ?? []) names.delete(name);
        for (const { name, type, after } of change?.rrsets ?? []) {
          const types = copy.get(name) ?? new Map();
          if (after === undefined) types.delete(type);
          else types.set(type, after);
          copy.set(name, types);
        }
      }
      expect(names).toEqual(new Set(zone.names()));
      for (const [name, types] of copy)
        expect(new Map([...types].sort())).toEqual(new Map([...zone.rrsets(name)].sort()));
    }),
    { seed: 11, numRuns: 50 },
  );
});

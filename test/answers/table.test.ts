import { describe, expect, test } from "vitest";
import { LookupName } from "../../src/answers/lookup-name.js";
import { AnswerTable } from "../../src/answers/table.js";
import { TYPE } from "../../src/wire/constants.js";
import { nameOctets, parseName } from "../../src/wire/name.js";
import { NO_WORDS } from "../../src/wire/words.js";
import { serveSketch } from "./serve.js";

const THREE = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] };

function addresses(served: ReturnType<typeof serveSketch>, name: string, type = "A"): string[] {
  return served
    .ask({ name: `${name}.k8s.example.test`, type })
    .answers.map(({ rdata }) => rdata)
    .sort();
}

function lookupName(text: string): LookupName {
  const octets = nameOctets(parseName(text));
  const name = new LookupName();
  name.read(octets, NO_WORDS, 0, octets.length);
  return name;
}

/** Octets of memory that a table holds. */
function memoryOf(table: AnswerTable): number {
  return Object.values(table).reduce(
    (sum: number, field) => sum + (ArrayBuffer.isView(field) ? field.byteLength : 0),
    0,
  );
}

describe("an update", () => {
  test("changes the endpoint, its targets, its SRV and what aliases it, and the serial; nothing else", () => {
    const served = serveSketch({
      endpoints: { api: THREE, other: { cp1: ["192.0.2.99"] } },
      records: "www 60 IN CNAME api\n*.w 60 IN CNAME www\n",
    });
    const serial = () => served.ask({ name: "k8s.example.test", type: "SOA" }).answers[0]?.rdata.split(" ")[2];
    expect(serial()).toBe("1700000000");
    served.setAnswer("api", { cp2: ["192.0.2.12"] });
    expect(addresses(served, "api")).toEqual(["192.0.2.12"]);
    expect(addresses(served, "api", "AAAA")).toEqual([]);
    expect(addresses(served, "www")).toEqual(["192.0.2.12", "api.k8s.example.test."]);
    expect(addresses(served, "x.w")).toEqual(["192.0.2.12", "api.k8s.example.test.", "www.k8s.example.test."]);
    expect(addresses(served, "cp2.api")).toEqual(["192.0.2.12"]);
    expect(addresses(served, "cp1.api")).toEqual([]);
    expect(addresses(served, "_https._tcp.api", "SRV")).toEqual(["0 0 6443 cp2.api.k8s.example.test."]);
    expect(addresses(served, "other")).toEqual(["192.0.2.99"]);
    expect(serial()).toBe("1700000001");
  });

  test("never makes a configured name NXDOMAIN: with nothing answerable it is NODATA", () => {
    const served = serveSketch({ endpoints: { api: THREE } });
    served.setAnswer("api", {});
    for (const name of ["api", "cp1.api", "_https._tcp.api", "_tcp.api"]) {
      for (const type of ["A", "AAAA", "SRV", "ANY"]) {
        const message = served.ask({ name: `${name}.k8s.example.test`, type });
        expect(message).toMatchObject({ rcode: "NOERROR", flags: { aa: true }, answers: [] });
        expect(message.authorities.map((record) => record.type)).toEqual(["SOA"]);
      }
    }
    served.setAnswer("api", THREE);
    expect(addresses(served, "api")).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13"]);
    expect(addresses(served, "_https._tcp.api", "SRV")).toHaveLength(3);
  });

  test("says nothing when the answer is what it was", () => {
    const served = serveSketch({ endpoints: { api: THREE } });
    expect(served.setAnswer("api", THREE)).toBeUndefined();
    expect(served.setAnswer("api", { cp1: THREE.cp1 })).toBeDefined();
    expect(served.setAnswer("api", { cp1: THREE.cp1 })).toBeUndefined();
  });

  test("of a zone or name that the table lacks is passed over", () => {
    const served = serveSketch({ endpoints: { api: THREE } });
    const stranger = serveSketch({ zone: "other.test", endpoints: { api: THREE } });
    const update = stranger.setAnswer("api", { cp1: THREE.cp1 });
    if (update === undefined) throw new Error("no update");
    served.table.update(update);
    served.table.update({ ...update, zone: served.zone.name });
    expect(addresses(served, "api")).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13"]);
  });
});

test("10,000 updates of changing size leave the memory of a table where a few have brought it", () => {
  const everyone = Object.fromEntries(
    Array.from({ length: 6 }, (_, i) => [`t${i}`, [`192.0.2.${i + 1}`, `2001:db8::${i + 1}`]]),
  );
  const served = serveSketch({
    endpoints: { api: everyone, db: everyone },
    up: {},
    records: "www 60 IN CNAME api\n*.wild 60 IN CNAME db\n",
  });
  let settled = 0;
  for (let round = 0; round < 10_000; round += 1) {
    // 1 to 6 targets, neither in order nor regular.
    const count = ((round * 7919) % 6) + 1;
    const endpoint = round % 3 === 0 ? "db" : "api";
    served.setAnswer(endpoint, Object.fromEntries(Object.entries(everyone).slice(0, count)));
    if (round === 500) settled = memoryOf(served.table);
    if (round % 97 === 0) {
      const name = endpoint === "db" ? `x${round}.wild` : "www";
      const { answers } = served.ask({ name: `${name}.k8s.example.test`, edns: {} });
      expect(answers).toHaveLength(count + 1);
      expect(new Set(answers.map(({ rdata }) => rdata)).size).toBe(count + 1);
    }
  }
  expect(memoryOf(served.table)).toBe(settled);
});

test("answers that outgrew their place are moved together, and all still stand", () => {
  const names = Array.from({ length: 8 }, (_, i) => `ep${i}`);
  const targets = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));
  const served = serveSketch({ endpoints: Object.fromEntries(names.map((name) => [name, targets])), up: {} });
  // One more at a time: each answer is written to a new place again and again, more octets in all than are in use.
  for (let count = 1; count <= 50; count += 1) {
    for (const name of names) served.setAnswer(name, Object.fromEntries(Object.entries(targets).slice(0, count)));
  }
  for (const name of names) {
    const { answers } = served.ask({ name: `${name}.k8s.example.test` }, "tcp");
    expect(new Set(answers.map(({ rdata }) => rdata))).toEqual(new Set(Object.values(targets).flat()));
    expect(served.ask({ name: `_https._tcp.${name}.k8s.example.test`, type: "SRV" }, "tcp").answers).toHaveLength(50);
  }
  // Left where they were, they would take 25 times the octets in use.
  expect(served.table.octets.length).toBeLessThanOrEqual(1 << 17);
});

describe("several zones", () => {
  const table = new AnswerTable();
  const zones = Array.from({ length: 100 }, (_, i) =>
    serveSketch({ zone: `z${i}.test`, endpoints: { api: { cp1: [`192.0.2.${i}`] } } }),
  );
  for (const { published } of zones) table.addZone(published.compile());

  test("each answers its own names", () => {
    expect(table.zoneCount).toBe(100);
    for (let i = 0; i < zones.length; i += 1) {
      expect(table.find(lookupName(`API.z${i}.test.`), TYPE.A)).toBe(true);
    }
    for (const outside of [".", "test.", "z100.test.", "api.z1x.test.", "z1.test.example."]) {
      expect(table.find(lookupName(outside), TYPE.A)).toBe(false);
      expect(table.found).toBe(-1);
    }
  });

  test("names of 127 labels and of the longest labels are looked up", () => {
    for (const text of [
      `${"a.".repeat(121)}z1.test.`,
      `${"x".repeat(63)}.${"y".repeat(63)}.${"z".repeat(63)}.z1.test.`,
    ]) {
      expect(table.find(lookupName(text), TYPE.A)).toBe(true);
    }
  });
});

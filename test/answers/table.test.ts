import { describe, expect, test } from "vitest";
import { AnswerTable } from "../../src/answers/table.js";
import { applyTableMessage, zoneMessage } from "../../src/answers/table-messages.js";
import { TYPE } from "../../src/wire/constants.js";
import { parseName } from "../../src/wire/name.js";
import { answerTo, lookupName } from "./read-table.js";
import { messageOf, type ServedZone, serveSketch } from "./serve.js";

const THREE = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] };

function addresses(served: ReturnType<typeof serveSketch>, name: string, type = "A"): string[] {
  return served
    .ask({ name: `${name}.k8s.example.test`, type })
    .answers.map(({ rdata }) => rdata)
    .sort();
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
    expect(addresses(served, "_https._tcp.api", "SRV")).toEqual(["0 1 6443 cp2.api.k8s.example.test."]);
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

  test("of a zone that the table lacks is passed over", () => {
    const served = serveSketch({ endpoints: { api: THREE } });
    const stranger = serveSketch({ zone: "other.test", endpoints: { api: THREE } });
    const change = stranger.setAnswer("api", { cp1: THREE.cp1 });
    if (change === undefined) throw new Error("no change");
    applyTableMessage(served.table, messageOf(stranger.compiler, change));
    expect(addresses(served, "api")).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13"]);
    expect(answerTo(served.table, parseName("api.other.test."), TYPE.A)).toBeUndefined();
  });
});

describe("a target set that changes", () => {
  const rcode = (served: ServedZone, name: string) => served.ask({ name: `${name}.k8s.example.test` }).rcode;

  test("lets names appear and disappear", () => {
    const served = serveSketch({ endpoints: { api: THREE }, records: "late 60 IN CNAME cp4.api\n" });
    expect(rcode(served, "cp4.api")).toBe("NXDOMAIN");
    expect(rcode(served, "late")).toBe("NXDOMAIN");
    served.setTargets("api", { cp3: THREE.cp3, cp4: ["192.0.2.14"] });
    expect(addresses(served, "api")).toEqual(["192.0.2.13", "192.0.2.14"]);
    expect(addresses(served, "late")).toEqual(["192.0.2.14", "cp4.api.k8s.example.test."]);
    expect(rcode(served, "cp1.api")).toBe("NXDOMAIN");
    expect(rcode(served, "x.cp4.api")).toBe("NXDOMAIN");
    expect(addresses(served, "_https._tcp.api", "SRV")).toEqual([
      "0 1 6443 cp3.api.k8s.example.test.",
      "0 1 6443 cp4.api.k8s.example.test.",
    ]);
    served.setTargets("api", { cp1: THREE.cp1 });
    expect(rcode(served, "late")).toBe("NXDOMAIN");
    expect(rcode(served, "cp4.api")).toBe("NXDOMAIN");
    expect(addresses(served, "cp1.api")).toEqual(["192.0.2.11"]);
  });

  test("uncovers a wildcard and hides it again", () => {
    const served = serveSketch({ endpoints: { api: THREE }, records: "*.api 60 IN TXT wild\n" });
    expect(addresses(served, "cp1.api", "TXT")).toEqual([]);
    served.setTargets("api", {});
    expect(addresses(served, "cp1.api", "TXT")).toEqual(['"wild"']);
    served.setTargets("api", THREE);
    expect(addresses(served, "cp1.api", "TXT")).toEqual([]);
  });

  test("of 10,000 changes with names that never were before leaves memory where a few have brought it", () => {
    const served = serveSketch({ endpoints: { api: THREE } });
    let settled = 0;
    for (let round = 0; round < 10_000; round += 1) {
      const count = (round * 7919) % 6;
      const targets = Array.from({ length: count }, (_, i) => [
        `t${round}-${"x".repeat((round * 31 + i) % 50)}y${i}`,
        [`192.0.2.${i}`],
      ]);
      served.setTargets("api", Object.fromEntries(targets));
      if (round === 500) settled = served.table.memoryOctets;
    }
    expect(served.table.memoryOctets).toBe(settled);
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
    if (round === 500) settled = served.table.memoryOctets;
    if (round % 97 === 0) {
      const name = endpoint === "db" ? `x${round}.wild` : "www";
      const { answers } = served.ask({ name: `${name}.k8s.example.test`, edns: {} });
      expect(answers).toHaveLength(count + 1);
      expect(new Set(answers.map(({ rdata }) => rdata)).size).toBe(count + 1);
    }
  }
  expect(served.table.memoryOctets).toBe(settled);
});

test("the places of answers that outgrew them are used again, and all still stand", () => {
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
  expect(served.table.octets.length).toBeLessThanOrEqual(1 << 18);
});

describe("several zones", () => {
  const table = new AnswerTable();
  const zones = Array.from({ length: 100 }, (_, i) =>
    serveSketch({ zone: `z${i}.test`, endpoints: { api: { cp1: [`192.0.2.${i}`] } } }),
  );
  for (const { compiler } of zones) applyTableMessage(table, zoneMessage(compiler.compile()));

  test("each answers its own names", () => {
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

  test("one is replaced, removed and added while all others stay as they are", () => {
    const answers = () => zones.map((_, i) => answerTo(table, parseName(`api.z${i}.test.`), TYPE.A));
    const before = answers();
    const others = () => answers().filter((_, i) => i !== 7);
    const other = serveSketch({ zone: "z7.test", endpoints: { db: { cp1: ["198.51.100.7"], cp2: ["198.51.100.8"] } } });
    applyTableMessage(table, zoneMessage(other.compiler.compile()));
    expect(answerTo(table, parseName("db.z7.test."), TYPE.A)?.answerCount).toBe(2);
    expect(answerTo(table, parseName("api.z7.test."), TYPE.A)?.answerCount).toBe(0);
    expect(others()).toEqual(before.filter((_, i) => i !== 7));
    applyTableMessage(table, { kind: "zone-removed", zone: parseName("z7.test.") });
    applyTableMessage(table, { kind: "zone-removed", zone: parseName("z7.test.") });
    expect(answers()[7]).toBeUndefined();
    expect(others()).toEqual(before.filter((_, i) => i !== 7));
    const original = zones[7];
    if (original !== undefined) applyTableMessage(table, zoneMessage(original.compiler.compile()));
    expect(answers()).toEqual(before);
  });

  test("however often they come and go, in whatever size, memory stays", () => {
    const memory: number[] = [];
    for (let round = 0; round < 2_000; round += 1) {
      const i = (round * 7919) % 20;
      const targets = Object.fromEntries(
        Array.from({ length: (round % 9) + 1 }, (_, t) => [`cp${t}`, [`192.0.2.${t}`]]),
      );
      const zone = parseName(`churn${i}.test.`);
      if (round % 3 === 0) applyTableMessage(table, { kind: "zone-removed", zone });
      else
        applyTableMessage(
          table,
          zoneMessage(serveSketch({ zone: `churn${i}.test`, endpoints: { api: targets } }).compiler.compile()),
        );
      memory.push(table.memoryOctets);
    }
    expect(memory.at(-1)).toBe(memory[200]);
  });

  test.each([
    ["the outer one first", ["outer", "inner"]],
    ["the inner one first", ["inner", "outer"]],
  ] as const)("of two that lie in each other the inner one answers: %s", (_, order) => {
    const nested = {
      outer: serveSketch({ zone: "nest.test", records: "in 60 IN A 192.0.2.1\nx.in 60 IN A 192.0.2.1\n" }),
      inner: serveSketch({ zone: "in.nest.test", endpoints: { "@": { x: ["192.0.2.2"] } } }),
    };
    const both = new AnswerTable();
    for (const name of order) applyTableMessage(both, zoneMessage(nested[name].compiler.compile()));
    const last = () =>
      ["in.nest.test.", "x.in.nest.test."].map((name) => answerTo(both, parseName(name), TYPE.A)?.body.at(-1));
    expect(last()).toEqual([2, 2]);
    applyTableMessage(both, { kind: "zone-removed", zone: parseName("in.nest.test.") });
    expect(last()).toEqual([1, 1]);
  });
});

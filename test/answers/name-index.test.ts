import fc from "fast-check";
import { expect, test } from "vitest";
import { NameIndex } from "../../src/answers/name-index.js";
import { OctetHeap } from "../../src/answers/octet-heap.js";
import { type Name, parseName } from "../../src/wire/name.js";
import { lookupOf } from "./read-table.js";

test("names that come and go are found exactly while they are there", () => {
  const names = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 1_500 });
  fc.assert(
    fc.property(names, (steps) => {
      const index = new NameIndex(new OctetHeap());
      const present = new Map<Name, number>();
      for (const step of steps) {
        const name = parseName(`n${step}.zone.test.`);
        const node = present.get(name);
        if (node === undefined) {
          present.set(name, index.add(name, 0, 11));
        } else {
          index.remove(node);
          present.delete(name);
        }
      }
      for (let i = 0; i <= 300; i += 1) {
        const name = parseName(`n${i}.zone.test.`);
        expect(index.lookUp(lookupOf(name), 0)).toBe(present.get(name) ?? -1);
        expect(index.nodeOf(name, 0)).toBe(present.get(name) ?? -1);
        expect(index.nodeOf(name, 1)).toBe(-1);
      }
    }),
    { seed: 5, numRuns: 20 },
  );
});

test("of two zones with a name the one with the longer apex has it, whichever came first", () => {
  const name = parseName("a.b.test.");
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const index = new NameIndex(new OctetHeap());
    const nodes = new Map(order.map((zone) => [zone, index.add(name, zone, zone === 0 ? 6 : 8)]));
    expect(index.lookUp(lookupOf(name), 0)).toBe(nodes.get(1));
    index.remove(nodes.get(1) ?? -1);
    expect(index.lookUp(lookupOf(name), 0)).toBe(nodes.get(0));
  }
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { OctetHeap } from "../../src/answers/octet-heap.js";

test("blocks hold what was asked for, begin at a whole word, and do not overlap, however they come and go", () => {
  const steps = fc.array(fc.record({ length: fc.integer({ min: 0, max: 3_000 }), gives: fc.nat(3) }), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (all) => {
      const heap = new OctetHeap();
      const taken: { at: number; length: number; mark: number }[] = [];
      let mark = 0;
      for (const { length, gives } of all) {
        const at = heap.take(length);
        expect(at & 3).toBe(0);
        mark = (mark + 1) & 0xff;
        heap.octets.fill(mark, at, at + length);
        taken.push({ at, length, mark });
        for (let i = 0; i < gives - 1 && taken.length > 0; i += 1) {
          const [gone] = taken.splice((i * 7919) % taken.length, 1);
          if (gone !== undefined) heap.give(gone.at, gone.length);
        }
        for (const { at, length, mark } of taken) {
          expect(heap.octets.subarray(at, at + length).every((octet) => octet === mark)).toBe(true);
        }
      }
    }),
    { seed: 3, numRuns: 50 },
  );
});

test("what was given back is taken again, whole or cut up", () => {
  const heap = new OctetHeap();
  const large = heap.take(40_000);
  heap.take(16);
  const { length } = heap.octets;
  heap.give(large, 40_000);
  const small = Array.from({ length: 1_000 }, () => heap.take(30));
  expect(small.every((at) => at >= large && at < large + 49_152)).toBe(true);
  for (const at of small) heap.give(at, 30);
  for (let round = 0; round < 1_000; round += 1) heap.give(heap.take(30), 30);
  expect(heap.octets.length).toBe(length);
});

test.each([
  [0, 16],
  [16, 16],
  [17, 32],
  [33, 48],
  [49, 64],
  [65, 96],
  [97, 128],
  [129, 192],
  [65_537, 98_304],
])("%i octets take a block of %i", (length, size) => {
  expect(OctetHeap.sizeOf(length)).toBe(size);
});

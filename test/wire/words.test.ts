import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyOctets, NO_WORDS, WordViews, wordsOf } from "../../src/wire/words.js";

const SEED = 11;

describe("copying by words", () => {
  const from = Uint8Array.from({ length: 256 }, (_, i) => i);

  test("copies the same octets as one by one, and touches nothing in front nor behind the next whole word", () => {
    const places = fc.record({ fromAt: fc.nat(120), toAt: fc.nat(120), length: fc.nat(100) });
    fc.assert(
      fc.property(places, ({ fromAt, toAt, length }) => {
        const expected = new Uint8Array(256).fill(0xee);
        copyOctets(from, NO_WORDS, fromAt, expected, NO_WORDS, toAt, length);
        const to = new Uint8Array(256).fill(0xee);
        copyOctets(from, wordsOf(from), fromAt, to, wordsOf(to), toAt, length);
        expect([...to.subarray(0, toAt + length)]).toEqual([...expected.subarray(0, toAt + length)]);
        const behind = (toAt + length + 7) & ~3;
        expect([...to.subarray(behind)]).toEqual([...expected.subarray(behind)]);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  test("ends at the end of the buffer", () => {
    const to = new Uint8Array(16);
    copyOctets(from, wordsOf(from), 4, to, wordsOf(to), 3, 13);
    expect([...to]).toEqual([0, 0, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
  });
});

test("only memory that begins and ends at a whole word has a view", () => {
  const octets = new Uint8Array(16);
  expect(wordsOf(octets.subarray(4, 12)).length).toBe(2);
  expect(wordsOf(octets.subarray(1, 13))).toBe(NO_WORDS);
  expect(wordsOf(octets.subarray(4, 15))).toBe(NO_WORDS);
});

test("views of the last four buffers are kept", () => {
  const views = new WordViews();
  const buffers = Array.from({ length: 4 }, () => new Uint8Array(8));
  const first = buffers.map((buffer) => views.of(buffer));
  expect(buffers.map((buffer) => views.of(buffer)).every((view, i) => view === first[i])).toBe(true);
  for (let i = 0; i < 4; i += 1) views.of(new Uint8Array(8));
  expect(views.of(buffers[0] as Uint8Array)).not.toBe(first[0]);
});

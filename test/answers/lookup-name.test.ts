import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LookupName } from "../../src/answers/lookup-name.js";
import { lowerName, type Name, nameOctets, parentName } from "../../src/wire/name.js";
import { NO_WORDS, wordsOf } from "../../src/wire/words.js";

const SEED = 12;

const labels = fc.array(fc.uint8Array({ minLength: 1, maxLength: 63 }), { maxLength: 20 });
const names = labels
  .map((all) => `${all.map((label) => String.fromCharCode(label.length, ...label)).join("")}\0` as Name)
  .filter((name) => name.length <= 255);

function read(octets: Uint8Array, at = 0): { name: LookupName; end: number } {
  const name = new LookupName();
  return { name, end: name.read(octets, NO_WORDS, at, octets.length) };
}

describe("a name to look up", () => {
  test("is the lower-case name, read by words or by octets, wherever it stands", () => {
    fc.assert(
      fc.property(names, fc.nat(9), (value, at) => {
        const message = new Uint8Array(at + value.length + 3 + ((4 - ((at + value.length + 3) & 3)) & 3)).fill(0xff);
        message.set(nameOctets(value), at);
        const byOctets = read(message, at);
        const byWords = new LookupName();
        expect(byWords.read(message, wordsOf(message), at, message.length)).toBe(byOctets.end);
        expect(byOctets.end).toBe(at + value.length);
        for (const name of [byOctets.name, byWords]) {
          expect(name.length).toBe(value.length);
          expect(name.is(lowerName(value))).toBe(true);
        }
        expect([...byWords.hashes]).toEqual([...byOctets.name.hashes]);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  test("has the hash of every name above it, whatever precedes that", () => {
    fc.assert(
      fc.property(names, (value) => {
        const { name } = read(nameOctets(value));
        let above: Name | undefined = lowerName(value);
        for (let label = 0; above !== undefined; label += 1) {
          const own = new LookupName();
          own.set(above);
          expect(name.hashes[label]).toBe(own.hashes[0]);
          above = parentName(above);
        }
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test.each([
    ["cut off", [3, 0x61, 0x62]],
    ["cut off behind a label", [1, 0x61]],
    ["compressed", [1, 0x61, 0xc0, 0x0c]],
    ["of a reserved label type", [0x41, 0x61, 0]],
    ["over 255 octets", [...Array(128).fill([1, 0x61]).flat(), 0]],
    ["empty", []],
  ])("is refused if it is %s", (_, octets) => {
    expect(read(Uint8Array.from(octets)).end).toBe(-1);
  });
});

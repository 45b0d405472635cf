import fc from "fast-check";
import { expect, test } from "vitest";
import { BoundedLines } from "../../../src/discovery/kubernetes/lines.js";

function cut(text: string, cuts: readonly number[], maxOctets = 1_000) {
  const lines: string[] = [];
  let tooLong = 0;
  const bounded = new BoundedLines(
    maxOctets,
    (line) => lines.push(line),
    () => {
      tooLong += 1;
    },
  );
  const octets = Buffer.from(text);
  let start = 0;
  for (const at of [...cuts].sort((a, b) => a - b)) {
    bounded.take(octets.subarray(start, Math.max(start, at)));
    start = Math.max(start, at);
  }
  bounded.take(octets.subarray(start));
  return { lines, tooLong };
}

test("lines are the same however the octets come", () => {
  const line = fc.string({ unit: "grapheme" }).map((text) => text.replace(/\s/g, ""));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat({ max: 200 })), (wanted, cuts) => {
      const { lines } = cut(wanted.map((text) => `${text}\n`).join(""), cuts);
      expect(lines).toEqual(wanted.filter((text) => text !== ""));
    }),
    { seed: 12 },
  );
});

test("a line that is too long is left out, and those around it are not", () => {
  expect(cut(`a\n${"x".repeat(50)}\nb\nrest`, [10, 20], 20)).toEqual({ lines: ["a", "b"], tooLong: 1 });
});

import { expect, test } from "vitest";
import { parseLasting } from "../../src/admin/override-duration.js";

test.each([
  ["1s", 1_000],
  ["30m", 1_800_000],
  ["1.5h", 5_400_000],
  ["720h", 30 * 86_400_000],
])("%s is %i ms", (text, ms) => {
  expect(parseLasting(text)).toEqual({ ms });
});

test.each([
  ["999ms", "the least is 1s and the most 720h"],
  ["0s", "the least is 1s"],
  ["721h", "the most 720h (30 days)"],
  ["30", "30ms"],
  ["half an hour", '"5s"'],
  ["", "duration"],
])("%j is refused, and told what to write", (text, says) => {
  const read = parseLasting(text);
  expect(read).toEqual({ why: expect.stringContaining(says) });
  expect(read).not.toHaveProperty("ms");
});

import { describe, expect, test } from "vitest";
import {
  decidePublication,
  isNarrow,
  NARROWING_HOLD_MS,
  type Publication,
  REFUSED_HOLD_MS,
  RETURN_HOLD_MS,
  SETTLE_MS,
  type TargetSight,
} from "../../src/health/narrowing.js";

/**
 * A target: what readers see, then what its results say (`+` up, `-` down), then what was found since the change is held
 * back (`.` passed, `x` failed, `n` not ready, `g` gone, `?` nothing yet), then how long it has refused connections.
 */
function sight(text: string): TargetSight {
  const [, was, is, found, refused] = /^([+-])([+-])([.xng?])(\d*)$/.exec(text) ?? [];
  const sights = { ".": "pass", x: "fail", n: "fail", g: "gone", "?": "pending" } as const;
  return {
    wasUp: was === "+",
    isUp: is === "+",
    isUnready: found === "n",
    sight: sights[found as keyof typeof sights],
    ...(refused ? { refusedMs: Number(refused) } : {}),
  };
}

const cases: readonly { name: string; targets: string; heldMs?: number; says: Publication }[] = [
  { name: "a single crash of three is not delayed", targets: "+-g0 ++? ++?", says: "publish" },
  { name: "one of three that is not ready is not delayed", targets: "+-x ++? ++?", says: "publish" },
  { name: "before one is left, it is asked", targets: "--x +-x ++?", says: "hold" },
  { name: "... and a crash is published once it has passed", targets: "--x +-g5 ++.", heldMs: 5, says: "publish" },
  { name: "... and after 100 ms in any case", targets: "--x +-g100 ++?", heldMs: REFUSED_HOLD_MS, says: "publish" },
  { name: "... and not before", targets: "--x +-g99 ++?", heldMs: REFUSED_HOLD_MS - 1, says: "hold" },
  { name: "if it fails as well, all go down in one step", targets: "--x +-x ++x", heldMs: 5, says: "all-down" },
  { name: "... also if it crashes", targets: "--x +-g5 ++g5", heldMs: 5, says: "all-down" },
  { name: "one that is not ready waits while the others settle", targets: "--x +-x ++.", heldMs: 5, says: "hold" },
  { name: "... and no longer", targets: "--x +-x ++.", heldMs: SETTLE_MS, says: "publish" },
  { name: "one that leaves and passes again is waited for", targets: "--x +-. ++.", heldMs: 2600, says: "hold" },
  { name: "... and so is one that was out before", targets: "--. +-x ++.", heldMs: 2600, says: "hold" },
  { name: "... not for ever", targets: "--x +-. ++.", heldMs: NARROWING_HOLD_MS, says: "publish" },
  { name: "... and a crash is published", targets: "--. +-g100 ++.", heldMs: REFUSED_HOLD_MS, says: "publish" },
  { name: "an answer that takes long is waited for", targets: "--x +-x ++?", heldMs: 3000, says: "hold" },
  { name: "... not for ever", targets: "--x +-x ++?", heldMs: NARROWING_HOLD_MS, says: "publish" },
  {
    name: "if the last ones are not ready, those that left so are answered again",
    targets: "--n +-n ++.",
    says: "reunite",
  },
  { name: "... not if a crash is what leaves few", targets: "--n +-g5 ++?", heldMs: 5, says: "hold" },
  {
    name: "those that have passed since are waited for, also beside enough others",
    targets: "+-. ++. ++.",
    heldMs: 5,
    says: "hold",
  },
  { name: "... not for ever", targets: "+-. ++. ++.", heldMs: NARROWING_HOLD_MS, says: "publish" },
  { name: "one that may follow does not count as left", targets: "+-n ++n ++.", heldMs: 5, says: "reunite" },
  { name: "... nor do all", targets: "+-n ++n ++n", heldMs: 0, says: "all-down" },
  { name: "... but enough others are enough", targets: "+-n ++n ++. ++. ++.", says: "publish" },
  { name: "... and one that may follow holds no crash back", targets: "+-g100 ++n ++.", heldMs: 100, says: "publish" },
  { name: "half of two need not settle", targets: "+-x ++.", heldMs: 5, says: "publish" },
  { name: "half of four is enough", targets: "--x +-x ++? ++?", says: "publish" },
  { name: "less than half of seven is not", targets: "--x --x --x +-x ++? ++? ++?", says: "hold" },
  {
    name: "some that fail of those that remain are waited for",
    targets: "--x --x --x +-x ++. ++x ++.",
    heldMs: 1600,
    says: "hold",
  },
  { name: "all down at once is published", targets: "+-x +-x +-x", says: "publish" },
  { name: "the first that returns waits for the others", targets: "-+. --x --?", says: "hold" },
  { name: "... not for those that are gone", targets: "-+. --g50 --g50", heldMs: 5, says: "publish" },
  { name: "... and not for ever", targets: "-+. --x --x", heldMs: RETURN_HOLD_MS, says: "publish" },
  { name: "two of three that return wait for nothing", targets: "-+. -+. --x", says: "publish" },
  { name: "one more beside few is published", targets: "++. -+. --x --x --x --x", says: "publish" },
  { name: "one target alone is as it is", targets: "-+.", says: "publish" },
];

describe("what readers may see", () => {
  test.each(cases)("$name", ({ targets, heldMs = 0, says }) => {
    expect(decidePublication(targets.split(" ").map(sight), heldMs)).toBe(says);
  });

  test.each([
    [0, 3, false],
    [1, 1, false],
    [1, 2, true],
    [1, 3, true],
    [2, 3, false],
    [2, 4, false],
    [2, 5, true],
    [3, 7, true],
    [4, 7, false],
    [7, 7, false],
  ])("%i of %i is narrow: %s", (up, all, expected) => {
    expect(isNarrow(up, all)).toBe(expected);
  });
});

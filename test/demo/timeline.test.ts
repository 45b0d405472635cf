import { describe, expect, it } from "vitest";
import {
  type DemoDeed,
  EMPTY_STORY,
  eventsSince,
  MAX_EVENTS,
  noteAnswer,
  noteDeed,
  type Story,
} from "../../src/demo/timeline.js";

type Step =
  | readonly [atMs: number, deed: DemoDeed, target: string]
  /** Targets in the answer, separated by blanks; `!` in front: fail-open. */
  | readonly [atMs: number, answer: string];

function play(steps: readonly Step[]): Story {
  return steps.reduce((story, step) => {
    const [nowMs] = step;
    if (step.length === 3) return noteDeed(story, step[2], step[1], nowMs);
    const targets = new Set(step[1].replace("!", "").split(" ").filter(Boolean));
    const reasonOf = (target: string) => `${target} is ill`;
    return noteAnswer(story, { targets, failOpen: step[1].startsWith("!"), nowMs, reasonOf });
  }, EMPTY_STORY);
}

const cases: { name: string; steps: readonly Step[]; changes: readonly string[] }[] = [
  { name: "the first answer is no change", steps: [[0, "a b"]], changes: [] },
  {
    name: "a withdrawal is timed from the deed",
    steps: [
      [0, "a b"],
      [100, "crash", "a"],
      [200, "a b"],
      [331, "b"],
    ],
    changes: ["a withdrawn 231 (a is ill)"],
  },
  {
    name: "a revival is timed too",
    steps: [
      [0, "a b"],
      [100, "hang", "a"],
      [500, "b"],
      [1000, "revive", "a"],
      [3500, "a b"],
    ],
    changes: ["a withdrawn 400 (a is ill)", "a restored 2500"],
  },
  {
    name: "a second deed to the same end does not restart the clock",
    steps: [
      [0, "a b"],
      [100, "hang", "a"],
      [300, "crash", "a"],
      [500, "b"],
    ],
    changes: ["a withdrawn 400 (a is ill)"],
  },
  {
    name: "a deed that was undone in time explains nothing later",
    steps: [
      [0, "a b"],
      [100, "unready", "a"],
      [200, "revive", "a"],
      [900, "b"],
    ],
    changes: ["a withdrawn - (a is ill)"],
  },
  {
    name: "a change without a deed has no time",
    steps: [
      [0, "a b"],
      [900, "b"],
      [1900, "a b"],
    ],
    changes: ["a withdrawn - (a is ill)", "a restored -"],
  },
  {
    name: "fail-open brings targets back unexplained, and the last withdrawal is never timed",
    steps: [
      [0, "a b"],
      [100, "crash", "a"],
      [300, "b"],
      [400, "crash", "b"],
      [600, "!a b"],
      [1000, "revive", "a"],
      [2950, "!a b"],
      [3000, "a"],
    ],
    changes: [
      "a withdrawn 200 (a is ill)",
      "a restored - (all are down, so all are answered (fail-open))",
      "b withdrawn - (fail-open ended)",
    ],
  },
  {
    name: "what leaves long after fail-open has a reason of its own",
    steps: [
      [0, "!a b"],
      [100, "a b"],
      [1000, "b"],
    ],
    changes: ["a withdrawn - (a is ill)"],
  },
  {
    name: "a revival that fail-open forestalls is not timed",
    steps: [
      [0, "b"],
      [100, "revive", "a"],
      [200, "!a b"],
    ],
    changes: ["a restored - (all are down, so all are answered (fail-open))"],
  },
];

describe("the story of a demo", () => {
  for (const { name, steps, changes } of cases) {
    it(name, () => {
      const told = play(steps).events.filter(({ kind }) => kind === "withdrawn" || kind === "restored");
      expect(
        told.map(
          ({ target, kind, tookMs, reason }) => `${target} ${kind} ${tookMs ?? "-"}${reason ? ` (${reason})` : ""}`,
        ),
      ).toEqual(changes);
    });
  }

  it("tells deeds and changes in order", () => {
    const { events } = play([
      [0, "a b"],
      [100, "crash", "a"],
      [331, "b"],
    ]);
    expect(events.map(({ atMs, kind }) => [atMs, kind])).toEqual([
      [100, "crash"],
      [331, "withdrawn"],
    ]);
  });

  it("tells what is new, also once the oldest events are forgotten", () => {
    const full = play(Array.from({ length: MAX_EVENTS }, (_, i): Step => [i, "crash", "a"]));
    const after = noteDeed(noteDeed(full, "a", "revive", 500), "b", "hang", 501);
    expect(eventsSince(full, after)).toEqual(after.events.slice(-2));
    expect(eventsSince(after, after)).toEqual([]);
  });

  it("keeps a bounded number of events, the newest", () => {
    const steps = Array.from({ length: MAX_EVENTS + 50 }, (_, i): Step => [i, "crash", "a"]);
    const { events } = play(steps);
    expect([events.length, events.at(-1)?.atMs]).toEqual([MAX_EVENTS, MAX_EVENTS + 49]);
  });
});

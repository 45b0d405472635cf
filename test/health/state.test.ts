import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Health, ResultClass } from "../../src/health/health.js";
import { RESULT_CLASSES } from "../../src/health/health.js";
import {
  type AddressState,
  initialState,
  isHardEvidence,
  knownState,
  type Step,
  step,
} from "../../src/health/state.js";

const DEFAULTS = { recheckMs: 1000, rise: 2, fall: 3 };

// Probe results, oldest first: "." passed, "x" failed softly (timeout), "h" failed hard (refused), "n" not ready,
// "r" reset, "a" auth required.
const CLASSES: Readonly<Record<string, ResultClass>> = {
  ".": "ok",
  x: "timeout",
  h: "refused",
  n: "not-ready",
  r: "reset",
  a: "auth-required",
};

const STARTS = {
  up: knownState("up"),
  down: knownState("down"),
  start: initialState(false),
  joining: initialState(true),
} as const;

/** Runs probes that take 10 ms each, every one when the machine wants it. */
function run(state: AddressState, probes: string, settings = DEFAULTS): { state: AddressState; steps: Step[] } {
  const steps: Step[] = [];
  let startedMs = 1000;
  for (const letter of probes) {
    const taken = step(state, { class: CLASSES[letter]!, startedMs, endedMs: startedMs + 10 }, settings);
    steps.push(taken);
    state = taken.state;
    startedMs = taken.recheckAtMs ?? startedMs + 2000;
  }
  return { state, steps };
}

const cases: readonly {
  name: string;
  start: keyof typeof STARTS;
  probes: string;
  end: Health;
  settings?: Partial<typeof DEFAULTS>;
}[] = [
  { name: "the first pass at start decides", start: "start", probes: ".", end: "up" },
  { name: "the first failure at start decides", start: "start", probes: "x", end: "down" },
  { name: "without a result it stays unknown", start: "start", probes: "", end: "unknown" },
  { name: "what joins is not up after one pass", start: "joining", probes: ".", end: "unknown" },
  { name: "what joins is up after two passes", start: "joining", probes: "..", end: "up" },
  { name: "what joins is down after one failure", start: "joining", probes: "x", end: "down" },
  { name: "what joins is down after a pass and a failure", start: "joining", probes: ".x", end: "down" },
  { name: "what joined and failed must still earn it", start: "joining", probes: ".x.", end: "down" },
  {
    name: "what joins needs only one pass with rise 1",
    start: "joining",
    probes: ".",
    end: "up",
    settings: { rise: 1 },
  },
  { name: "two failures do not bring it down", start: "up", probes: "xx", end: "up" },
  { name: "three failures bring it down", start: "up", probes: "xxx", end: "down" },
  { name: "failures of different kinds add up", start: "up", probes: "xra", end: "down" },
  { name: "a pass restarts the count", start: "up", probes: "xx.xx", end: "up" },
  { name: "alternating results change nothing", start: "up", probes: "x.x.x.x.x.", end: "up" },
  { name: "one failure suffices with fall 1", start: "up", probes: "x", end: "down", settings: { fall: 1 } },
  { name: "five failures are needed with fall 5", start: "up", probes: "xxxx", end: "up", settings: { fall: 5 } },
  { name: "one refusal does not bring it down", start: "up", probes: "h", end: "up" },
  { name: "two refusals bring it down", start: "up", probes: "hh", end: "down" },
  { name: "a refusal and not ready are hard together", start: "up", probes: "hn", end: "down" },
  { name: "two refusals suffice even with fall 5", start: "up", probes: "hh", end: "down", settings: { fall: 5 } },
  { name: "one refusal suffices with fall 1", start: "up", probes: "h", end: "down", settings: { fall: 1 } },
  { name: "a pass between refusals forgives the first", start: "up", probes: "h.h", end: "up" },
  { name: "a timeout between refusals breaks hard evidence", start: "up", probes: "hxh", end: "down" },
  { name: "... which with fall 5 is not enough", start: "up", probes: "hxh", end: "up", settings: { fall: 5 } },
  { name: "a reset and then two refusals bring it down", start: "up", probes: "rhh", end: "down" },
  { name: "two resets are no hard evidence", start: "up", probes: "rr", end: "up" },
  { name: "two refused credentials are no hard evidence", start: "up", probes: "aa", end: "up" },
  { name: "one pass does not bring it up", start: "down", probes: ".", end: "down" },
  { name: "two passes bring it up", start: "down", probes: "..", end: "up" },
  { name: "a failure restarts the count of passes", start: "down", probes: ".x.", end: "down" },
  { name: "a refusal restarts the count of passes", start: "down", probes: ".h.", end: "down" },
  { name: "one pass suffices with rise 1", start: "down", probes: ".", end: "up", settings: { rise: 1 } },
  { name: "further failures leave it down", start: "down", probes: "xhnra", end: "down" },
  { name: "it goes down and comes back", start: "up", probes: "xxx..", end: "up" },
  { name: "after coming back it has all its lives again", start: "down", probes: "..xx", end: "up" },
];

describe("the state machine", () => {
  test.each(cases)("$name", ({ start, probes, end, settings }) => {
    expect(run(STARTS[start], probes, { ...DEFAULTS, ...settings }).state.health).toBe(end);
  });

  test.each(cases)("reports each change once: $name", ({ start, probes, settings }) => {
    const { steps } = run(STARTS[start], probes, { ...DEFAULTS, ...settings });
    let health: Health = STARTS[start].health;
    for (const { state, change } of steps) {
      expect(change === undefined ? state.health : `${change.from} ${change.to}`).toBe(
        change === undefined ? health : `${health} ${state.health}`,
      );
      if (change !== undefined) expect(change.from).not.toBe(change.to);
      health = state.health;
    }
  });

  test("is the same object while nothing changes", () => {
    expect(run(STARTS.up, "...").state).toBe(STARTS.up);
    expect(run(STARTS.down, "xh").state).toBe(STARTS.down);
  });
});

describe("the next probe", () => {
  const after = (start: AddressState, resultClass: ResultClass, tookMs: number) =>
    step(start, { class: resultClass, startedMs: 5000, endedMs: 5000 + tookMs }, DEFAULTS).recheckAtMs;

  test.each([
    { name: "waits the interval when the result agrees", start: "up", result: "ok", tookMs: 10, at: undefined },
    { name: "waits the interval while it stays down", start: "down", result: "refused", tookMs: 1, at: undefined },
    {
      name: "waits the interval after the result that decided",
      start: "start",
      result: "ok",
      tookMs: 9,
      at: undefined,
    },
    { name: "comes `recheck` after the start of a failed one", start: "up", result: "reset", tookMs: 300, at: 6000 },
    { name: "comes at once after one that took longer", start: "up", result: "timeout", tookMs: 2000, at: 7000 },
    { name: "comes 200 ms after the end of a refused one", start: "up", result: "refused", tookMs: 4, at: 5204 },
    { name: "comes 200 ms after the end of one not ready", start: "up", result: "not-ready", tookMs: 900, at: 6100 },
    { name: "comes `recheck` after a pass while down", start: "down", result: "ok", tookMs: 20, at: 6000 },
    {
      name: "comes `recheck` after the first pass of what joins",
      start: "joining",
      result: "ok",
      tookMs: 20,
      at: 6000,
    },
  ] as const)("$name", ({ start, result, tookMs, at }) => {
    expect(after(STARTS[start], result, tookMs)).toBe(at);
  });
});

describe("evidence from a probe in a hurry", () => {
  const failed = step(STARTS.up, { class: "timeout", startedMs: 0, endedMs: 50 }, DEFAULTS).state;

  test("does not count before the recheck is due", () => {
    const early = step(failed, { class: "timeout", startedMs: 500, endedMs: 550 }, DEFAULTS);
    expect(early).toEqual({ state: failed, recheckAtMs: 1000 });
  });

  test("never asks for a probe in the past", () => {
    const early = step(failed, { class: "timeout", startedMs: 900, endedMs: 1900 }, DEFAULTS);
    expect(early).toEqual({ state: failed, recheckAtMs: 1900 });
  });

  test("counts from the moment it is due", () => {
    expect(step(failed, { class: "timeout", startedMs: 1000, endedMs: 1050 }, DEFAULTS).state.against).toBe(2);
  });

  test("is welcome at any time when it agrees", () => {
    expect(step(failed, { class: "ok", startedMs: 500, endedMs: 550 }, DEFAULTS).state).toEqual(STARTS.up);
  });
});

describe("afterMs", () => {
  test("runs from the start of the first failure to the decision", () => {
    // Starts at 1000, rechecks at 2000 and 3000, the last of which takes 10 ms.
    expect(run(STARTS.up, "xxx").steps.at(-1)?.change).toEqual({ from: "up", to: "down", afterMs: 2010 });
  });

  test("counts the pause between two refusals", () => {
    expect(run(STARTS.up, "hh").steps.at(-1)?.change?.afterMs).toBe(10 + 200 + 10);
  });

  test("leaves out passes that came to nothing", () => {
    expect(run(STARTS.joining, ".x").steps.at(-1)?.change?.afterMs).toBe(10);
  });
});

test("only refused and not-ready are hard evidence", () => {
  expect(RESULT_CLASSES.filter(isHardEvidence)).toEqual(["not-ready", "refused"]);
});

/** The rules again, the slow way: over everything that was ever seen. */
function naiveHealth(start: keyof typeof STARTS, seen: readonly ResultClass[], settings: typeof DEFAULTS): Health {
  const tail = (upTo: number, belongs: (c: ResultClass) => boolean) => {
    let count = 0;
    while (count < upTo && belongs(seen[upTo - 1 - count]!)) count += 1;
    return count;
  };
  let health: Health = STARTS[start].health;
  for (let upTo = 1; upTo <= seen.length; upTo += 1) {
    const passes = tail(upTo, (c) => c === "ok");
    const failures = tail(upTo, (c) => c !== "ok");
    const hard = tail(upTo, (c) => c === "refused" || c === "not-ready");
    if (health === "unknown") {
      if (failures > 0) health = "down";
      else if (start === "start" || passes >= settings.rise) health = "up";
    } else if (health === "up") {
      if (failures >= settings.fall || hard >= 2) health = "down";
    } else if (passes >= settings.rise) health = "up";
  }
  return health;
}

test("agrees with a naive model on whatever may come", () => {
  const settings = fc.record({
    recheckMs: fc.integer({ min: 50, max: 3000 }),
    rise: fc.integer({ min: 1, max: 5 }),
    fall: fc.integer({ min: 1, max: 5 }),
  });
  const probe = fc.record({
    class: fc.oneof(fc.constant("ok" as const), fc.constantFrom(...RESULT_CLASSES)),
    tookMs: fc.integer({ min: 0, max: 4000 }),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...(Object.keys(STARTS) as (keyof typeof STARTS)[])),
      settings,
      fc.array(probe, { maxLength: 40 }),
      (start, chosen, probes) => {
        let state: AddressState = STARTS[start];
        let startedMs = 0;
        const seen: ResultClass[] = [];
        for (const { class: resultClass, tookMs } of probes) {
          const endedMs = startedMs + tookMs;
          const taken = step(state, { class: resultClass, startedMs, endedMs }, chosen);
          state = taken.state;
          seen.push(resultClass);
          expect(state.health).toBe(naiveHealth(start, seen, chosen));
          // In doubt exactly while results speak against health, and never into the past.
          expect(taken.recheckAtMs !== undefined).toBe(state.against > 0);
          expect(taken.recheckAtMs ?? endedMs).toBeGreaterThanOrEqual(endedMs);
          startedMs = taken.recheckAtMs ?? endedMs;
        }
      },
    ),
    { numRuns: 1000 },
  );
});

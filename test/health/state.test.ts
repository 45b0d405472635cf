import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FAILURE_CLASSES } from "../../src/config/config.js";
import type { Health, ResultClass } from "../../src/health/health.js";
import { RESULT_CLASSES } from "../../src/health/health.js";
import {
  type AddressState,
  failuresNeeded,
  initialState,
  isHardEvidence,
  isNetworkFailure,
  knownState,
  type StateSettings,
  type Step,
  step,
  withoutDoubt,
  withoutFlaps,
} from "../../src/health/state.js";
import { FIRST_HOLD_MS } from "../../src/health/suppression.js";

const DEFAULTS: StateSettings = { recheckMs: 1000, rise: 2, fall: 3 };

// Probe results, oldest first: "." passed, "x" failed softly (a wrong status), "t" timed out, "h" failed hard (refused), "n" not ready,
// "r" reset, "a" auth required.
const CLASSES: Readonly<Record<string, ResultClass>> = {
  ".": "ok",
  x: "unexpected-status",
  t: "timeout",
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
  settings?: Partial<StateSettings>;
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
  {
    name: "a class may need fewer failures than the others",
    start: "up",
    probes: "xx",
    end: "down",
    settings: { thresholds: { "unexpected-status": 2 } },
  },
  {
    name: "... which a pass in between still forgives",
    start: "up",
    probes: "x.x",
    end: "up",
    settings: { thresholds: { "unexpected-status": 2 } },
  },
  {
    name: "... and another class in between does not shorten",
    start: "up",
    probes: "xrx",
    end: "down",
    settings: { thresholds: { "unexpected-status": 2 } },
  },
  {
    name: "a class may need more failures than the others",
    start: "up",
    probes: "xxxx",
    end: "up",
    settings: { thresholds: { "unexpected-status": 5 } },
  },
  {
    name: "... and is down when it has them",
    start: "up",
    probes: "xxxxx",
    end: "down",
    settings: { thresholds: { "unexpected-status": 5 } },
  },
  {
    name: "three others in a row count by themselves after patient ones",
    start: "up",
    probes: "xrrr",
    end: "down",
    settings: { thresholds: { "unexpected-status": 50 } },
  },
  {
    name: "patient ones make others wait only for as many as those need",
    start: "up",
    probes: "rrx",
    end: "up",
    settings: { thresholds: { "unexpected-status": 50 } },
  },
  {
    name: "one refusal suffices if it is set so",
    start: "up",
    probes: "h",
    end: "down",
    settings: { thresholds: { refused: 1 } },
  },
  {
    name: "hard evidence may need more",
    start: "up",
    probes: "hhh",
    end: "up",
    settings: { thresholds: { refused: 4 } },
  },
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
    { name: "comes `recheck` after the end of a pass while down", start: "down", result: "ok", tookMs: 20, at: 6020 },
    {
      name: "comes `recheck` after the end of the first pass of what joins",
      start: "joining",
      result: "ok",
      tookMs: 20,
      at: 6020,
    },
  ] as const)("$name", ({ start, result, tookMs, at }) => {
    expect(after(STARTS[start], result, tookMs)).toBe(at);
  });
});

describe("evidence from a probe in a hurry", () => {
  const failed = step(STARTS.up, { class: "reset", startedMs: 0, endedMs: 50 }, DEFAULTS).state;

  test("does not count before the recheck is due", () => {
    const early = step(failed, { class: "reset", startedMs: 500, endedMs: 550 }, DEFAULTS);
    expect(early).toEqual({ state: failed, recheckAtMs: 1000 });
  });

  test("never asks for a probe in the past", () => {
    const early = step(failed, { class: "reset", startedMs: 900, endedMs: 1900 }, DEFAULTS);
    expect(early).toEqual({ state: failed, recheckAtMs: 1900 });
  });

  test("counts from the moment it is due", () => {
    expect(step(failed, { class: "reset", startedMs: 1000, endedMs: 1050 }, DEFAULTS).state.against).toBe(2);
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

describe("how many failures are needed", () => {
  test.each([
    { name: "fall", of: "reset", settings: { fall: 3 }, needed: 3 },
    { name: "two thirds of it, rounded up, of a timeout", of: "timeout", settings: { fall: 3 }, needed: 2 },
    { name: "four of five for a timeout", of: "timeout", settings: { fall: 5 }, needed: 4 },
    { name: "one of one for a timeout", of: "timeout", settings: { fall: 1 }, needed: 1 },
    { name: "any number when overloaded", of: "overloaded", settings: { fall: 1 }, needed: Number.POSITIVE_INFINITY },
    {
      name: "what is set when overloaded",
      of: "overloaded",
      settings: { fall: 1, thresholds: { overloaded: 9 } },
      needed: 9,
    },
    { name: "two of hard evidence", of: "refused", settings: { fall: 3 }, needed: 2 },
    { name: "no more of hard evidence than of others", of: "not-ready", settings: { fall: 1 }, needed: 1 },
    { name: "two of an expired certificate", of: "tls-expired", settings: { fall: 3 }, needed: 2 },
    { name: "what is set", of: "refused", settings: { fall: 3, thresholds: { refused: 7 } }, needed: 7 },
    {
      name: "what is set for that class only",
      of: "reset",
      settings: { fall: 3, thresholds: { refused: 7 } },
      needed: 3,
    },
    { name: "nothing of a pass", of: "ok", settings: { fall: 3 }, needed: 3 },
  ] as const)("$name", ({ of, settings, needed }) => {
    expect(failuresNeeded(of, settings)).toBe(needed);
  });
});

describe("failures that may be our own", () => {
  const seen = (resultClass: ResultClass, startedMs: number, connectedMs?: number) => ({
    class: resultClass,
    startedMs,
    endedMs: startedMs + 10,
    ...(connectedMs === undefined ? {} : { connectedMs }),
  });
  /** Three failures from 1000 on; something else got through at `connectedMs`. */
  function threeFailures(resultClass: ResultClass, connectedMs: number | undefined): Health {
    let state: AddressState = STARTS.up;
    for (const startedMs of [1000, 2000, 3000])
      state = step(state, seen(resultClass, startedMs, connectedMs), DEFAULTS).state;
    return state.health;
  }

  test.each([
    { name: "do not count while nothing has got through since the first", of: "timeout", connectedMs: 999, end: "up" },
    { name: "... nor if nothing ever did", of: "unreachable", connectedMs: Number.NEGATIVE_INFINITY, end: "up" },
    { name: "... nor if that was long before the newest began", of: "timeout", connectedMs: 1749, end: "up" },
    { name: "count once something has got through since the first", of: "timeout", connectedMs: 1750, end: "down" },
    { name: "count if nobody asks for more", of: "timeout", connectedMs: undefined, end: "down" },
    { name: "count in any case if something answered", of: "reset", connectedMs: 0, end: "down" },
    { name: "count in any case if the port refused", of: "refused", connectedMs: 0, end: "down" },
  ] as const)("$name", ({ of, connectedMs, end }) => {
    expect(threeFailures(of, connectedMs)).toBe(end);
  });

  test("are rechecked meanwhile, and count at once when something gets through", () => {
    let state: AddressState = STARTS.up;
    for (const startedMs of [1000, 2000, 3000, 4000]) {
      const taken = step(state, seen("timeout", startedMs, 0), DEFAULTS);
      expect(taken.recheckAtMs).toBe(startedMs + 1000);
      state = taken.state;
    }
    expect(step(state, seen("timeout", 5000, 4750), DEFAULTS).change).toMatchObject({ to: "down", afterMs: 4010 });
  });

  test("still decide at the start, where nothing is at stake", () => {
    expect(step(STARTS.start, seen("timeout", 1000, Number.NEGATIVE_INFINITY), DEFAULTS).state.health).toBe("down");
  });

  test("are remembered up to a bound however long it lasts", () => {
    let state: AddressState = STARTS.up;
    for (let n = 0; n < 500; n += 1) state = step(state, seen("timeout", 1000 * (n + 1), 0), DEFAULTS).state;
    expect(state.needs).toHaveLength(100);
    expect(state.health).toBe("up");
  });
});

describe("flapping", () => {
  const FLAP: StateSettings = { ...DEFAULTS, rise: 1, fall: 1, flap: { limit: 5, windowMs: 600_000 } };

  /** Runs one probe a second, letter by letter; the moments of changes as `second:health`. */
  function everySecond(probes: string, settings = FLAP): { changes: string[]; state: AddressState } {
    let state: AddressState = STARTS.up;
    const changes: string[] = [];
    [...probes].forEach((letter, index) => {
      const startedMs = index * 1000;
      const taken = step(state, { class: CLASSES[letter]!, startedMs, endedMs: startedMs }, settings);
      state = taken.state;
      if (taken.change !== undefined) changes.push(`${index}:${taken.change.to}`);
    });
    return { changes, state };
  }
  const SEVEN_CHANGES = "x.x.x.x";
  const changesOf = (probes: string, settings?: StateSettings) => everySecond(probes, settings).changes.slice(7);
  const passes = (seconds: number) => ".".repeat(seconds);

  test("up to the limit is forgiven", () => {
    // Down, up, down, up, down: five changes, and it returns at once.
    expect(everySecond("x.x.x.").changes).toEqual(["0:down", "1:up", "2:down", "3:up", "4:down", "5:up"]);
  });

  test("past the limit the target must pass for 30 s on end before it returns", () => {
    expect(changesOf(`${SEVEN_CHANGES}${passes(60)}`)).toEqual(["37:up"]);
    expect(everySecond(`${SEVEN_CHANGES}${passes(10)}`).state).toMatchObject({ health: "down", heldUntilMs: 37_000 });
  });

  test("a failure during the hold begins it anew, and it grows", () => {
    // Passes from 7, fails at 17; passes from 18 for 60 s.
    expect(changesOf(`${SEVEN_CHANGES}${passes(10)}x${passes(100)}`)).toEqual(["78:up"]);
  });

  test("each further hold is twice as long, up to the window", () => {
    let probes = SEVEN_CHANGES;
    const holds: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      const from = probes.length;
      probes += passes(700);
      const up = changesOf(probes)
        .map((text) => Number.parseInt(text, 10))
        .find((second) => second >= from);
      holds.push((up ?? 0) - from);
      // Fails again as soon as it is back.
      probes = `${probes.slice(0, (up ?? 0) + 1)}x`;
    }
    expect(holds.slice(0, 3)).toEqual([30, 60, 120]);
    expect(Math.max(...holds)).toBeLessThanOrEqual(600);
  });

  test("a window without changes makes the next hold the shortest again", () => {
    const quiet = `${SEVEN_CHANGES}${passes(40)}${passes(700)}`;
    expect(changesOf(`${quiet}${SEVEN_CHANGES}${passes(40)}`).at(-1)).toBe(`${quiet.length + 7 + 30}:up`);
  });

  test("changes that are older than the window are forgotten", () => {
    const slow = `x.${passes(298)}`;
    expect(everySecond(slow.repeat(8)).changes).toHaveLength(16);
  });

  test("is not damped without settings for it", () => {
    expect(everySecond("x.x.x.x.x.x.x.", DEFAULTS_WITHOUT_FLAP).changes).toHaveLength(14);
  });

  test("does not keep an address down that only now gets its first result", () => {
    expect(step(STARTS.start, { class: "ok", startedMs: 0, endedMs: 0 }, FLAP).state.health).toBe("up");
  });

  test("that is forgiven lets the target return with the next pass", () => {
    const { state } = everySecond(`${SEVEN_CHANGES}${passes(10)}`);
    const forgiven = withoutFlaps(state);
    expect(forgiven).not.toHaveProperty("heldUntilMs");
    const taken = step(forgiven, { class: "ok", startedMs: 17_000, endedMs: 17_000 }, FLAP);
    expect(taken.change).toMatchObject({ from: "down", to: "up" });
    expect(taken.state.flap.changesMs).toEqual([17_000]);
  });

  test("that is forgiven where there is none changes nothing", () => {
    expect(withoutFlaps(STARTS.up)).toBe(STARTS.up);
    const { state } = everySecond("x.x.");
    expect(withoutFlaps(state)).toEqual({ ...state, flap: STARTS.up.flap });
  });

  test("never holds longer than the window, whatever the settings", () => {
    const settings = { ...FLAP, flap: { limit: 1, windowMs: 10_000 } };
    expect(FIRST_HOLD_MS).toBeGreaterThan(10_000);
    const { changes } = everySecond(`x.x${passes(20)}`, settings);
    expect(changes.at(-1)).toBe("13:up");
  });
});

const DEFAULTS_WITHOUT_FLAP: StateSettings = { ...DEFAULTS, rise: 1, fall: 1 };

describe("a doubt that is put aside", () => {
  test("leaves health, and the count begins anew", () => {
    const doubted = run(STARTS.up, "xx").state;
    expect(withoutDoubt(doubted)).toEqual(STARTS.up);
    expect(run(withoutDoubt(doubted), "xx").state.health).toBe("up");
  });

  test("leaves what joins to earn its place", () => {
    expect(withoutDoubt(run(STARTS.joining, ".").state)).toEqual(STARTS.joining);
  });

  test("is the same object where there was none", () => {
    expect(withoutDoubt(STARTS.down)).toBe(STARTS.down);
  });
});

test("only what never connected is what a prober without a network would see", () => {
  expect(RESULT_CLASSES.filter((one) => isNetworkFailure({ class: one }))).toEqual(["unreachable", "timeout"]);
  for (const phase of ["tls", "response"] as const) expect(isNetworkFailure({ class: "timeout", phase })).toBe(false);
  expect(isNetworkFailure({ class: "timeout", phase: "connect" })).toBe(true);
});

test("only refused and not-ready are hard evidence", () => {
  expect(RESULT_CLASSES.filter(isHardEvidence)).toEqual(["not-ready", "refused"]);
});

function needs(c: ResultClass, { fall, thresholds = {} }: StateSettings): number {
  const own = c === "ok" ? undefined : thresholds[c];
  const few = c === "refused" || c === "not-ready" || c === "tls-expired" ? Math.min(2, fall) : fall;
  const rules: Partial<Record<ResultClass, number>> = {
    timeout: Math.ceil((2 * fall) / 3),
    overloaded: Number.POSITIVE_INFINITY,
  };
  return own ?? rules[c] ?? few;
}

/** The rules again, the slow way: over everything that was ever seen. */
function naiveHealth(start: keyof typeof STARTS, seen: readonly ResultClass[], settings: StateSettings): Health {
  const tail = (upTo: number, belongs: (c: ResultClass) => boolean) => {
    let count = 0;
    while (count < upTo && belongs(seen[upTo - 1 - count]!)) count += 1;
    return count;
  };
  let health: Health = STARTS[start].health;
  for (let upTo = 1; upTo <= seen.length; upTo += 1) {
    const passes = tail(upTo, (c) => c === "ok");
    const failures = tail(upTo, (c) => c !== "ok");
    // As many of the newest as each of them asks for.
    const isEnough = Array.from({ length: failures }, (_, index) => index + 1).some((count) =>
      seen.slice(upTo - count, upTo).every((c) => needs(c, settings) <= count),
    );
    if (health === "unknown") {
      const newest = seen[upTo - 1]!;
      const isFirstSign = start === "start" && needs(newest, settings) === Number.POSITIVE_INFINITY;
      if (newest !== "ok" && !isFirstSign) health = "down";
      else if (start === "start" || passes >= settings.rise) health = "up";
    } else if (health === "up") {
      if (isEnough) health = "down";
    } else if (passes >= settings.rise) health = "up";
  }
  return health;
}

test("agrees with a naive model on whatever may come", () => {
  const settings = fc.record({
    recheckMs: fc.integer({ min: 50, max: 3000 }),
    rise: fc.integer({ min: 1, max: 5 }),
    fall: fc.integer({ min: 1, max: 5 }),
    thresholds: fc.dictionary(fc.constantFrom(...FAILURE_CLASSES), fc.integer({ min: 1, max: 6 }), { maxKeys: 4 }),
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
          // In doubt exactly while results speak against health, and never into the past; what is overloaded is not hurried.
          const isHurried = state.against > 0 && state.needs.at(-1) !== Number.POSITIVE_INFINITY;
          expect(taken.recheckAtMs !== undefined).toBe(isHurried);
          expect(taken.recheckAtMs ?? endedMs).toBeGreaterThanOrEqual(endedMs);
          startedMs = taken.recheckAtMs ?? endedMs;
        }
      },
    ),
    { numRuns: 1000 },
  );
});

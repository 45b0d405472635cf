import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type IsolationState, NOT_ISOLATED, observeNetwork } from "../../src/health/isolation.js";

const INTERVAL_MS = 2000;

/** An event each 500 ms: the letter is the address, upper case = something got through, lower case = nothing did. */
function run(events: string, addresses = new Set(events.toLowerCase()).size): IsolationState[] {
  const newest = new Map<string, boolean>();
  let state = NOT_ISOLATED;
  return [...events].map((letter, index) => {
    const isCutOff = letter === letter.toLowerCase();
    newest.set(letter.toLowerCase(), isCutOff);
    const cutOff = [...newest.values()].filter(Boolean).length;
    state = observeNetwork(state, { isCutOff, endedMs: 500 * (index + 1), intervalMs: INTERVAL_MS, addresses, cutOff });
    return state;
  });
}

const isolatedAt = (events: string, addresses?: number) =>
  run(events, addresses)
    .map(({ isolated }) => (isolated ? "!" : "."))
    .join("");

describe("the prober is presumed cut off", () => {
  test.each([
    // Each pair: what happens, and what is concluded.
    { name: "when nothing gets through for an interval", events: "ABabab", says: ".....!" },
    { name: "not before an interval has passed", events: "ABaba", says: "....." },
    { name: "when nothing ever did, and not on a single sight", events: "abababab", says: "....!!!!" },
    { name: "not while one address answers", events: "ABCabCabCabCabC", says: "..............." },
    { name: "not while one address has no result yet", events: "abababab", addresses: 3, says: "........" },
    { name: "not of one address alone, which may have failed itself", events: "AAaaaaaaaa", says: ".........." },
    {
      name: "no more once something has got through for an interval",
      events: "ababababABABAB",
      says: "....!!!!!!!!..",
    },
    { name: "still if that was for a moment only", events: "ababababAabababABABABAB", says: "....!!!!!!!!!!!!!!!...." },
    { name: "again when it comes again", events: "abababABABABabababab", says: "....!!!!!!.....!!!!!" },
  ])("$name", ({ events, addresses, says }) => {
    expect(isolatedAt(events, addresses)).toBe(says);
  });

  test("and afterwards trusts no result of a probe that was begun before", () => {
    const states = run("ababababABABAB");
    const back = states.find(({ isolated, trustFromMs }) => !isolated && trustFromMs > 0);
    expect(back).toMatchObject({ trustFromMs: 6500, connectedMs: 6500 });
  });

  test("remembers when something got through last", () => {
    expect(run("ABab").at(-1)?.connectedMs).toBe(1000);
    expect(run("AB").at(-1)?.connectedMs).toBe(1000);
  });

  test("is the same object when nothing changes", () => {
    const seen = { isCutOff: true, endedMs: 9000, intervalMs: INTERVAL_MS, addresses: 2, cutOff: 1 };
    const begun = observeNetwork(NOT_ISOLATED, seen);
    expect(observeNetwork(begun, { ...seen, endedMs: 9500 })).toBe(begun);
    const isolated = observeNetwork(begun, { ...seen, cutOff: 2, endedMs: 11_000 });
    expect(isolated.isolated).toBe(true);
    expect(observeNetwork(isolated, { ...seen, cutOff: 2, endedMs: 11_500 })).toBe(isolated);
  });

  test("never while the newest result of some address got through", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(..."abcABC"), { maxLength: 60 }), (letters) => {
        const states = run(letters.join(""), 3);
        states.forEach((state, index) => {
          const before = states[index - 1]?.isolated ?? false;
          if (!state.isolated || before) return;
          // Entered now: every address has a newest result, and none of them got through.
          const seen = letters.slice(0, index + 1);
          for (const address of "abc") {
            const newest = seen.findLast((letter) => letter.toLowerCase() === address);
            expect(newest).toBe(address);
          }
        });
      }),
    );
  });
});

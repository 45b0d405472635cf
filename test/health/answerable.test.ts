import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WhenAllDown } from "../../src/config/config.js";
import { decideAnswerable } from "../../src/health/answerable.js";
import type { AddressHealth, EndpointHealth, OverrideKind, TargetHealth } from "../../src/health/health.js";

/** `h` is down and held although it passes; `j` is unknown since it is only joining. */
const WORDS: Readonly<Record<string, Pick<AddressHealth, "health" | "held" | "isJoining">>> = {
  "+": { health: "up" },
  "-": { health: "down" },
  "?": { health: "unknown" },
  h: { health: "down", held: { untilMs: 1, changes: 7 } },
  j: { health: "unknown", isJoining: true },
};

/** `cp1:+`, `cp3:+-` (two addresses), `cp2:-!forced-up`: an endpoint in short. Addresses are `cp1/0`, `cp1/1`, ... */
function endpoint(...targets: string[]): EndpointHealth {
  return {
    fqdn: "api.k8s.example.com",
    targets: targets.map((text): TargetHealth => {
      const [, id = "", letters = "", override] = /^(\w+):([^!]+)(?:!(.+))?$/.exec(text) ?? [];
      const addresses = [...letters].map((letter, index) => ({
        address: `${id}/${index}`,
        ...WORDS[letter]!,
        sinceMs: 0,
      }));
      return {
        id,
        addresses,
        ...(override === undefined
          ? {}
          : { override: { kind: override as OverrideKind, origin: "operator", setAtMs: 0 } }),
      };
    }),
  };
}

const ALL: WhenAllDown = { kind: "all" };
const LAST: WhenAllDown = { kind: "last-healthy" };
const NONE: WhenAllDown = { kind: "none" };
const SORRY: WhenAllDown = { kind: "addresses", addresses: ["192.0.2.99"] };

const cases: readonly {
  name: string;
  targets: string[];
  whenAllDown?: WhenAllDown;
  minHealthy?: number;
  whenUnknown?: "answer" | "withhold";
  last?: string[];
  answer: string;
  up?: number;
}[] = [
  { name: "what is up is answered, in order", targets: ["c:+", "a:-", "b:+"], answer: "healthy c/0 b/0", up: 2 },
  { name: "unknown is not answered beside what is up", targets: ["a:?", "b:+"], answer: "healthy b/0" },
  { name: "each address stands for itself", targets: ["a:-+", "b:+-"], answer: "healthy a/1 b/0", up: 2 },
  {
    name: "unknown is answered where that is wanted",
    targets: ["a:?", "b:+", "c:-"],
    whenUnknown: "answer",
    answer: "healthy a/0 b/0",
    up: 2,
  },
  { name: "... but not where it is not", targets: ["a:?", "b:+"], whenUnknown: "withhold", answer: "healthy b/0" },
  { name: "... and never what only joins", targets: ["a:j", "b:+"], whenUnknown: "answer", answer: "healthy b/0" },
  { name: "... nor what is drained", targets: ["a:?!drained", "b:+"], whenUnknown: "answer", answer: "healthy b/0" },
  { name: "what flaps is withheld beside what is up", targets: ["a:h", "b:+"], answer: "healthy b/0", up: 1 },
  { name: "what flaps is better than nothing", targets: ["a:h", "b:-"], answer: "healthy a/0", up: 1 },
  {
    name: "what flaps makes up the number",
    targets: ["a:h", "b:+", "c:-"],
    minHealthy: 2,
    answer: "healthy a/0 b/0",
    up: 2,
  },
  {
    name: "... and is no more than all when that is still too few",
    targets: ["a:h", "b:-", "c:-"],
    minHealthy: 2,
    answer: "fail-open a/0 b/0 c/0",
    up: 0,
  },
  { name: "what flaps and is drained stays out", targets: ["a:h!drained", "b:-"], answer: "fail-open b/0" },
  { name: "all down answers all", targets: ["a:-", "b:-"], answer: "fail-open a/0 b/0", up: 0 },
  { name: "all unknown answers all", targets: ["a:?", "b:?"], answer: "fail-open a/0 b/0" },
  {
    name: "too few up count as all down",
    targets: ["a:+", "b:-", "c:-"],
    minHealthy: 2,
    answer: "fail-open a/0 b/0 c/0",
    up: 1,
  },
  { name: "enough up do not", targets: ["a:+", "b:-", "c:+"], minHealthy: 2, answer: "healthy a/0 c/0" },
  {
    name: "two addresses are one target",
    targets: ["a:++", "b:-"],
    minHealthy: 2,
    answer: "fail-open a/0 a/1 b/0",
    up: 1,
  },
  { name: "one healthy family is enough for both", targets: ["a:+-", "b:--"], answer: "healthy a/0" },
  { name: "drained is out", targets: ["a:+!drained", "b:+"], answer: "healthy b/0", up: 1 },
  { name: "forced down is out", targets: ["a:+!forced-down", "b:+"], answer: "healthy b/0" },
  {
    name: "forced up is in with every address",
    targets: ["a:--!forced-up", "b:+"],
    answer: "healthy a/0 a/1 b/0",
    up: 2,
  },
  { name: "forced up counts", targets: ["a:-!forced-up", "b:-"], answer: "healthy a/0" },
  {
    name: "drained does not count",
    targets: ["a:+!drained", "b:+", "c:-"],
    minHealthy: 2,
    answer: "fail-open b/0 c/0",
    up: 1,
  },
  { name: "all down leaves the drained out", targets: ["a:-!drained", "b:-"], answer: "fail-open b/0" },
  {
    name: "nothing but drained is answered all the same",
    targets: ["a:+!drained", "b:-!forced-down"],
    answer: "fail-open a/0 b/0",
  },
  { name: "`none` answers nothing", targets: ["a:-", "b:-"], whenAllDown: NONE, answer: "none" },
  {
    name: "`none` answers nothing below minHealthy",
    targets: ["a:+", "b:-"],
    whenAllDown: NONE,
    minHealthy: 2,
    answer: "none",
    up: 1,
  },
  {
    name: "`none` does not matter while enough are up",
    targets: ["a:+", "b:-"],
    whenAllDown: NONE,
    answer: "healthy a/0",
  },
  { name: "`addresses` answers those", targets: ["a:-"], whenAllDown: SORRY, answer: "fail-open 192.0.2.99" },
  {
    name: "`last-healthy` answers the last healthy",
    targets: ["a:-", "b:-", "c:-"],
    whenAllDown: LAST,
    last: ["c:c/0", "b:b/0"],
    answer: "fail-open b/0 c/0",
  },
  {
    name: "`last-healthy` forgets what is gone",
    targets: ["a:-", "b:-"],
    whenAllDown: LAST,
    last: ["b:b/0", "gone:x"],
    answer: "fail-open b/0",
  },
  {
    name: "`last-healthy` forgets an address that changed its target",
    targets: ["a:-", "b:-"],
    whenAllDown: LAST,
    last: ["b:a/0", "b:b/0"],
    answer: "fail-open b/0",
  },
  {
    name: "`last-healthy` leaves the drained out",
    targets: ["a:-!drained", "b:-", "c:-"],
    whenAllDown: LAST,
    last: ["a:a/0", "b:b/0"],
    answer: "fail-open b/0",
  },
  {
    name: "`last-healthy` without memory answers all",
    targets: ["a:-", "b:-"],
    whenAllDown: LAST,
    answer: "fail-open a/0 b/0",
  },
  {
    name: "`last-healthy` with nothing left of it answers all",
    targets: ["a:-", "b:-"],
    whenAllDown: LAST,
    last: ["z:z/0"],
    answer: "fail-open a/0 b/0",
  },
  { name: "an endpoint without targets answers nothing", targets: [], answer: "none", up: 0 },
];

describe("what is answered", () => {
  test.each(cases)(
    "$name",
    ({ targets, whenAllDown = ALL, minHealthy = 1, whenUnknown = "withhold", last, answer, up }) => {
      const lastHealthy = last?.map((text) => {
        const [target = "", address = ""] = text.split(":");
        return { target, address };
      });
      const decided = decideAnswerable(endpoint(...targets), { whenAllDown, minHealthy, whenUnknown }, lastHealthy);
      expect([decided.mode, ...decided.addresses.map(({ address }) => address)].join(" ")).toBe(answer);
      if (up !== undefined) expect(decided.upTargets).toBe(up);
    },
  );

  test("says to which target an address belongs, unless the policy named it", () => {
    const policy = { whenAllDown: SORRY, minHealthy: 1 };
    expect(decideAnswerable(endpoint("a:+"), policy).addresses).toEqual([{ target: "a", address: "a/0" }]);
    expect(decideAnswerable(endpoint("a:-"), policy).addresses).toEqual([{ address: "192.0.2.99" }]);
  });

  test("is never empty except under `none`", () => {
    const target = fc.record({
      letters: fc.array(fc.constantFrom("+", "-", "?"), { minLength: 1, maxLength: 3 }),
      override: fc.constantFrom("", "!drained", "!forced-up", "!forced-down"),
    });
    fc.assert(
      fc.property(
        fc.array(target, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(ALL, LAST, SORRY),
        fc.integer({ min: 1, max: 8 }),
        (targets, whenAllDown, minHealthy) => {
          const texts = targets.map(({ letters, override }, index) => `t${index}:${letters.join("")}${override}`);
          const decided = decideAnswerable(endpoint(...texts), { whenAllDown, minHealthy });
          expect(decided.addresses).not.toEqual([]);
          expect(decided.mode === "healthy").toBe(decided.upTargets >= minHealthy);
        },
      ),
    );
  });
});

import { describe, expect, test } from "vitest";
import type { AnswerPolicy } from "../../src/health/answerable.js";
import { decideOverride, drainTooShort, type WantedOverride } from "../../src/health/override-refusals.js";
import { endpointOf as endpoint } from "./endpoint.js";

const ENDPOINT = "api.k8s.example.com";
const ALL: AnswerPolicy = { whenAllDown: { kind: "all" }, minHealthy: 1 };

describe("decideOverride", () => {
  const none: AnswerPolicy = { whenAllDown: { kind: "none" }, minHealthy: 1 };
  const elsewhere: AnswerPolicy = { whenAllDown: { kind: "addresses", addresses: ["192.0.2.99"] }, minHealthy: 1 };
  const two: AnswerPolicy = { whenAllDown: { kind: "all" }, minHealthy: 2 };
  const cases: readonly {
    name: string;
    health: string;
    want: Partial<WantedOverride>;
    policy?: AnswerPolicy;
    is: string;
  }[] = [
    { name: "one of two that are up", health: "cp1:up cp2:up", want: {}, is: "done" },
    { name: "one of three, with two needed", health: "cp1:up cp2:up cp3:up", want: {}, policy: two, is: "done" },
    { name: "one of two, with two needed", health: "cp1:up cp2:up", want: {}, policy: two, is: "BELOW_MIN_HEALTHY" },
    { name: "that, by force", health: "cp1:up cp2:up", want: { force: true }, policy: two, is: "done, fails open" },
    { name: "the only target", health: "cp1:up", want: {}, is: "LAST_ANSWERABLE" },
    { name: "the only target, by force", health: "cp1:up", want: { force: true }, is: "done, fails open" },
    { name: "the last that is up", health: "cp1:up cp2:down", want: {}, is: "LAST_ANSWERABLE" },
    {
      name: "the last that is up, to be down",
      health: "cp1:up cp2:down",
      want: { kind: "forced-down" },
      is: "LAST_ANSWERABLE",
    },
    { name: "the last that is not drained", health: "cp1:up cp2:up!drained", want: {}, is: "LAST_ANSWERABLE" },
    { name: "the last by an override", health: "cp1:down!forced-up cp2:down", want: {}, is: "LAST_ANSWERABLE" },
    { name: "the last but one forced up", health: "cp1:up cp2:down!forced-up", want: {}, is: "done" },
    { name: "one that is down", health: "cp1:down cp2:up", want: {}, is: "done" },
    { name: "one of two that are both down", health: "cp1:down cp2:down", want: {}, is: "done" },
    { name: "one of two, both unknown", health: "cp1:unknown cp2:unknown", want: {}, is: "done" },
    {
      name: "the last not drained of those down",
      health: "cp1:down cp2:down!drained",
      want: {},
      is: "LAST_ANSWERABLE",
    },
    { name: "one that is not answered", health: "cp1:down cp2:down", want: {}, policy: none, is: "done" },
    {
      name: "the last, with a policy of none",
      health: "cp1:up cp2:down",
      want: {},
      policy: none,
      is: "LAST_ANSWERABLE",
    },
    {
      name: "the last, with other addresses",
      health: "cp1:up cp2:down",
      want: {},
      policy: elsewhere,
      is: "LAST_ANSWERABLE",
    },
    { name: "one that is drained already", health: "cp1:up!drained cp2:up", want: {}, is: "done" },
    { name: "the only target to be up", health: "cp1:down", want: { kind: "forced-up" }, is: "done" },
    { name: "a target that does not exist", health: "cp2:up cp3:up", want: {}, is: "NO_SUCH_TARGET" },
    { name: "no time at all", health: "cp1:up cp2:up", want: { forMs: 0 }, is: "BAD_DURATION" },
    { name: "not a number", health: "cp1:up cp2:up", want: { forMs: Number.NaN }, is: "BAD_DURATION" },
    { name: "more than 30 days", health: "cp1:up cp2:up", want: { forMs: 31 * 86_400_000 }, is: "BAD_DURATION" },
  ];

  test.each(cases)("$name: $is", ({ health, want, policy = ALL, is }) => {
    const request: WantedOverride = { endpoint: ENDPOINT, target: "cp1", kind: "drained", ...want };
    const decision = decideOverride(request, { health: endpoint(health), policy, lastHealthy: [] });
    const text = "refusal" in decision ? decision.refusal.code : `done${decision.failsOpen ? ", fails open" : ""}`;
    expect(text).toBe(is);
  });

  test.each([
    { name: "the last one by force: that drained earlier", health: "cp1:up cp2:up!drained", again: ["cp2"] },
    { name: "one of two that are up: none", health: "cp1:up cp2:up cp3:up!drained", again: [] },
    { name: "one drained already beside another: none", health: "cp1:up!drained cp2:up!drained", again: [] },
  ])("says which excluded targets are answered again. $name", ({ health, again }) => {
    const wanted: WantedOverride = { endpoint: ENDPOINT, target: "cp1", kind: "drained", force: true };
    const decision = decideOverride(wanted, { health: endpoint(health), policy: ALL, lastHealthy: [] });
    expect(decision).toMatchObject({ answeredAgain: again });
  });

  test("says which targets there are", () => {
    const request: WantedOverride = { endpoint: ENDPOINT, target: "cp9", kind: "drained" };
    const known = { health: endpoint("cp1:up cp2:up"), policy: ALL, lastHealthy: [] };
    expect(decideOverride(request, known)).toMatchObject({
      refusal: { message: "api.k8s.example.com has no target cp9; it has cp1, cp2" },
    });
    expect(decideOverride(request, undefined)).toMatchObject({
      refusal: { code: "NO_SUCH_ENDPOINT", message: "there is no endpoint api.k8s.example.com" },
    });
  });
});

test.each([
  { forMs: 6_000, safeInMs: 6_000, why: undefined },
  {
    forMs: 2_000,
    safeInMs: 5_950,
    why: "the drain would end after 2 s, but caches may hold cp1 for 6 s: it would come back before it can be stopped",
  },
])("a drain of $forMs ms where caches hold the target for $safeInMs ms: $why", ({ forMs, safeInMs, why }) => {
  expect(drainTooShort("cp1", forMs, safeInMs)).toBe(why);
});

import { describe, expect, test } from "vitest";
import type { AnswerPolicy } from "../../src/health/answerable.js";
import type { EndpointHealth, Health, OverrideKind } from "../../src/health/health.js";
import {
  createOverrideBook,
  decideOverride,
  type OverrideChange,
  type OverrideEntry,
  type OverrideRequest,
} from "../../src/health/overrides.js";
import { createFakeClock } from "../support/fake-clock.js";

const ENDPOINT = "api.k8s.example.com";
const ALL: AnswerPolicy = { whenAllDown: { kind: "all" }, minHealthy: 1 };

/** `cp1:up cp2:down!drained`: targets with an address each, and their overrides. */
function endpoint(text: string): EndpointHealth {
  const targets = text.split(" ").map((word) => {
    const [, id = "", health, kind] = /^(\w+):(\w+)(?:!(.+))?$/.exec(word) ?? [];
    const addresses = [{ address: `${id}-address`, health: health as Health, sinceMs: 0 }];
    return {
      id,
      addresses,
      ...(kind === undefined ? {} : { override: { kind: kind as OverrideKind, setAtMs: 0 } }),
    };
  });
  return { fqdn: ENDPOINT, targets };
}

describe("decideOverride", () => {
  const none: AnswerPolicy = { whenAllDown: { kind: "none" }, minHealthy: 1 };
  const elsewhere: AnswerPolicy = { whenAllDown: { kind: "addresses", addresses: ["192.0.2.99"] }, minHealthy: 1 };
  const two: AnswerPolicy = { whenAllDown: { kind: "all" }, minHealthy: 2 };
  const cases: readonly {
    name: string;
    health: string;
    want: Partial<OverrideRequest>;
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
    { name: "more than a year", health: "cp1:up cp2:up", want: { forMs: 366 * 86_400_000 }, is: "BAD_DURATION" },
  ];

  test.each(cases)("$name: $is", ({ health, want, policy = ALL, is }) => {
    const request: OverrideRequest = { endpoint: ENDPOINT, target: "cp1", kind: "drained", ...want };
    const decision = decideOverride(request, { health: endpoint(health), policy, lastHealthy: [] });
    const text = "refusal" in decision ? decision.refusal.code : `done${decision.failsOpen ? ", fails open" : ""}`;
    expect(text).toBe(is);
  });

  test("says which targets there are", () => {
    const request: OverrideRequest = { endpoint: ENDPOINT, target: "cp9", kind: "drained" };
    const known = { health: endpoint("cp1:up cp2:up"), policy: ALL, lastHealthy: [] };
    expect(decideOverride(request, known)).toMatchObject({
      refusal: { message: "api.k8s.example.com has no target cp9; it has cp1, cp2" },
    });
    expect(decideOverride(request, undefined)).toMatchObject({
      refusal: { code: "NO_SUCH_ENDPOINT", message: "there is no endpoint api.k8s.example.com" },
    });
  });
});

function harness(initial: readonly OverrideEntry[] = [], isKept = true) {
  const clock = createFakeClock();
  const changes: OverrideChange[] = [];
  const saves: (readonly OverrideEntry[])[] = [];
  const saveErrors: unknown[] = [];
  const log: string[] = [];
  let failure: Error | undefined;
  const book = createOverrideBook({
    clock,
    initial,
    look: (fqdn) =>
      fqdn === ENDPOINT
        ? {
            health: endpoint(["cp1", "cp2", "cp3"].map((id) => `${id}:up${word(book.get(ENDPOINT, id))}`).join(" ")),
            policy: ALL,
            lastHealthy: [],
          }
        : undefined,
    ...(isKept
      ? {
          async save(entries) {
            log.push("save");
            await Promise.resolve();
            if (failure !== undefined) throw failure;
            saves.push(entries);
          },
        }
      : {}),
    onChange(change) {
      log.push(change.action);
      changes.push(change);
    },
    onSaveError: (error) => saveErrors.push(error),
  });
  const drain = (target: string, more: Partial<OverrideRequest> = {}) =>
    book.set({ endpoint: ENDPOINT, target, kind: "drained", ...more });
  return {
    clock,
    book,
    changes,
    saves,
    saveErrors,
    log,
    drain,
    fail(error: Error | undefined) {
      failure = error;
    },
    listed: () => book.list().map(({ target, kind }) => `${target} ${kind}`),
  };
}

function word(entry: OverrideEntry | undefined): string {
  return entry === undefined ? "" : `!${entry.kind}`;
}

describe("the book of overrides", () => {
  test("saves before it carries out, and carries out before it acknowledges", async () => {
    const { clock, book, drain, log, saves } = harness();
    const done = await drain("cp1", { reason: "kernel", author: "eve", forMs: 60_000 });
    expect(log).toEqual(["save", "set"]);
    const entry = {
      endpoint: ENDPOINT,
      target: "cp1",
      kind: "drained",
      reason: "kernel",
      author: "eve",
      setAtMs: clock.wallMs(),
      expiresAtMs: clock.wallMs() + 60_000,
    };
    expect(done).toEqual({ entry, failsOpen: false, isKept: true });
    expect(saves).toEqual([[entry]]);
    expect(book.get(ENDPOINT, "cp1")).toEqual(entry);
  });

  test("keeps texts to one line of 200 characters", async () => {
    const { drain } = harness();
    const { entry } = await drain("cp1", { reason: ` a\u001b[31m\nb\u202e${"x".repeat(300)}`, author: "\u0000" });
    expect(entry.reason).toMatch(/^a \[31m b x+$/);
    expect(entry.reason?.length).toBeLessThanOrEqual(200);
    expect(entry.author).toBe("");
  });

  test("decides each request on what the one before has left", async () => {
    const { drain, listed } = harness();
    const outcomes = await Promise.allSettled([drain("cp1"), drain("cp2"), drain("cp3")]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(outcomes[2]).toMatchObject({ reason: { name: "UserError", code: "LAST_ANSWERABLE" } });
    expect(listed()).toEqual(["cp1 drained", "cp2 drained"]);
  });

  test("changes nothing if it cannot be saved, and takes back what may have been", async () => {
    const { drain, fail, listed, changes, log } = harness();
    await drain("cp1");
    fail(new Error("disk full"));
    await expect(drain("cp2")).rejects.toThrow("disk full");
    expect(log).toEqual(["save", "set", "save", "save"]);
    expect(listed()).toEqual(["cp1 drained"]);
    expect(changes).toHaveLength(1);
    fail(undefined);
    await drain("cp2");
    expect(listed()).toEqual(["cp1 drained", "cp2 drained"]);
  });

  test("works without a place to save to, and says so", async () => {
    const { drain, listed } = harness([], false);
    expect((await drain("cp1")).isKept).toBe(false);
    expect(listed()).toEqual(["cp1 drained"]);
  });

  test("puts a new override in place of the old one", async () => {
    const { book, drain, listed } = harness();
    await drain("cp1", { forMs: 1000 });
    await drain("cp1", { kind: "forced-up" });
    expect(listed()).toEqual(["cp1 forced-up"]);
    expect(book.get(ENDPOINT, "cp1")?.expiresAtMs).toBeUndefined();
  });

  test("ends an override, or only one of a kind", async () => {
    const { book, drain, listed, saves } = harness();
    await drain("cp1");
    expect(await book.clear(ENDPOINT, "cp1", ["forced-up", "forced-down"])).toBeUndefined();
    expect(listed()).toEqual(["cp1 drained"]);
    expect(await book.clear(ENDPOINT, "cp1", ["drained"])).toMatchObject({ kind: "drained" });
    expect(await book.clear(ENDPOINT, "cp1")).toBeUndefined();
    expect(listed()).toEqual([]);
    expect(saves.at(-1)).toEqual([]);
  });

  test("ends an override when its time has come, not before", async () => {
    const { clock, drain, listed, changes, saves } = harness();
    await drain("cp1", { forMs: 100_000 });
    await drain("cp2");
    await clock.advance(99_999);
    expect(listed()).toEqual(["cp1 drained", "cp2 drained"]);
    await clock.advance(1);
    expect(listed()).toEqual(["cp2 drained"]);
    expect(changes.at(-1)).toMatchObject({ action: "expired", entry: { target: "cp1" } });
    expect(saves.at(-1)).toMatchObject([{ target: "cp2" }]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("notices within half a minute that the wall clock was set", async () => {
    const { clock, drain, listed } = harness();
    await drain("cp1", { forMs: 3_600_000 });
    clock.stepWall(3_600_000);
    await clock.advance(30_000);
    expect(listed()).toEqual([]);
  });

  test("does not end an override early when the wall clock was set back", async () => {
    const { clock, drain, listed } = harness();
    await drain("cp1", { forMs: 10_000 });
    clock.stepWall(-60_000);
    await clock.advance(65_000);
    expect(listed()).toEqual(["cp1 drained"]);
    await clock.advance(5_000);
    expect(listed()).toEqual([]);
  });

  test("lets an override expire even if that cannot be saved", async () => {
    const { clock, drain, fail, listed, saveErrors } = harness();
    await drain("cp1", { forMs: 1000 });
    fail(new Error("disk full"));
    await clock.advance(1000);
    expect(listed()).toEqual([]);
    expect(saveErrors).toMatchObject([{ message: "disk full" }]);
  });

  test("starts with what was kept, without what has expired, and lets the rest expire", async () => {
    const now = createFakeClock().wallMs();
    const kept = (target: string, expiresAtMs?: number): OverrideEntry => ({
      endpoint: ENDPOINT,
      target,
      kind: "drained",
      setAtMs: now - 5000,
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    });
    const { clock, listed, changes } = harness([kept("cp1"), kept("cp2", now), kept("cp3", now + 10)]);
    expect(listed()).toEqual(["cp1 drained", "cp3 drained"]);
    expect(changes).toEqual([]);
    await clock.advance(10);
    expect(listed()).toEqual(["cp1 drained"]);
  });

  test("ends overrides of targets that are not configured any more", async () => {
    const { book } = harness([{ endpoint: "gone.example.com", target: "cp1", kind: "drained", setAtMs: 0 }]);
    expect(await book.clear("gone.example.com", "cp1")).toMatchObject({ kind: "drained" });
    expect(book.list()).toEqual([]);
  });

  test("leaves no timer behind when it is stopped, and waits for what is under way", async () => {
    const { clock, book, drain, listed } = harness();
    await drain("cp1", { forMs: 1000 });
    const late = drain("cp2", { forMs: 1000 });
    await book.stop();
    expect(listed()).toEqual(["cp1 drained", "cp2 drained"]);
    await late;
    expect(clock.pendingTimers).toBe(0);
  });
});

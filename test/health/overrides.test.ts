import { describe, expect, test } from "vitest";
import type { AnswerPolicy } from "../../src/health/answerable.js";
import type { OverrideChange, OverrideEntry, OverrideRecord } from "../../src/health/override-records.js";
import { type OverrideRequest, OverrideStore } from "../../src/health/overrides.js";
import { createFakeClock } from "../support/fake-clock.js";
import { endpointOf as endpoint } from "./endpoint.js";

const ENDPOINT = "api.k8s.example.com";
const EVE = { author: "eve", origin: "operator" } as const;
const ALL: AnswerPolicy = { whenAllDown: { kind: "all" }, minHealthy: 1 };

function harness(initial: readonly OverrideEntry[] = [], isKept = true) {
  const clock = createFakeClock();
  const changes: OverrideChange[] = [];
  const saves: (readonly OverrideRecord[])[] = [];
  const saveErrors: unknown[] = [];
  const log: string[] = [];
  let failure: Error | undefined;
  const book: OverrideStore = new OverrideStore({
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
    book.set({ endpoint: ENDPOINT, target, kind: "drained", origin: "operator", ...more });
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

describe("the store of overrides", () => {
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
      origin: "operator",
      setAtMs: clock.wallMs(),
      expiresAtMs: clock.wallMs() + 60_000,
    };
    expect(done).toEqual({ entry, failsOpen: false, answeredAgain: [], isKept: true });
    expect(saves).toEqual([[entry]]);
    expect(book.get(ENDPOINT, "cp1")).toEqual(entry);
  });

  test("keeps a reason to one line of 200 characters and an author to one of 64", async () => {
    const { drain } = harness();
    const { entry } = await drain("cp1", {
      reason: ` a\u001b[31m\nb\u202e${"x".repeat(300)}`,
      author: `\u0000${"y".repeat(99)}`,
    });
    expect(entry.reason).toMatch(/^a \[31m b x+$/);
    expect(entry.reason?.length).toBeLessThanOrEqual(200);
    expect(entry.author).toBe("y".repeat(63));
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
    expect(await book.clear({ endpoint: ENDPOINT, target: "cp1" }, EVE, ["forced-up", "forced-down"])).toBeUndefined();
    expect(listed()).toEqual(["cp1 drained"]);
    expect(await book.clear({ endpoint: ENDPOINT, target: "cp1" }, EVE, ["drained"])).toMatchObject({
      kind: "drained",
    });
    expect(await book.clear({ endpoint: ENDPOINT, target: "cp1" }, EVE)).toBeUndefined();
    expect(listed()).toEqual([]);
    expect(saves.at(-1)).toEqual([]);
  });

  test("tells who has set and who has cleared an override", async () => {
    const { book, drain, changes } = harness();
    await drain("cp1", { author: "alice" });
    await book.clear({ endpoint: ENDPOINT, target: "cp1" }, EVE);
    expect(changes).toMatchObject([
      { action: "set", entry: { author: "alice", origin: "operator" }, actor: { author: "alice", origin: "operator" } },
      { action: "cleared", entry: { author: "alice" }, actor: { author: "eve", origin: "operator" } },
    ]);
  });

  test("carries out nothing for whoever has gone meanwhile", async () => {
    const { book, drain, listed, saves } = harness();
    const signal = AbortSignal.abort();
    await expect(drain("cp1", { signal })).rejects.toMatchObject({ code: "CLIENT_GONE" });
    await drain("cp2");
    const clear = book.clear({ endpoint: ENDPOINT, target: "cp2" }, { ...EVE, signal });
    await expect(clear).rejects.toMatchObject({ code: "CLIENT_GONE" });
    expect(listed()).toEqual(["cp2 drained"]);
    expect(saves).toHaveLength(1);
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
      origin: "operator",
      setAtMs: now - 5000,
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    });
    const { clock, listed, changes } = harness([kept("cp1"), kept("cp2", now), kept("cp3", now + 10)]);
    expect(listed()).toEqual(["cp1 drained", "cp3 drained"]);
    expect(changes).toEqual([]);
    await clock.advance(10);
    expect(listed()).toEqual(["cp1 drained"]);
  });

  test("adopts what another process has saved, as changes by its authors, without saving it again", async () => {
    const { book, drain, changes, saves, listed } = harness();
    await drain("cp1", { author: "alice" });
    await drain("cp2", { author: "bob" });
    const [first] = book.list();
    const other = {
      endpoint: ENDPOINT,
      target: "cp3",
      kind: "drained",
      author: "eve",
      origin: "operator",
      setAtMs: 1,
    } as const;
    await book.adopt([...(first === undefined ? [] : [first]), other, { ...other, target: "cp4", expiresAtMs: 2 }]);
    expect(listed()).toEqual(["cp1 drained", "cp3 drained"]);
    expect(changes.slice(2)).toEqual([
      { action: "set", entry: other, actor: { author: "eve", origin: "operator" } },
      { action: "cleared", entry: expect.objectContaining({ target: "cp2" }), actor: { origin: "operator" } },
    ]);
    expect(saves).toHaveLength(2);
  });

  test("ends overrides of targets that are not configured any more", async () => {
    const { book } = harness([
      { endpoint: "gone.example.com", target: "cp1", kind: "drained", origin: "operator", setAtMs: 0 },
    ]);
    expect(await book.clear({ endpoint: "gone.example.com", target: "cp1" }, EVE)).toMatchObject({ kind: "drained" });
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

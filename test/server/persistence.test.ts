import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type LastKnown, openKeptState } from "../../src/health/persisted-state.js";
import type { StateAlarm, StateFile } from "../../src/health/state-file.js";
import { createRemembering, MAX_AGE_MS } from "../../src/server/persistence.js";
import { createFakeClock } from "../support/fake-clock.js";
import { temporaryFolder } from "../support/temp.js";

const KNOWN: Omit<LastKnown, "savedAtMs"> = {
  endpoints: [
    {
      fqdn: "api.k8s.example.com",
      addresses: [
        { target: "cp1", address: "192.0.2.11", health: "up", sinceMs: 5 },
        {
          target: "cp2",
          address: "192.0.2.12",
          health: "down",
          sinceMs: 6,
          last: { class: "refused", reason: "nothing listens", durationMs: 1.5 },
        },
      ],
      lastHealthy: [{ target: "cp1", address: "192.0.2.11" }],
    },
  ],
  zones: [{ zone: "k8s.example.com", serial: 4_000_000_000 }],
};

/** A file in memory; `read` gives what is in it, `writes` all that was written. */
function memory(content?: LastKnown) {
  const writes: LastKnown[] = [];
  let failure: Error | undefined;
  const file: StateFile<LastKnown> = {
    read: async () => content,
    async write(value) {
      if (failure !== undefined) throw failure;
      writes.push(value);
    },
  };
  return {
    file,
    writes,
    fail(error: Error) {
      failure = error;
    },
  };
}

async function remembering(ageMs?: number) {
  const clock = createFakeClock();
  const content = ageMs === undefined ? undefined : { savedAtMs: clock.wallMs() - ageMs, ...KNOWN };
  const kept = memory(content);
  const errors: unknown[] = [];
  const it = await createRemembering({
    clock,
    file: kept.file,
    collect: () => KNOWN,
    onError: (error) => errors.push(error),
  });
  return { clock, ...kept, it, errors };
}

describe("what the process before knew", () => {
  test.each([
    { name: "of a moment ago serves", ageMs: 1000, isFresh: true },
    { name: "of ten minutes ago serves", ageMs: MAX_AGE_MS, isFresh: true },
    { name: "of longer ago counts as unknown", ageMs: MAX_AGE_MS + 1, isFresh: false },
    { name: "a little from the future serves: clocks are corrected", ageMs: -4000, isFresh: true },
    { name: "far from the future counts as unknown", ageMs: -60_000, isFresh: false },
  ])("$name", async ({ ageMs, isFresh }) => {
    const { it } = await remembering(ageMs);
    expect(it).toMatchObject({ ageMs, isFresh });
    expect(it.recall("api.k8s.example.com", "cp2", "192.0.2.12")).toEqual(
      isFresh
        ? { health: "down", sinceMs: 6, last: { class: "refused", reason: "nothing listens", durationMs: 1.5 } }
        : undefined,
    );
    expect(it.lastHealthy("api.k8s.example.com")).toHaveLength(isFresh ? 1 : 0);
    // A serial must go on from where it was, whenever that was.
    expect(it.serial("k8s.example.com")).toBe(4_000_000_000);
  });

  test("is nothing without a file", async () => {
    const { it } = await remembering();
    expect(it.isFresh).toBe(false);
    expect(it.ageMs).toBeUndefined();
    expect(it.recall("api.k8s.example.com", "cp1", "192.0.2.11")).toBeUndefined();
    expect(it.serial("k8s.example.com")).toBeUndefined();
  });

  test("is nothing of an address that has changed", async () => {
    const { it } = await remembering(1000);
    expect(it.recall("api.k8s.example.com", "cp1", "192.0.2.99")).toBeUndefined();
  });
});

describe("what is kept for the next process", () => {
  test("is written two seconds after a change, with those that follow it, and every minute", async () => {
    const { clock, it, writes } = await remembering();
    it.start();
    await clock.advance(10_000);
    expect(writes).toHaveLength(0);
    for (let n = 0; n < 15; n += 1) {
      it.changed();
      await clock.advance(100);
    }
    await clock.advance(600);
    expect(writes).toEqual([{ savedAtMs: clock.wallMs() - 100, ...KNOWN }]);
    await clock.advance(60_000);
    expect(writes).toHaveLength(2);
    await clock.advance(600_000);
    expect(writes).toHaveLength(12);
  });

  test("is written at the stop, and never after it", async () => {
    const { clock, it, writes } = await remembering();
    it.start();
    it.changed();
    await it.stop();
    expect(writes).toHaveLength(1);
    it.changed();
    await clock.advance(600_000);
    expect(writes).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test("goes on being tried when it cannot be written", async () => {
    const { clock, it, fail, errors } = await remembering();
    fail(new Error("disk full"));
    it.start();
    await clock.advance(120_000);
    expect(errors).toHaveLength(2);
    await it.stop();
    expect(errors).toHaveLength(3);
  });

  test("is not written anywhere without a folder for it", async () => {
    const clock = createFakeClock();
    const it = await createRemembering({ clock, file: undefined, collect: () => KNOWN, onError: () => {} });
    it.start();
    it.changed();
    expect(clock.pendingTimers).toBe(0);
    await it.stop();
  });
});

describe("the files", () => {
  const open = (folder: string) => {
    const alarms: StateAlarm[] = [];
    return { alarms, ...openKeptState({ folder, clock: createFakeClock(), onAlarm: (alarm) => alarms.push(alarm) }) };
  };

  test("give back what was put into them", async () => {
    const folder = temporaryFolder();
    const override = { endpoint: "api.k8s.example.com", target: "cp1", kind: "drained", setAtMs: 7 } as const;
    const more = { ...override, target: "cp2", reason: "why", author: "who", expiresAtMs: 8 };
    await open(folder).overrides.write([override, more]);
    await open(folder).last.write({ savedAtMs: 9, ...KNOWN });
    const again = open(folder);
    expect(await again.overrides.read()).toEqual([override, more]);
    expect(await again.last.read()).toEqual({ savedAtMs: 9, ...KNOWN });
    expect(again.alarms).toEqual([]);
  });

  test("do not suffer from each other", async () => {
    const folder = temporaryFolder();
    await open(folder).overrides.write([]);
    writeFileSync(path.join(folder, "last.json"), '{"version": 99, "content": {}}');
    const again = open(folder);
    expect(await again.last.read()).toBeUndefined();
    expect(await again.overrides.read()).toEqual([]);
    expect(again.alarms).toMatchObject([{ problem: expect.stringContaining("a newer livezone wrote it") }]);
  });

  test.each([
    ["of an unknown kind", { kind: "paused" }],
    ["set at no moment", { setAtMs: "yesterday" }],
    ["of no target", { target: "" }],
    ["with more in it", { colour: "red" }],
  ])("refuse an override %s", async (_name, change) => {
    const folder = temporaryFolder();
    const override = { endpoint: "api", target: "cp1", kind: "drained", setAtMs: 7, ...change };
    writeFileSync(path.join(folder, "overrides.json"), JSON.stringify({ version: 1, content: [override] }));
    const { overrides, alarms } = open(folder);
    expect(await overrides.read()).toBeUndefined();
    expect(alarms).toHaveLength(1);
  });
});

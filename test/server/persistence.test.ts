import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type LastKnown, openKeptState } from "../../src/health/persisted-state.js";
import type { StateAlarm, StateFile } from "../../src/health/state-file.js";
import { HealthPersistence, knownBefore, MAX_AGE_MS } from "../../src/server/persistence.js";
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

/** A file in memory; `writes` is all that was written. */
function memory() {
  const writes: LastKnown[] = [];
  let failure: Error | undefined;
  const file: Pick<StateFile<LastKnown>, "write"> = {
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

function knownFor(ageMs: number) {
  const nowMs = createFakeClock().wallMs();
  return knownBefore({ savedAtMs: nowMs - ageMs, ...KNOWN }, nowMs);
}

function persistence() {
  const clock = createFakeClock();
  const kept = memory();
  const errors: unknown[] = [];
  const it = new HealthPersistence({
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
  ])("$name", ({ ageMs, isFresh }) => {
    const it = knownFor(ageMs);
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

  test("is nothing without a file", () => {
    const it = knownBefore(undefined, 0);
    expect(it.isFresh).toBe(false);
    expect(it.ageMs).toBeUndefined();
    expect(it.recall("api.k8s.example.com", "cp1", "192.0.2.11")).toBeUndefined();
    expect(it.serial("k8s.example.com")).toBeUndefined();
  });

  test("is nothing of an address that has changed", () => {
    const it = knownFor(1000);
    expect(it.recall("api.k8s.example.com", "cp1", "192.0.2.99")).toBeUndefined();
  });
});

describe("what is kept for the next process", () => {
  test("is written two seconds after a change, with those that follow it, and every minute", async () => {
    const { clock, it, writes } = persistence();
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

  test.each([
    "override-changed",
    "suppression-changed",
    "health-changed",
    "answers-changed",
    "zones-replaced",
  ] as const)("is written after the event %s", async (type) => {
    const { clock, it, writes } = persistence();
    const handle = it.subscriber()[type] as (() => void) | undefined;
    handle?.();
    await clock.advance(2_000);
    expect(writes).toHaveLength(1);
  });

  test("is written at the stop, and never after it", async () => {
    const { clock, it, writes } = persistence();
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
    const { clock, it, fail, errors } = persistence();
    fail(new Error("disk full"));
    it.start();
    await clock.advance(120_000);
    expect(errors).toHaveLength(2);
    await it.stop();
    expect(errors).toHaveLength(3);
  });

  test("is not written anywhere without a folder for it", async () => {
    const clock = createFakeClock();
    const it = new HealthPersistence({ clock, file: undefined, collect: () => KNOWN, onError: () => {} });
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
    const override = {
      endpoint: "api.k8s.example.com",
      target: "cp1",
      kind: "drained",
      origin: "operator",
      setAtMs: 7,
    } as const;
    const more = {
      ...override,
      target: "cp2",
      origin: "sibling:ns2",
      reason: "why",
      author: "who",
      expiresAtMs: 8,
    } as const;
    await open(folder).overrides.write([override, more]);
    await open(folder).last.write({ savedAtMs: 9, ...KNOWN });
    const again = open(folder);
    expect(await again.overrides.read()).toEqual([override, more]);
    expect(await again.last.read()).toEqual({ savedAtMs: 9, ...KNOWN });
    expect(again.alarms).toEqual([]);
  });

  test("of the version before are read: their overrides came from operators", async () => {
    const folder = temporaryFolder();
    const override = { endpoint: "api.k8s.example.com", target: "cp1", kind: "drained", author: "who", setAtMs: 7 };
    writeFileSync(path.join(folder, "overrides.json"), JSON.stringify({ version: 1, content: [override] }));
    const { overrides, alarms } = open(folder);
    expect(await overrides.read()).toEqual([{ ...override, origin: "operator" }]);
    expect(alarms).toEqual([]);
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
    ["of an unknown origin", { origin: "elsewhere" }],
  ])("refuse an override %s", async (_name, change) => {
    const folder = temporaryFolder();
    const override = { endpoint: "api", target: "cp1", kind: "drained", origin: "operator", setAtMs: 7, ...change };
    writeFileSync(path.join(folder, "overrides.json"), JSON.stringify({ version: 2, content: [override] }));
    const { overrides, alarms } = open(folder);
    expect(await overrides.read()).toBeUndefined();
    expect(alarms).toHaveLength(1);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AnswerPolicy } from "../../src/health/answerable.js";
import { ENDED_KEPT_MS, endOf, type OverrideRecord, type StampedRecord } from "../../src/health/override-records.js";
import { OverrideStore } from "../../src/health/overrides.js";
import { createFakeClock, type FakeClock } from "../support/fake-clock.js";
import { endpointOf } from "./endpoint.js";

const ENDPOINT = "api.k8s.example.com";
const ALL: AnswerPolicy = { whenAllDown: { kind: "all" }, minHealthy: 1 };
const DAY_MS = 86_400_000;

/** A server's store; what it saves is kept for the process that comes after it. */
function storeOf(server: string, clock: FakeClock, initial: readonly OverrideRecord[] = []) {
  const disk = { records: initial };
  const changes: string[] = [];
  const store = new OverrideStore({
    clock,
    server,
    initial,
    look: () => ({ health: endpointOf("cp1:up cp2:up cp3:up cp4:up"), policy: ALL, lastHealthy: [] }),
    async save(records) {
      disk.records = records;
    },
    onChange: ({ action, entry, actor }) => changes.push(`${action} ${entry.target} ${actor.origin}`),
    onSaveError: () => {},
  });
  return { store, disk, changes };
}

const drain = (target: string) =>
  ({ endpoint: ENDPOINT, target, kind: "drained", origin: "operator", author: "eve" }) as const;

/** As it arrives elsewhere. */
function from(server: string, records: readonly StampedRecord[]): StampedRecord[] {
  return records.map((record) => ({ ...record, origin: `sibling:${server}` }));
}

function held(store: OverrideStore): string {
  return [...store.list()]
    .map(({ target, kind }) => `${target} ${kind}`)
    .sort()
    .join();
}

describe("overrides of siblings", () => {
  test("the last word holds, whatever the clocks say", async () => {
    const [here, there] = [createFakeClock(), createFakeClock(Date.UTC(2026, 0, 1) - DAY_MS)];
    const a = storeOf("a", here);
    const b = storeOf("b", there);
    await a.store.set(drain("cp1"));
    expect(await b.store.receive(from("a", a.store.shared()))).toHaveLength(1);
    expect(held(b.store)).toBe("cp1 drained");
    // A day behind, and after it all the same.
    await b.store.clear(drain("cp1"), { origin: "operator", author: "bob" });
    await a.store.receive(from("b", b.store.shared()));
    expect(held(a.store)).toBe("");
    expect(a.changes).toEqual(["set cp1 operator", "cleared cp1 sibling:b"]);
    // What is old news changes nothing.
    expect(await b.store.receive(from("a", a.store.shared()))).toEqual([]);
  });

  test("it is saved before it is taken, and known after a restart; the note of what has ended too, for 7 days", async () => {
    const clock = createFakeClock();
    const a = storeOf("a", clock);
    await a.store.set(drain("cp1"));
    await a.store.clear(drain("cp1"), { origin: "operator" });
    const [note] = a.disk.records;
    expect(note).toMatchObject({ kind: "ended", target: "cp1", stamp: { by: "a" } });
    const again = storeOf("a", clock, a.disk.records);
    expect(again.store.shared()).toEqual([note]);
    expect(endOf(note as OverrideRecord)).toBe(clock.wallMs() + ENDED_KEPT_MS);
    await clock.advance(ENDED_KEPT_MS + 60_000);
    expect(again.store.shared()).toEqual([]);
  });

  test("one that expires needs no word between servers, and leaves a note with its own stamp", async () => {
    const clock = createFakeClock();
    const a = storeOf("a", clock);
    await a.store.set({ ...drain("cp1"), forMs: 60_000 });
    const [before] = a.store.shared();
    await clock.advance(61_000);
    expect(a.store.shared()).toMatchObject([{ kind: "ended", stamp: before?.stamp }]);
    // It comes back from a sibling whose clock is behind: it has ended all the same.
    await a.store.receive(from("b", [before as StampedRecord]));
    expect(held(a.store)).toBe("");
  });

  test("one of this server alone is not shared, comes first, and ends with a word for all", async () => {
    const clock = createFakeClock();
    const a = storeOf("a", clock);
    await a.store.set({ ...drain("cp1"), isLocal: true });
    expect(a.store.shared()).toEqual([]);
    await a.store.receive([
      { ...drain("cp1"), kind: "forced-up", stamp: { ms: 9e12, count: 0, by: "b" }, setAtMs: 0, origin: "sibling:b" },
    ]);
    expect(a.store.get(ENDPOINT, "cp1")).toMatchObject({ kind: "drained", isLocal: true });
    await a.store.clear(drain("cp1"), { origin: "operator", isLocal: true });
    expect(a.store.get(ENDPOINT, "cp1")?.kind).toBe("forced-up");
    await a.store.set({ ...drain("cp1"), isLocal: true });
    await a.store.set(drain("cp1"));
    expect(a.store.list()).toHaveLength(1);
    expect(a.store.shared()).toMatchObject([{ kind: "drained" }]);
  });

  test("one that was set before there were siblings is shared", () => {
    const clock = createFakeClock();
    const old = { ...drain("cp1"), setAtMs: 5 };
    expect(storeOf("a", clock, [old]).store.shared()).toEqual([{ ...old, stamp: { ms: 5, count: 0, by: "a" } }]);
  });

  test("three servers over links that lose, delay and repeat, with clocks a day apart and restarts, come to one state", async () => {
    const step = fc.record({
      who: fc.nat(2),
      what: fc.constantFrom("drain", "undrain", "force", "tell", "tell", "tell", "restart", "wait"),
      to: fc.nat(2),
      target: fc.constantFrom("cp1", "cp2"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const clocks = [-DAY_MS, 0, DAY_MS].map((offsetMs) => createFakeClock(Date.UTC(2026, 0, 1) + offsetMs));
        const servers = clocks.map((clock, i) => storeOf(`ns${i}`, clock));
        /** What is on its way, to be heard in any order, also twice. */
        const stale: StampedRecord[][] = [];
        const tell = async (who: number, to: number): Promise<void> => {
          stale.push(from(`ns${who}`, servers[who]!.store.shared()));
          // Some news of long ago, and the newest.
          await servers[to]!.store.receive(stale[(who * 7 + to) % stale.length]!);
          await servers[to]!.store.receive(stale.at(-1)!);
        };
        const acts: Record<string, (who: number, target: string, to: number) => unknown> = {
          drain: (who, target) => servers[who]!.store.set({ ...drain(target), force: true }),
          force: (who, target) => servers[who]!.store.set({ ...drain(target), kind: "forced-up" }),
          undrain: (who, target) => servers[who]!.store.clear(drain(target), { origin: "operator" }),
          restart(who) {
            servers[who] = storeOf(`ns${who}`, clocks[who]!, servers[who]!.disk.records);
          },
          wait: (who) => clocks[who]!.advance(1),
          tell: (who, _, to) => tell(who, to),
        };
        for (const { who, what, to, target } of steps) await acts[what]?.(who, target, to);
        for (let round = 0; round < 2; round += 1) {
          for (const a of servers) for (const b of servers) await b.store.receive(from("x", a.store.shared()));
        }
        const states = servers.map(({ store }) => held(store));
        expect(new Set(states).size, states.join(" | ")).toBe(1);
        const stamps = servers.map(({ store }) =>
          JSON.stringify(
            store
              .shared()
              .map(({ target, stamp }) => [target, stamp])
              .sort(),
          ),
        );
        expect(new Set(stamps).size).toBe(1);
      }),
      { seed: 20_261_203, numRuns: 150 },
    );
  });
});

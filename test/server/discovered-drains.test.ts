import { describe, expect, test } from "vitest";
import type { OverrideEntry } from "../../src/health/override-records.js";
import { UserError } from "../../src/lib/errors.js";
import { DiscoveredDrains } from "../../src/server/discovered-drains.js";

const FQDN = "api.k8s.example.com";

const entry = (target: string, more: Partial<OverrideEntry> = {}): OverrideEntry => ({
  ...{ endpoint: FQDN, target, kind: "drained", origin: "kubernetes", author: "kubernetes", setAtMs: 0 },
  ...more,
});

function setUp(initial: readonly OverrideEntry[] = []) {
  const entries = new Map(initial.map((one) => [one.target, one]));
  const state = { refuse: false, calls: [] as string[] };
  const drains = new DiscoveredDrains(FQDN, {
    list: () => [...entries.values()],
    get: (_, target) => entries.get(target),
    async set({ target, reason = "", kind, origin, author = "" }) {
      state.calls.push(`set ${target}`);
      if (state.refuse) throw new UserError("the last one", "LAST_ANSWERABLE");
      const set = entry(target, { reason, kind, origin, author });
      entries.set(target, set);
      return { entry: set, isKept: true, failsOpen: false, answeredAgain: [] };
    },
    async clear({ target }) {
      state.calls.push(`clear ${target}`);
      const before = entries.get(target);
      entries.delete(target);
      return before;
    },
  });
  const want = async (wanted: Readonly<Record<string, string>>): Promise<void> => {
    drains.want(new Map(Object.entries(wanted)));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { drains, want, state, entries };
}

describe("drains that a cluster asks for", () => {
  test("are set once, by kubernetes, and cleared when it does not ask any more", async () => {
    const { want, state, entries } = setUp();
    await want({ cp1: "cordoned" });
    await want({ cp1: "cordoned" });
    expect(entries.get("cp1")).toMatchObject({ origin: "kubernetes", author: "kubernetes", reason: "cordoned" });
    await want({});
    await want({});
    expect(state.calls).toEqual(["set cp1", "clear cp1"]);
  });

  test("do not replace an operator's word, nor end it", async () => {
    const { want, state } = setUp([entry("cp1", { origin: "operator", kind: "forced-up" })]);
    await want({ cp1: "cordoned" });
    await want({});
    expect(state.calls).toEqual([]);
  });

  test("that a sibling has set for the cluster are not set once more, and end with what the cluster says here", async () => {
    const { want, state, entries } = setUp([entry("cp1", { origin: "sibling:ns1", reason: "cordoned" })]);
    await want({});
    expect(state.calls).toEqual([]);
    await want({ cp1: "cordoned" });
    expect(state.calls).toEqual([]);
    await want({});
    expect([state.calls, entries.size]).toEqual([["clear cp1"], 0]);
  });

  test("that an operator has ended are not set again while the reason is the same", async () => {
    const { want, state, entries } = setUp();
    await want({ cp1: "cordoned" });
    entries.delete("cp1");
    await want({ cp1: "cordoned" });
    expect(state.calls).toEqual(["set cp1"]);
  });

  test("of the process before are known", async () => {
    const { want, state } = setUp([entry("cp1", { reason: "cordoned" })]);
    await want({ cp1: "cordoned" });
    expect(state.calls).toEqual([]);
    await want({});
    expect(state.calls).toEqual(["clear cp1"]);
  });

  test("that are refused are asked for again", async () => {
    const { want, state, drains } = setUp();
    state.refuse = true;
    await want({ cp1: "cordoned" });
    expect(drains.isWaiting).toBe(true);
    state.refuse = false;
    await want({ cp1: "cordoned" });
    expect(drains.isWaiting).toBe(false);
    expect(state.calls).toEqual(["set cp1", "set cp1"]);
  });
});

import { pino } from "pino";
import { describe, expect, test } from "vitest";
import type { Snapshot } from "../../src/health/health.js";
import type { StampedRecord } from "../../src/health/override-records.js";
import { ServerEvents } from "../../src/server/events.js";
import { OverrideSharing } from "../../src/server/override-sharing.js";
import { Reservations } from "../../src/server/reservations.js";
import { SiblingViews, siblingsShown } from "../../src/server/sibling-views.js";
import { createSighted } from "../../src/server/sighted.js";
import type { ServerState } from "../../src/server/state.js";
import type { Peer } from "../../src/siblings/host.js";
import type { Reply, SharedOverride } from "../../src/siblings/messages.js";
import { newHeard, noteBeat } from "../../src/siblings/peer-state.js";
import type { Siblings } from "../../src/siblings/siblings.js";
import { loadRight } from "../config/folder.js";
import { BEAT } from "../siblings/beat.js";
import { createFakeClock } from "../support/fake-clock.js";

import { serveEndpoints, snapshotOf } from "./served.js";

const NAME = { endpoint: "api.k8s.example.com", target: "cp1" };

function sharing(replies: { refused?: { peer: string; code: string; message: string }[]; safe?: Reply | undefined }) {
  const clock = createFakeClock();
  const said: string[] = [];
  const spread: (readonly SharedOverride[])[] = [];
  const reservations = new Reservations(clock);
  const records: StampedRecord[] = [
    { ...NAME, kind: "drained", origin: "operator", setAtMs: 1, stamp: { ms: 1, count: 0, by: "ns1" } },
    { ...NAME, target: "cp2", kind: "ended", origin: "operator", setAtMs: 1, stamp: { ms: 1, count: 1, by: "ns1" } },
  ];
  const siblings = {
    name: "ns1",
    ask: async () => ({ refused: replies.refused ?? [], silent: [] }),
    release: () => said.push("release"),
    spread: async (entries: readonly SharedOverride[], except?: string) => {
      spread.push(entries);
      said.push(`spread but to ${except}`);
      return new Set<string>();
    },
    safe: async () => [{ peer: "ns2", reply: replies.safe }],
  } as unknown as Siblings;
  const made = new OverrideSharing({ clock, siblings, overrides: { shared: () => records }, reservations });
  return { clock, said, spread, reservations, records, sharing: made };
}

describe("an override that is set here", () => {
  test("is refused in the words of the sibling, which is named, and what the others kept free is free again", async () => {
    const { sharing: made, said } = sharing({
      refused: [{ peer: "ns2", code: "LAST_ANSWERABLE", message: "it is the last" }],
    });
    await expect(made.approve(NAME, "drained")).rejects.toMatchObject({
      code: "LAST_ANSWERABLE",
      message: "ns2 refuses: it is the last",
    });
    expect(said).toEqual(["release"]);
  });

  test("asks nobody if it takes nothing out", async () => {
    const { sharing: made } = sharing({ refused: [{ peer: "ns2", code: "LAST_ANSWERABLE", message: "" }] });
    await expect(made.approve(NAME, "forced-up")).resolves.toBeUndefined();
  });

  test("is told alone, and what a sibling said is passed on to all others", async () => {
    const { sharing: made, spread, said, records } = sharing({});
    await made.tell(NAME);
    expect(spread[0]).toMatchObject([{ target: "cp1", kind: "drained", server: "ns1" }]);
    made.passOn(records.slice(1), "ns3");
    expect(spread[1]?.[0]).not.toHaveProperty("kind");
    made.passOn([], "ns3");
    expect(said).toEqual(["spread but to undefined", "spread but to ns3"]);
  });

  test.each([
    [undefined, { heard: false, drained: false }],
    [
      { state: "drained", safeInMs: 500 },
      { heard: true, drained: true, safeAtMs: Date.UTC(2026, 0, 1) + 500 },
    ],
    [{ state: "answered" }, { heard: true, drained: false }],
    [
      { state: "unknown", safeInMs: 0 },
      { heard: true, drained: true, safeAtMs: Date.UTC(2026, 0, 1) },
    ],
  ] as const)("a sibling's reply %o is shown as %o", async (safe, shown) => {
    expect(await sharing({ safe }).sharing.drains(NAME)).toEqual([{ name: "ns2", ...shown }]);
  });
});

function stateOf(): ServerState {
  const { config } = loadRight();
  return {
    startedMs: 0,
    started: config,
    config,
    isReady: true,
    isStopping: false,
    listensLater: false,
    lastReload: { atMs: 0, ok: true },
  };
}

describe("what operators see of siblings", () => {
  const at = { address: "192.0.2.2", port: 9854 };

  test("one that was never heard, and why it cannot be spoken to", () => {
    const peer: Peer = { name: "ns2", at, condition: "unheard", sinceMs: 5, trouble: "nothing listens there" };
    const { served } = serveEndpoints([], snapshotOf({}));
    const views = new SiblingViews({
      siblings: { name: "ns1", peers: () => [peer] },
      sight: { isCutOff: false },
      state: stateOf(),
      served,
    });
    expect(views.status()).toEqual({
      name: "ns1",
      cutOff: false,
      peers: [
        { name: "ns2", address: "192.0.2.2:9854", condition: "unheard", sinceMs: 5, trouble: "nothing listens there" },
      ],
    });
    expect(views.rows()).toEqual([{ sibling: "ns2", isFresh: false }]);
  });

  test("clock, zones and answers that differ", () => {
    const heard = newHeard("boot", 0);
    noteBeat(heard, { ...BEAT, wallMs: 7_000 }, { monotonicMs: 0, wallMs: 0 });
    const peer: Peer = { name: "ns2", at, condition: "fresh", sinceMs: 5, heard };
    const { served } = serveEndpoints([], snapshotOf({}));
    const views = new SiblingViews({
      siblings: { name: "ns1", peers: () => [peer] },
      sight: { isCutOff: true },
      state: stateOf(),
      served,
    });
    expect(views.status().peers[0]).toMatchObject({
      clockDifferenceMs: 7_000,
      zonesDiffer: ["k8s.example.com"],
      differences: [],
    });
    expect(views.rows()).toEqual([{ sibling: "ns2", isFresh: true, clockDifferenceMs: 7_000, zonesDiffer: 1 }]);
  });

  test("nothing without siblings", () => {
    const { served } = serveEndpoints([], snapshotOf({}));
    const shown = siblingsShown({
      parts: undefined,
      monitor: { isolated: true },
      sight: { isCutOff: false },
      state: stateOf(),
      served,
    });
    expect(shown).not.toHaveProperty("siblings");
    expect([shown.isIsolated(), shown.rows(), shown.sharing()]).toEqual([true, [], undefined]);
  });
});

test("isolation is told once, whether this server presumes it or a sibling knows", () => {
  const clock = createFakeClock();
  const events = new ServerEvents(clock, pino({ level: "silent" }));
  const told: boolean[] = [];
  events.subscribe("test", { "isolation-changed": ({ isolated }) => told.push(isolated) });
  const watcher = { onZoneAdded: () => {}, onZoneRemoved: () => {}, onChange: () => {} };
  const before = { serial: () => undefined, lastHealthy: () => [] };
  const sighted = createSighted({ clock, state: stateOf(), events, watcher, before });
  let isolated = false;
  const snapshot: Snapshot = { endpoints: new Map() };
  sighted.connect({
    snapshot: () => snapshot,
    get isolated() {
      return isolated;
    },
  });
  sighted.onIsolation();
  isolated = true;
  sighted.onIsolation();
  sighted.onIsolation();
  isolated = false;
  sighted.onIsolation();
  expect(told).toEqual([true, false]);
});

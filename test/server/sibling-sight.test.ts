import { describe, expect, test } from "vitest";
import { RECOVERY_MS } from "../../src/health/cut-off.js";
import type { AddressHealth, Health, ProbeResult, Snapshot } from "../../src/health/health.js";
import { verdictOn } from "../../src/server/sibling-host.js";
import { SiblingSightOf } from "../../src/server/sibling-sight.js";
import type { Peer } from "../../src/siblings/host.js";
import type { Beat } from "../../src/siblings/messages.js";
import { newHeard, noteBeat } from "../../src/siblings/peer-state.js";
import { BEAT } from "../siblings/beat.js";
import { createFakeClock } from "../support/fake-clock.js";

const FQDN = "api.k8s.example.com";
const OK: ProbeResult = { class: "ok", reason: "ok", durationMs: 1 };
const LOST: ProbeResult = { class: "timeout", phase: "connect", reason: "no connection", durationMs: 1 };

/** A sibling that sees these addresses up, and `down` down. */
function sibling(up: readonly string[], down: readonly string[] = [], sight: Beat["sight"] = "reached"): Peer {
  const heard = newHeard("boot", 0);
  noteBeat(heard, { ...BEAT, sight }, { monotonicMs: 0, wallMs: 0 });
  heard.endpoints.set(FQDN, { endpoint: FQDN, answers: [], up: [...up], not: down.map((one) => [one, "down"]) });
  return { name: "ns2", at: { address: "192.0.2.2", port: 1 }, heard, condition: "fresh", sinceMs: 0 };
}

function harness() {
  const clock = createFakeClock();
  const followed: string[] = [];
  let addresses: AddressHealth[] = [];
  let fresh: Peer[] = [];
  let isStarted = true;
  const cutOffs: boolean[] = [];
  const snapshot = (): Snapshot => ({
    endpoints: new Map([
      [FQDN, { fqdn: FQDN, targets: addresses.map((one) => ({ id: one.address, addresses: [one] })) }],
    ]),
  });
  const sight: SiblingSightOf = new SiblingSightOf({
    clock,
    snapshot,
    config: () => ({ holdAtMostMs: 10_000 }),
    isStarted: () => isStarted,
    follow: (fqdns) => followed.push(...fqdns),
    onCutOff: () => cutOffs.push(sight.isCutOff),
  });
  sight.connect({ fresh: () => fresh });
  return {
    clock,
    sight,
    followed,
    cutOffs,
    set: (...all: readonly (readonly [string, Health, ProbeResult?])[]) => {
      addresses = all.map(([address, health, last]) => ({ address, health, sinceMs: 0, ...(last && { last }) }));
    },
    siblings: (...peers: Peer[]) => {
      fresh = peers;
    },
    starting: () => {
      isStarted = false;
    },
    vouched: () => sight.vouched(snapshot().endpoints.get(FQDN)!, { minHealthy: 1 }).map(({ address }) => address),
  };
}

describe("what siblings see", () => {
  test("keeps one of the last targets for holdAtMost, and is looked at again in time", async () => {
    const { clock, set, siblings, vouched, followed } = harness();
    siblings(sibling(["a", "b"]));
    set(["a", "down", { ...LOST, phase: "response" }], ["b", "down", { class: "refused", reason: "", durationMs: 0 }]);
    expect(vouched()).toEqual(["a"]);
    await clock.advance(9_999);
    expect(vouched()).toEqual(["a"]);
    expect(followed.length).toBeGreaterThan(0);
    await clock.advance(1);
    expect(vouched()).toEqual([]);
  });

  test("a server whose every target fails is cut off while a sibling sees some up, for as long as that lasts", async () => {
    const { clock, sight, set, siblings, vouched, cutOffs } = harness();
    siblings(sibling(["a", "b"]));
    set(["a", "down", LOST], ["b", "down", LOST]);
    expect(vouched()).toEqual(["a", "b"]);
    await clock.advance(3_600_000);
    expect(vouched()).toEqual(["a", "b"]);
    expect(sight.knowsBetter).toBe(true);
    // The sibling finds them down: so they are.
    siblings(sibling([], ["a", "b"]));
    expect(vouched()).toEqual([]);
    expect(cutOffs).toEqual([true, false]);
  });

  test("goes on for a while when something is reached again, since a return takes its time", async () => {
    const { clock, sight, set, siblings, vouched } = harness();
    siblings(sibling(["a", "b"]));
    set(["a", "down", LOST], ["b", "down", LOST]);
    vouched();
    set(["a", "down", OK], ["b", "down", LOST]);
    expect(vouched()).toEqual(["a", "b"]);
    set(["a", "up", OK], ["b", "up", OK]);
    await clock.advance(RECOVERY_MS + 200);
    vouched();
    expect(sight.isCutOff).toBe(false);
  });

  test("says nothing of whether this server is cut off if siblings reach nothing either", () => {
    const { sight, siblings } = harness();
    expect(sight.knowsBetter).toBe(false);
    siblings(sibling([], ["a"], "network"));
    expect(sight.knowsBetter).toBe(false);
    siblings(sibling([], ["a"], "reached"));
    expect(sight.knowsBetter).toBe(true);
  });

  test("stands in for results that are not there yet, at the start only", () => {
    const { set, siblings, vouched, starting } = harness();
    siblings(sibling(["a"]));
    set(["a", "unknown"], ["b", "unknown"]);
    expect(vouched()).toEqual([]);
    starting();
    expect(vouched()).toEqual(["a"]);
  });

  test("counts for nothing without siblings that count", () => {
    const { set, vouched } = harness();
    set(["a", "down", LOST]);
    expect(vouched()).toEqual([]);
  });
});

test("what is told of an address: up only while its newest probe passed", () => {
  const of = (health: Health, last?: ProbeResult) =>
    verdictOn({ address: "a", health, sinceMs: 0, ...(last && { last }) });
  expect([of("up", OK), of("up", LOST), of("up"), of("down", OK), of("unknown")]).toEqual([
    "up",
    "doubt",
    "unknown",
    "down",
    "unknown",
  ]);
});

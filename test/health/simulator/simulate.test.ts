import { describe, expect, test } from "vitest";
import { HTTPS } from "../monitor-harness.js";
import { HELD_OUT } from "./causes.js";
import { ruleSet } from "./rule-sets.js";
import { type Simulated, simulate } from "./simulate.js";

// `bench/simulator.mjs` runs ten thousand of them and compares rules.
const SEED = Number(process.env.LIVEZONE_SIMULATOR_SEED ?? Date.now() % 2 ** 32);
const HISTORIES = 80;
const DEFAULTS = ruleSet("defaults", {}, () => 1);

/** Longest pause between two probes, milliseconds: the interval and its jitter. */
const INTERVAL_MS = HTTPS.intervalMs * 1.1;

async function histories(count: number, causes: readonly string[] = []): Promise<readonly Simulated[]> {
  const all: Simulated[] = [];
  for (let index = 0; index < count; index += 1) all.push(await simulate(SEED + index, DEFAULTS, causes));
  return all;
}

/** The seeds and values of the histories that break a rule, for the message of a failure. */
function breaches(all: readonly Simulated[], measured: keyof Simulated["measures"], most: number) {
  return all
    .filter(({ measures }) => measures[measured] > most)
    .map(({ seed, history, measures }) => ({ seed, causes: history.causes, [measured]: measures[measured] }));
}

describe(`simulated histories of two servers (seed ${SEED})`, () => {
  test("whatever happens, no server takes itself to be cut off that is not, and all is answered again at the end", async () => {
    const all = await histories(HISTORIES);
    expect(breaches(all, "falseIsolations", 0)).toEqual([]);
    expect(breaches(all, "lackingAtEnd", 0)).toEqual([]);
  }, 60_000);

  test.each([
    "etcd stopped",
    "etcd restarted",
    "etcd slow",
    "etcd frozen",
    "authority rotated",
    "overload",
    "admission webhook down",
  ])(
    "%s: never narrower than half of those that are no worse",
    async (cause) => {
      const all = await histories(HISTORIES / 5, [cause]);
      expect(breaches(all, "falseIsolations", 0)).toEqual([]);
      expect(breaches(all, "longestNarrowMs", 100)).toEqual([]);
    },
    60_000,
  );

  test.each(["etcd stopped", "etcd restarted", "etcd slow by 5 s", ...Object.keys(HELD_OUT)])(
    "%s: the servers agree about what a target is like within an interval of its last change",
    async (cause) => {
      expect(breaches(await histories(HISTORIES / 8, [cause]), "slowestAgreementMs", INTERVAL_MS)).toEqual([]);
    },
    60_000,
  );
});

import * as fc from "fast-check";
import { expect } from "vitest";
import {
  DETECTION_MS,
  FQDN,
  HOLD_AT_MOST_MS,
  type ModelServer,
  SERVERS,
  startModel,
  TARGETS,
  type TargetState,
} from "./sibling-model.js";
import type { LinkState } from "./sibling-network.js";

/** Time between two looks at the answers, milliseconds. */
const LOOK_MS = 100;

/** Time after a link has changed in which servers may hear of drains that others made meanwhile, milliseconds. */
const MEETING_MS = 10_000;

type Fault =
  | { readonly do: "target"; readonly target: string; readonly state: TargetState }
  | { readonly do: "reach"; readonly server: number; readonly target: string; readonly isReached: boolean }
  | { readonly do: "link"; readonly link: readonly [number, number]; readonly state: LinkState }
  | { readonly do: "drain" | "undrain"; readonly server: number; readonly target: string };

const server = fc.constantFrom(...SERVERS);
const target = fc.constantFrom(...TARGETS);
const link = fc.constantFrom<[number, number][]>([0, 1], [0, 2], [1, 2]);
const fault: fc.Arbitrary<Fault> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("target" as const),
      target,
      state: fc.constantFrom<TargetState[]>("ok", "ok", "refused", "hang", "not-ready"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("reach" as const),
      server,
      target,
      isReached: fc.constantFrom(true, false, false),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("link" as const),
      link,
      state: fc.constantFrom<LinkState[]>("up", "lossy", "cut"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("drain" as const, "drain" as const, "undrain" as const),
      server,
      target,
    }),
  },
);

/** What happens, and how long it lasts, milliseconds. */
const faults = fc.array(fc.tuple(fault, fc.integer({ min: 0, max: 6_000 })), { minLength: 5, maxLength: 20 });

/** What may be known of one run. */
class Run {
  readonly #model: Awaited<ReturnType<typeof startModel>>;
  /** Since when the answers of a server are its own: before, it held them since it was cut off, or it began. */
  readonly #ownSinceMs = new Map<ModelServer, number>();
  #linkChangedMs = Number.NEGATIVE_INFINITY;
  drains = 0;

  constructor(model: Awaited<ReturnType<typeof startModel>>) {
    this.#model = model;
  }

  /** No server answers a target for longer after its own last success than it may. */
  look(): void {
    const nowMs = this.#model.clock.monotonicMs();
    for (const one of this.#model.servers) {
      const { mode, addresses = [] } = one.answerable() ?? {};
      // Cut off, it holds what a sibling sees up; with too few left, it answers all that it has.
      if (one.monitor.isolated || one.sight.isCutOff || mode !== "healthy") this.#ownSinceMs.set(one, nowMs);
      for (const { target = "" } of addresses) {
        const sinceMs = Math.max(one.passedMs.get(target) ?? 0, this.#ownSinceMs.get(one) ?? 0);
        expect(nowMs - sinceMs, `${one.name} answers ${target}`).toBeLessThanOrEqual(DETECTION_MS + HOLD_AT_MOST_MS);
      }
    }
  }

  async play(one: Fault): Promise<void> {
    const { servers, setTarget, setReach, setLink, clock } = this.#model;
    if (one.do === "target") setTarget(one.target, one.state);
    else if (one.do === "reach") setReach(one.server, one.target, one.isReached);
    else if (one.do === "link") {
      this.#linkChangedMs = clock.monotonicMs();
      setLink(...one.link, one.state);
    } else {
      const asked = servers[one.server];
      const name = { endpoint: FQDN, target: one.target };
      if (one.do === "undrain") void asked?.requests.undrain(name, { author: "eve" });
      else if (asked !== undefined) this.#drain(asked, one.target);
    }
  }

  /** A drain that is acknowledged leaves a target on each server that was asked. */
  #drain(asked: ModelServer, target: string): void {
    const { clock, servers } = this.#model;
    const begunMs = clock.monotonicMs();
    const fresh = new Set(asked.parts.siblings.fresh().map(({ name }) => name));
    const concerned = servers.filter((one) => (one === asked || fresh.has(one.name)) && one.left().length > 0);
    asked.requests
      .drain({ endpoint: FQDN, target }, { author: "eve" })
      .then(
        () => {
          this.drains += 1;
          for (const one of concerned) {
            const isSettled = Math.max(this.#linkChangedMs + MEETING_MS, one.changedMs()) < begunMs;
            if (isSettled)
              expect(one.left(), `${one.name} after the drain of ${target} on ${asked.name}`).not.toEqual([]);
          }
        },
        (error: unknown) => expect(error).toMatchObject({ code: expect.any(String) }),
      )
      .catch((error: unknown) => {
        this.failure ??= error;
      });
  }

  failure: unknown;

  /** Lets time pass, and looks meanwhile. */
  async pass(ms: number): Promise<void> {
    const { clock } = this.#model;
    const endMs = clock.monotonicMs() + ms;
    while (clock.monotonicMs() < endMs) {
      await clock.advance(Math.min(LOOK_MS, endMs - clock.monotonicMs()));
      this.look();
      if (this.failure !== undefined) throw this.failure;
    }
  }

  /** Everything is well again: all come to one state of overrides. */
  async heal(): Promise<void> {
    const { setLink, setReach, setTarget, servers } = this.#model;
    for (const a of SERVERS) for (const b of SERVERS) if (a < b) setLink(a, b, "up");
    for (const id of TARGETS) {
      setTarget(id, "ok");
      for (const index of SERVERS) setReach(index, id, true);
    }
    await this.pass(20_000);
    const [first, ...others] = servers.map(({ overrides }) => TARGETS.map((id) => overrides.get(FQDN, id)?.kind));
    for (const other of others) expect(other).toEqual(first);
    for (const { name, parts } of servers) {
      const conditions = parts.siblings.peers().map((peer) => `${peer.name} ${peer.condition}`);
      expect(conditions, `as ${name} hears them`).toEqual(
        servers.filter((one) => one.name !== name).map((one) => `${one.name} fresh`),
      );
    }
  }
}

/** Plays random faults among three servers. @returns how many drains were acknowledged */
export async function playFaults(seed: number, runs: number): Promise<number> {
  let drains = 0;
  const property = fc.asyncProperty(faults, fc.integer(), async (steps, chance) => {
    const model = await startModel(chance);
    const run = new Run(model);
    try {
      await run.pass(8_000);
      for (const [one, ms] of steps) {
        await run.play(one);
        await run.pass(ms);
      }
      await run.heal();
    } finally {
      drains += run.drains;
      await model.stop();
    }
  });
  await fc.assert(property, { seed, numRuns: runs, endOnFailure: process.env.LIVEZONE_SHRINK === undefined });
  return drains;
}

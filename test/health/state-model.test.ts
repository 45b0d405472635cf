import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { FailureClass } from "../../src/config/config.js";
import { type Health, RESULT_CLASSES, type ResultClass } from "../../src/health/health.js";
import {
  type AddressState,
  initialState,
  type StateSettings,
  step,
  withoutDoubt,
  withoutFlaps,
} from "../../src/health/state.js";

/** The rules as they are told in `docs/health.md`, over everything that was seen; nothing is kept that can be counted. */
interface Model {
  health: Health;
  joins: boolean;
  /** Results since the last that agreed, oldest first, with the start of the first of them. */
  row: ResultClass[];
  rowSinceMs: number;
  /** Moments of every change between up and down. */
  changesMs: number[];
  /** Holds since the last quiet window. */
  holds: number;
  heldUntilMs?: number;
}

interface Real {
  state: AddressState;
  nowMs: number;
  readonly settings: StateSettings;
  /** Told of each agreement, so that it can be seen whether the runs get anywhere. */
  reached(state: AddressState): void;
}

function needs(one: ResultClass, { fall, thresholds = {} }: StateSettings): number {
  const own = thresholds[one as FailureClass];
  if (own !== undefined) return own;
  if (one === "refused" || one === "not-ready" || one === "tls-expired") return Math.min(2, fall);
  if (one === "timeout") return Math.ceil((2 * fall) / 3);
  return one === "overloaded" ? Number.POSITIVE_INFINITY : fall;
}

function observe(model: Model, one: ResultClass, startedMs: number, endedMs: number, settings: StateSettings): void {
  // What is overloaded runs: that is enough where nothing is known yet and nothing has to be earned.
  const isFirstSign = model.health === "unknown" && !model.joins && needs(one, settings) === Number.POSITIVE_INFINITY;
  const verdict: Health = one === "ok" || isFirstSign ? "up" : "down";
  if (verdict === model.health) {
    model.row = [];
    delete model.heldUntilMs;
    return;
  }
  if (model.health === "unknown" && verdict === "down") model.row = [];
  if (model.row.length === 0) model.rowSinceMs = startedMs;
  model.row.push(one);
  const { row } = model;
  if (verdict === "down") {
    const newest = row.map((_, index) => row.slice(index));
    const isEnough = newest.some((tail) => tail.every((other) => needs(other, settings) <= tail.length));
    if (model.health === "unknown" || isEnough) become(model, "down", endedMs, settings);
    return;
  }
  if (model.health === "unknown") {
    if (!model.joins || row.length >= settings.rise) become(model, "up", endedMs, settings);
    return;
  }
  if (row.length < settings.rise) return;
  if (model.heldUntilMs === undefined) {
    const { limit, windowMs } = settings.flap ?? { limit: 0, windowMs: 0 };
    const recent = model.changesMs.filter((ms) => ms > endedMs - windowMs).length;
    const holdMs = recent > limit ? Math.min(windowMs, 30_000 * 2 ** model.holds) : 0;
    if (endedMs - model.rowSinceMs < holdMs) {
      model.heldUntilMs = model.rowSinceMs + holdMs;
      model.holds += 1;
      return;
    }
  } else if (endedMs < model.heldUntilMs) return;
  become(model, "up", endedMs, settings);
}

function become(model: Model, health: Health, nowMs: number, settings: StateSettings): void {
  if (model.health !== "unknown") {
    const windowMs = settings.flap?.windowMs ?? 0;
    if (!model.changesMs.some((ms) => ms > nowMs - windowMs)) model.holds = 0;
    model.changesMs.push(nowMs);
  }
  model.health = health;
  model.joins = false;
  model.row = [];
  delete model.heldUntilMs;
}

function agree(model: Model, real: Real): void {
  expect(real.state.health).toBe(model.health);
  expect(real.state.heldUntilMs).toBe(model.heldUntilMs);
  expect(real.state.against).toBe(model.row.length);
  real.reached(real.state);
}

class Probe implements fc.Command<Model, Real> {
  constructor(
    readonly resultClass: ResultClass,
    readonly tookMs: number,
    readonly pauseMs: number,
  ) {}
  check = () => true;
  run(model: Model, real: Real): void {
    const startedMs = real.nowMs;
    const endedMs = startedMs + this.tookMs;
    const before = model.health;
    const taken = step(real.state, { class: this.resultClass, startedMs, endedMs }, real.settings);
    observe(model, this.resultClass, startedMs, endedMs, real.settings);
    real.state = taken.state;
    agree(model, real);
    expect(taken.change?.to).toBe(before === model.health ? undefined : model.health);
    if (taken.change !== undefined) expect(taken.change.from).toBe(before);
    real.nowMs = (taken.recheckAtMs ?? endedMs) + this.pauseMs;
  }
  toString = () => `${this.resultClass} (${this.tookMs} ms, then ${this.pauseMs} ms)`;
}

class Doubt implements fc.Command<Model, Real> {
  check = () => true;
  run(model: Model, real: Real): void {
    real.state = withoutDoubt(real.state);
    model.row = [];
    delete model.heldUntilMs;
    agree(model, real);
  }
  toString = () => "what was counted is put aside";
}

class Forgive implements fc.Command<Model, Real> {
  check = () => true;
  run(model: Model, real: Real): void {
    real.state = withoutFlaps(real.state);
    model.changesMs = [];
    model.holds = 0;
    delete model.heldUntilMs;
    agree(model, real);
  }
  toString = () => "flapping is forgiven";
}

test("the state machine does what the documented rules say, whatever comes in whatever order", () => {
  const settings = fc.record({
    recheckMs: fc.integer({ min: 50, max: 3000 }),
    rise: fc.integer({ min: 1, max: 3 }),
    fall: fc.integer({ min: 1, max: 4 }),
    thresholds: fc.record({
      timeout: fc.integer({ min: 1, max: 6 }),
      refused: fc.integer({ min: 1, max: 4 }),
    }),
    flap: fc.record({ limit: fc.integer({ min: 1, max: 3 }), windowMs: fc.integer({ min: 60_000, max: 600_000 }) }),
  });
  const resultClass = fc.oneof(
    { weight: 5, arbitrary: fc.constant("ok" as const) },
    { weight: 2, arbitrary: fc.constant("refused" as const) },
    { weight: 2, arbitrary: fc.constantFrom(...RESULT_CLASSES) },
  );
  const pauseMs = fc.oneof(
    { weight: 9, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.nat({ max: 100_000 }) },
  );
  const probe = fc
    .tuple(resultClass, fc.nat({ max: 3000 }), pauseMs)
    .map(([one, tookMs, thenMs]) => new Probe(one, tookMs, thenMs));
  // Commands are drawn evenly from the list.
  const commands = fc.commands(
    [...Array.from({ length: 20 }, () => probe), fc.constant(new Doubt()), fc.constant(new Forgive())],
    {
      maxCommands: 150,
      size: "max",
    },
  );
  const reached = { up: 0, down: 0, unknown: 0, held: 0 };
  fc.assert(
    fc.property(fc.boolean(), settings, commands, (joins, chosen, list) => {
      fc.modelRun(() => {
        const model: Model = { health: "unknown", joins, row: [], rowSinceMs: 0, changesMs: [], holds: 0 };
        const real: Real = {
          state: initialState(joins),
          nowMs: 0,
          settings: chosen,
          reached({ health, heldUntilMs }) {
            reached[heldUntilMs === undefined ? health : "held"] += 1;
          },
        };
        return { model, real };
      }, list);
    }),
    { numRuns: 500 },
  );
  expect(Math.min(...Object.values(reached))).toBeGreaterThan(100);
});

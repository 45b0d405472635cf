import { type Condition, holding, QUALITY, qualityAt, type World } from "./conditions.js";
import type { ServerLog } from "./run-history.js";

/** The servers are silent until every target has a result, at most so long: nothing is measured before. Milliseconds. */
const FROM_MS = 5_000;

/** What one history came to. Times in milliseconds, of both servers together, but disagreement. */
export interface Measures {
  /** A target was answered through which no client gets, although another one runs. */
  readonly deadMs: number;
  /** A healthy target was not answered. */
  readonly missingMs: number;
  /** Fewer targets were answered than half of those that were no worse than the best of the answered. */
  readonly narrowMs: number;
  readonly longestNarrowMs: number;
  /** The prober was presumed cut off though packets to a target got through and back. */
  readonly falseIsolations: number;
  /** The servers answered with different targets. */
  readonly disagreementMs: number;
  /** Longest time without a break for which one and the same target was answered by one server only. */
  readonly longestDisagreementMs: number;
  /**
   * The same, counted anew whenever the target itself changes: how long the servers needed to agree about what a target
   * was like. A server that has missed a short outage is not wrong about the time in which it is over.
   */
  readonly slowestAgreementMs: number;
  /** Longest time from the moment at which a target is healthy for good to its first answer from then on. */
  readonly longestReturnMs: number;
  /** Servers that did not answer with every target at the end, when all had been well for a while. */
  readonly lackingAtEnd: number;
}

export function measure(world: World, logs: readonly ServerLog[]): Measures {
  const edges = [...world.targets.flat().flatMap(({ fromMs, toMs }) => [fromMs, toMs])];
  for (const { answers } of logs) edges.push(...answers.map(({ atMs }) => atMs));
  const moments = [...new Set([FROM_MS, ...edges, world.endMs])]
    .filter((ms) => ms >= FROM_MS && ms <= world.endMs)
    .sort((a, b) => a - b);
  const narrow = logs.map(() => new Stretch());
  const disagreement = new Stretch();
  const byTarget = world.targets.map(() => new Stretch());
  const sinceChange = world.targets.map(() => new Stretch());
  let deadMs = 0;
  let missingMs = 0;
  for (const [index, fromMs] of moments.slice(0, -1).entries()) {
    const lengthMs = (moments[index + 1] ?? fromMs) - fromMs;
    const qualities = world.targets.map((conditions) => qualityAt(conditions, fromMs));
    const answers = logs.map((log) => answerAt(log, fromMs));
    for (const [server, answered] of answers.entries()) {
      const seen = judge(qualities, answered);
      if (seen.isDead) deadMs += lengthMs;
      if (seen.isMissing) missingMs += lengthMs;
      narrow[server]?.add(seen.isNarrow, lengthMs);
    }
    disagreement.add(new Set(answers).size > 1, lengthMs);
    for (const [target, conditions] of world.targets.entries()) {
      const differs = new Set(answers.map((answered) => answered & (1 << target))).size > 1;
      byTarget[target]?.add(differs, lengthMs);
      if (conditions.some((one) => one.fromMs === fromMs || one.toMs === fromMs)) sinceChange[target]?.interrupt();
      sinceChange[target]?.add(differs, lengthMs);
    }
  }
  return {
    deadMs,
    missingMs,
    narrowMs: narrow.reduce((sum, { sumMs }) => sum + sumMs, 0),
    longestNarrowMs: Math.max(...narrow.map(({ longestMs }) => longestMs)),
    falseIsolations: logs.reduce((sum, log, server) => sum + falseIsolations(world, log, server), 0),
    disagreementMs: disagreement.sumMs,
    longestReturnMs: Math.max(0, ...logs.flatMap((log) => returnsMs(world, log))),
    lackingAtEnd: logs.filter((log) => answerAt(log, world.endMs) !== 2 ** world.targets.length - 1).length,
    longestDisagreementMs: Math.max(...byTarget.map(({ longestMs }) => longestMs)),
    slowestAgreementMs: Math.max(...sinceChange.map(({ longestMs }) => longestMs)),
  };
}

function answerAt({ answers }: ServerLog, atMs: number): number {
  return answers.findLast((answer) => answer.atMs <= atMs)?.targets ?? 0;
}

/** For each target that was in trouble: see {@link Measures.longestReturnMs}. */
function returnsMs({ targets, endMs }: World, log: ServerLog): readonly number[] {
  return targets.flatMap((conditions, target) => {
    if (conditions.length === 0) return [];
    const readyMs = Math.max(FROM_MS, ...conditions.map(({ toMs }) => toMs));
    if ((answerAt(log, readyMs) & (1 << target)) !== 0) return [0];
    const back = log.answers.find(({ atMs, targets: answered }) => atMs > readyMs && (answered & (1 << target)) !== 0);
    return [(back?.atMs ?? endMs) - readyMs];
  });
}

function judge(qualities: readonly number[], answered: number) {
  const isAnswered = (index: number) => (answered & (1 << index)) !== 0;
  const within = qualities.filter((_, index) => isAnswered(index));
  const best = Math.max(...within);
  const noWorse = qualities.filter((quality) => quality >= best).length;
  return {
    isDead: within.includes(QUALITY.dead) && qualities.some((quality) => quality > QUALITY.dead),
    isMissing: qualities.some((quality, index) => quality === QUALITY.healthy && !isAnswered(index)),
    isNarrow: within.length < noWorse / 2,
  };
}

/** Time for which something is so: in all, and the longest without a break. */
class Stretch {
  sumMs = 0;
  longestMs = 0;
  #presentMs = 0;

  add(isSo: boolean, lengthMs: number): void {
    this.#presentMs = isSo ? this.#presentMs + lengthMs : 0;
    if (isSo) this.sumMs += lengthMs;
    this.longestMs = Math.max(this.longestMs, this.#presentMs);
  }

  interrupt(): void {
    this.#presentMs = 0;
  }
}

/** Time for which packets must have been lost on the way to every target for the presumption to be right. */
const LOOKBACK_MS = 4_000;

function falseIsolations(world: World, { isolations }: ServerLog, server: number): number {
  return isolations.filter(({ atMs, isolated }) => isolated && !wasCutOff(world, server, atMs)).length;
}

/** Whether the network of the server, or the way to each of the targets, was in trouble of late. */
function wasCutOff({ targets, servers }: World, server: number, atMs: number): boolean {
  const isTroubled = (conditions: readonly Condition[]) =>
    [0, 0.25, 0.5, 0.75, 1].some((part) => {
      const ms = atMs - part * LOOKBACK_MS;
      return (["black-hole", "no-route", "loss"] as const).some((kind) => holding(conditions, kind, ms) !== undefined);
    });
  return isTroubled(servers[server] ?? []) || targets.every(isTroubled);
}

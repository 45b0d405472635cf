import { seededRandom } from "../../support/random.js";
import { type History, historyOf, randomHistory, randomTargets } from "./causes.js";
import { type Measures, measure } from "./measures.js";
import { type RuleSet, runHistory } from "./run-history.js";

/** One history under one rule set. */
export interface Simulated {
  readonly seed: number;
  readonly history: History;
  readonly measures: Measures;
}

/** The history of a seed, with causes of its own or with these. */
export function historyOfSeed(seed: number, causes: readonly string[] = []): History {
  const random = seededRandom(seed);
  return causes.length === 0 ? randomHistory(random) : historyOf(random, randomTargets(random), causes);
}

export async function simulate(seed: number, ruleSet: RuleSet, causes: readonly string[] = []): Promise<Simulated> {
  const history = historyOfSeed(seed, causes);
  const logs = await runHistory(history.world, ruleSet, seed);
  return { seed, history, measures: measure(history.world, logs) };
}

/** Sums and worst values of many histories. */
export interface Summary {
  readonly histories: number;
  readonly sums: Measures;
  readonly worst: Measures;
}

const NOTHING = {
  deadMs: 0,
  missingMs: 0,
  narrowMs: 0,
  longestNarrowMs: 0,
  falseIsolations: 0,
  disagreementMs: 0,
  longestDisagreementMs: 0,
  slowestAgreementMs: 0,
  longestReturnMs: 0,
  lackingAtEnd: 0,
} satisfies Measures;

// The names of the object above.
const MEASURES = Object.keys(NOTHING) as (keyof Measures)[];

export function summarize(all: readonly Measures[]): Summary {
  const sums = { ...NOTHING };
  const worst = { ...NOTHING };
  for (const one of all) {
    for (const measured of MEASURES) {
      sums[measured] += one[measured];
      worst[measured] = Math.max(worst[measured], one[measured]);
    }
  }
  return { histories: all.length, sums, worst };
}

/** The table of `docs/health.md`: for each rule set, seconds in a history of two servers. */
export function tableOf(rows: readonly { readonly name: string; readonly summary: Summary }[]): string {
  const lines = rows.map(({ name, summary: { histories, sums, worst } }) => {
    const mean = (ms: number) => (ms / histories / 1_000).toFixed(2);
    const cells = [
      mean(sums.deadMs),
      mean(sums.narrowMs),
      mean(sums.deadMs + sums.narrowMs),
      mean(sums.missingMs),
      mean(sums.disagreementMs),
      (worst.longestNarrowMs / 1_000).toFixed(1),
      String(sums.falseIsolations),
    ];
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  const head = [
    "rules",
    "dead answered",
    "narrow",
    "both",
    "healthy missing",
    "servers differ",
    "longest narrow",
    "false isolations",
  ];
  return [`| ${head.join(" | ")} |`, `|${"---|".repeat(head.length)}`, ...lines].join("\n");
}

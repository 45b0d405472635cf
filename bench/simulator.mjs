// Random histories of apiservers under a fake clock: what different rules would have answered.
//
//     node bench/simulator.mjs [--histories 10000] [--seed 1] [--only NAME] [--against DIST] [--causes] [--cause NAME]... [--list MEASURE]
//
// Drives the real code (monitor, state machine, narrowing, isolation, answers) of test/health/simulator and prints the
// table of docs/health.md. `--against` adds the rules of another build, by its `dist` folder; `--only` takes the rule sets
// whose name contains the text; `--causes` tells the causes apart; every history has the causes of `--cause` if there are
// some; `--list narrowMs` names the seeds that come out worst.
// Half of the histories run in each of two processes.
import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { runnerImport } from "vite";

const { values: options } = parseArgs({
  options: {
    histories: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    against: { type: "string" },
    causes: { type: "boolean", default: false },
    cause: { type: "string", multiple: true },
    list: { type: "string" },
    part: { type: "string" },
  },
});
const PROCESSES = 2;
const root = fileURLToPath(new URL("..", import.meta.url));
const load = async (file) => (await runnerImport(path.join(root, "test/health/simulator", file))).module;
const { RULE_SETS, olderRuleSet } = await load("rule-sets.ts");
const { simulate, summarize, tableOf } = await load("simulate.ts");

async function ruleSets() {
  const chosen = RULE_SETS.filter(({ name }) => name.includes(options.only));
  if (options.against === undefined) return chosen;
  const from = (file) => import(pathToFileURL(path.resolve(options.against, "health", file)));
  const rules = { ...(await from("monitor.js")), ...(await from("answerable.js")) };
  return [olderRuleSet("the rules of the other build, `timeout: 2s`", rules), ...chosen];
}

const histories = Number(options.histories);
const firstSeed = Number(options.seed);
if (options.part !== undefined) {
  for (const ruleSet of await ruleSets()) {
    const results = [];
    for (let index = Number(options.part); index < histories; index += PROCESSES) {
      const { seed, history, measures } = await simulate(firstSeed + index, ruleSet, options.cause);
      results.push({ seed, targets: history.world.targets.length, causes: history.causes, measures });
    }
    await new Promise((resolve) => process.send({ name: ruleSet.name, results }, resolve));
  }
  process.disconnect();
} else {
  const startedMs = performance.now();
  const found = new Map();
  const children = Array.from({ length: PROCESSES }, (_, part) => {
    const child = fork(fileURLToPath(import.meta.url), [...process.argv.slice(2), "--part", String(part)]);
    child.on("message", ({ name, results }) => found.set(name, [...(found.get(name) ?? []), ...results]));
    return once(child, "exit");
  });
  const codes = await Promise.all(children);
  if (codes.some(([code]) => code !== 0)) process.exit(1);
  const rows = [...found].map(([name, results]) => ({ name, summary: summarize(results.map((one) => one.measures)) }));
  console.log(`${histories} histories, seeds from ${firstSeed}; seconds in a history, of two servers\n`);
  console.log(tableOf(rows));
  if (options.causes) for (const [name, results] of found) printCauses(name, results);
  if (options.list) for (const [name, results] of found) printWorst(name, results, options.list);
  console.log(`\n${Math.round((performance.now() - startedMs) / 1000)} s`);
}

/** Histories with a single cause, by their cause. */
function printCauses(name, results) {
  const single = results.filter(({ causes }) => causes.length === 1);
  const groups = Map.groupBy
    ? Map.groupBy(single, ({ causes }) => causes[0])
    : single.reduce((map, one) => map.set(one.causes[0], [...(map.get(one.causes[0]) ?? []), one]), new Map());
  const rows = [...groups].map(([cause, own]) => ({
    name: `${cause} (${own.length})`,
    summary: summarize(own.map((one) => one.measures)),
  }));
  console.log(`\n${name}\n\n${tableOf(rows)}`);
}

function printWorst(name, results, measure) {
  const worst = results.toSorted((a, b) => b.measures[measure] - a.measures[measure]).slice(0, 10);
  console.log(`\n${name}, worst ${measure}`);
  for (const { seed, targets, causes, measures } of worst) {
    console.log(`seed ${seed}: ${Math.round(measures[measure])}, ${targets} targets, ${causes.join(" + ")}`);
  }
}

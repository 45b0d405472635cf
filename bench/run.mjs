/**
 * Compares livezone with the servers that are installed, with a bare echo, and with itself: the server on core 0, the
 * load on core 1. Every case of `cases.mjs`, or those that are named:
 *
 *   node bench/run.mjs [--case NAME ...] [--quick] [--list] [--rounds 5] [--seconds 2]
 *                      [--livezone "FILE ARGUMENTS"] [--output DIRECTORY] [--against COMMIT|FOLDER]
 *
 * The servers of a case run side by side and only one is asked at a time, in turn, round after round. Medians over the
 * rounds, and what is made of them, go to `bench/results/CASE.json`; from all those files are made `summary.json`,
 * `chart.svg` and the tables of `docs/performance.md`. `--quick` takes 3 short rounds, to see that all works, and
 * writes below `build/` instead. `--livezone` measures another build.
 *
 * `--against` compares this build with that of a commit, which is checked out and built in a temporary folder, or with one that
 * stands in a folder. Both take turns in one run. Printed is for each case its value with either build, and the median and
 * the spread of the ratios of the rounds. Nothing is written.
 *
 * CPU time is that of the server's processes within the measured span, as the kernel accounts it: unlike
 * queries per second it hardly changes when the machine is busy otherwise. On a machine that is not idle,
 * `nice -n -20 node bench/run.mjs` (as root) gives all of them precedence.
 *
 * Exit code: 0 every bar is met, or there was nothing to compare with; 1 one is not, or it cannot run; 2 usage.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { comparison, lanesOfBoth } from "./against.mjs";
import { buildOf } from "./builds.mjs";
import { CASES, COMPARED, FIGURES, GROUPS, verdictOf } from "./cases.mjs";
import { createBench } from "./measure.mjs";
import { describeMachine, loadBefore, serverVersions, shown, updateDocs, writeCase, writeSummary } from "./report.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const RESULTS = join(root, "bench/results");
const QUICK = { rounds: "3", seconds: "0.4", output: join(root, "build/bench") };
const FULL = { rounds: "5", seconds: "2", output: RESULTS };

function usage(problem) {
  console.error(`bench: ${problem}; see the head of bench/run.mjs`);
  process.exit(2);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        case: { type: "string", multiple: true },
        quick: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
        rounds: { type: "string" },
        seconds: { type: "string" },
        livezone: { type: "string" },
        output: { type: "string" },
        against: { type: "string" },
      },
    });
    return { ...(values.quick ? QUICK : FULL), ...values };
  } catch (error) {
    return usage(error.message);
  }
}

const options = readOptions();
if (options.list) {
  for (const [name, { title }] of Object.entries(CASES)) console.log(`${name.padEnd(18)}${title}`);
  process.exit(0);
}
const usual = () => Object.keys(CASES).filter((name) => CASES[name].bar !== undefined || CASES[name].isReference);
const wanted = options.case ?? (options.against === undefined ? usual() : COMPARED);
for (const name of wanted) if (!Object.hasOwn(CASES, name)) usage(`no case ${name}: ${Object.keys(CASES).join(", ")}`);
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
if (!(Number.isInteger(rounds) && rounds >= 1 && seconds >= 0.3))
  usage("--rounds takes 1 or more, --seconds 0.3 or more");
if (cpus().length < 2) usage("two cores are needed, one for the server and one for the load");

/** The lanes that the wanted cases of a group need. */
function lanesOf(group) {
  const needed = new Set(wanted.filter((name) => CASES[name].group === group).flatMap((name) => CASES[name].lanes));
  return Object.fromEntries(Object.entries(GROUPS[group].lanes).filter(([lane]) => needed.has(lane)));
}

function printGroup(group, medians) {
  console.log(`\n${GROUPS[group].title}`);
  const columns = Object.entries(FIGURES).filter(([key]) => Object.values(medians).some((lane) => lane[key] !== null));
  const row = (cells) => console.log(cells.map((cell, i) => (i ? cell.padStart(15) : cell.padEnd(14))).join(""));
  row(["", ...columns.map(([, { title }]) => title)]);
  for (const [lane, figures] of Object.entries(medians)) row([lane, ...columns.map(([key]) => shown(figures[key]))]);
}

/** What a case makes of its group's medians. */
function judge(name, { medians, runs }) {
  const { group, title, unit, lanes, value: measure, better, bar, goal } = CASES[name];
  const isComplete = lanes.every((lane) => medians[lane] !== undefined);
  const value = isComplete ? +measure(medians).toPrecision(4) : null;
  const only = (all) => Object.fromEntries(lanes.filter((lane) => all[lane]).map((lane) => [lane, all[lane]]));
  const verdict = verdictOf({ better, bar, goal }, value);
  return {
    case: name,
    group,
    title,
    unit,
    better,
    bar,
    goal,
    value,
    verdict,
    medians: only(medians),
    runs: only(runs),
  };
}

function printCases(results) {
  console.log();
  for (const { case: name, unit, better, bar, goal, value, verdict } of results) {
    const sign = better === "higher" ? ">=" : "<=";
    const limits = bar === undefined ? "" : `bar ${sign} ${bar}, goal ${sign} ${goal}`;
    console.log(`${name.padEnd(18)}${shown(value).padStart(8)} ${unit.padEnd(7)}${verdict.padEnd(9)}${limits}`);
  }
}

const folder = mkdtempSync(join(tmpdir(), "livezone-bench-"));
let bench;
let other;
async function cleanUp() {
  await bench?.cleanUp();
  other?.remove();
  rmSync(folder, { recursive: true, force: true });
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => void cleanUp().finally(() => process.exit(1)));
}

async function compareBuilds() {
  other = buildOf(options.against, folder);
  bench = await createBench({ folder, seconds });
  for (const group of new Set(wanted.map((name) => CASES[name].group))) {
    const measured = await bench.measureGroup(lanesOfBoth(lanesOf(group), other.build), rounds);
    for (const name of wanted.filter((name) => CASES[name].group === group)) console.log(comparison(name, measured));
  }
}

async function measureCases() {
  const livezoneCommand = options.livezone?.split(" ").filter(Boolean);
  bench = await createBench({ folder, seconds, livezoneCommand });
  const about = { machine: describeMachine(), loadBefore: loadBefore(), servers: serverVersions(), rounds, seconds };
  const results = [];
  for (const group of new Set(wanted.map((name) => CASES[name].group))) {
    const measured = await bench.measureGroup(lanesOf(group), rounds);
    printGroup(group, measured.medians);
    for (const name of wanted.filter((name) => CASES[name].group === group)) {
      const result = { ...judge(name, measured), at: new Date().toISOString(), ...about };
      results.push(result);
      writeCase(options.output, result);
    }
  }
  const summary = writeSummary(options.output, about.machine);
  if (options.output === RESULTS) updateDocs(summary);
  printCases(results);
  console.log(`\nwritten to ${options.output}`);
  if (results.some(({ verdict }) => verdict === "fail")) process.exitCode = 1;
}

try {
  await (options.against === undefined ? measureCases() : compareBuilds());
} catch (error) {
  console.error(`bench: ${error.message}`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}

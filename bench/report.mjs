/** Files made from what was measured: one per case, their summary, the chart, and the tables in the documentation. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CASES, FIGURES, GROUPS } from "./cases.mjs";
import { drawChart } from "./chart.mjs";

const DOCS = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
const BEGIN = "<!-- bench:begin, written by bench/run.mjs -->";
const END = "<!-- bench:end -->";

/** What the figures depend on. */
export function describeMachine() {
  const [processor] = cpus();
  return { processor: processor?.model ?? "unknown", cores: cpus().length, kernel: release(), node: process.version };
}

/** Processes that wanted to run in the last minute, on average; of an idle machine next to 0. */
export function loadBefore() {
  return +loadavg()[0].toFixed(1);
}

/** Versions of what is compared, as the programs say; absent where one is not installed. */
export function serverVersions() {
  const asked = { gdnsd: ["version"], knotd: ["-V"], nsd: ["-v"], named: ["-v"] };
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` };
  return Object.fromEntries(
    Object.entries(asked).flatMap(([program, args]) => {
      const { stdout, stderr } = spawnSync(program, args, { env, encoding: "utf8" });
      const version = /\d+\.\d+(\.\d+)*/.exec(`${stdout}${stderr}`)?.[0];
      return version === undefined ? [] : [[program, version]];
    }),
  );
}

/** Three significant digits, for people. */
export function shown(number) {
  if (number === null || !Number.isFinite(number)) return "-";
  return number >= 1000 ? String(Math.round(number)) : String(+number.toPrecision(3));
}

export function writeCase(folder, result) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${result.case}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
}

/** Gathers all cases measured on this machine, in the order of CASES, and draws the chart. */
export function writeSummary(folder, machine) {
  const there = new Set(readdirSync(folder));
  const cases = Object.keys(CASES)
    .filter((name) => there.has(`${name}.json`))
    .map((name) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")))
    .filter((result) => result.machine.processor === machine.processor)
    .map(({ runs, ...rest }) => rest);
  const summary = { cases };
  writeFileSync(join(folder, "summary.json"), `${JSON.stringify(summary, undefined, 2)}\n`);
  writeFileSync(join(folder, "chart.svg"), drawChart(panelsOf(summary)));
  return summary;
}

const number = (value, digits = 3) =>
  value >= 1000 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(digits));

/** Medians by lane of a group, put together from its cases. */
function lanesOf({ cases }, group) {
  const found = cases.filter((one) => one.group === group);
  const lanes = Object.assign({}, ...found.map(({ medians }) => medians));
  return Object.entries(lanes);
}

function panelsOf(summary) {
  const rates = ["a", "cookie", "nxdomain", "dgram"].map((group) => ({
    title: `${GROUPS[group].title}: queries/s`,
    bars: lanesOf(summary, group).map(([name, { qps }]) => ({ name, value: qps, label: number(qps) })),
  }));
  const steady = {
    title: `${GROUPS.steady.title}: CPU µs per query`,
    bars: lanesOf(summary, "steady").map(([name, { cpuUsPerQuery }]) => ({
      name,
      value: cpuUsPerQuery,
      label: number(cpuUsPerQuery),
    })),
  };
  return [...rates, steady].filter(({ bars }) => bars.length > 0);
}

/** Above this the machine had other things to do. */
const BUSY_LOAD = 0.7;

/** What a reader must know of results from a busy machine; undefined for an idle one. */
function busyNote(cases) {
  const load = Math.max(...cases.map((one) => one.loadBefore ?? 0));
  if (load <= BUSY_LOAD) return undefined;
  return (
    `Other programs were running (load average ${load} before the run). Ratios of queries/s and CPU suffer a little; ` +
    "latencies, the milliseconds of a change and losses are to a large part theirs."
  );
}

const WORDS = { goal: "goal met", pass: "bar met", fail: "**missed**", missing: "not measured", info: "" };

/** `1.17`, `0.8 ms`, `99.99 %`. */
function withUnit(value, unit) {
  if (value === null || value === undefined) return "-";
  if (unit === "share") return `${+(value * 100).toFixed(3)} %`;
  return unit === "ratio" ? number(value) : `${number(value)} ${unit}`;
}

function caseRow({ title, unit, better, bar, goal, value, verdict, at }) {
  const limit = (number) =>
    number === undefined ? "" : `${better === "higher" ? "≥" : "≤"} ${withUnit(number, unit)}`;
  return `| ${title} | ${withUnit(value, unit)} | ${limit(bar)} | ${limit(goal)} | ${WORDS[verdict]} | ${at.slice(0, 10)} |`;
}

function laneRows(summary, group) {
  const columns = ["qps", "cpuUsPerQuery", "p50Us", "p99Us"];
  return lanesOf(summary, group).map(
    ([lane, figures]) =>
      `| ${GROUPS[group].title} | ${lane} | ${columns.map((key) => (figures[key] === null ? "" : number(figures[key]))).join(" | ")} |`,
  );
}

/** The tables for the documentation. */
export function tablesOf(summary) {
  const newest = summary.cases.reduce((a, b) => (a.at > b.at ? a : b));
  const { machine, servers, rounds, seconds, at } = newest;
  const versions = Object.entries(servers).map(([name, version]) => `${name} ${version}`);
  const groups = ["a", "cookie", "nxdomain", "steady", "zones", "churn", "dgram"];
  return [
    `Measured on ${at.slice(0, 10)}: ${machine.processor}, ${machine.cores} cores, Linux ${machine.kernel}, ` +
      `Node.js ${machine.node.slice(1)}, ${versions.join(", ")}; ${rounds} rounds of ${seconds} s.`,
    "",
    ...[busyNote(summary.cases)].flatMap((note) => (note === undefined ? [] : [note, ""])),
    "| case | measured | bar | goal | | on |",
    "|---|---|---|---|---|---|",
    ...summary.cases.map(caseRow),
    "",
    "Medians behind them:",
    "",
    `| group | | ${["qps", "cpuUsPerQuery", "p50Us", "p99Us"].map((key) => FIGURES[key].title).join(" | ")} |`,
    "|---|---|---|---|---|---|",
    ...groups.flatMap((group) => laneRows(summary, group)),
  ].join("\n");
}

/** The documentation with the tables of a summary in it. */
export function withTables(text, summary) {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`docs/performance.md lacks its marks: ${BEGIN} … ${END}`);
  return `${text.slice(0, begin + BEGIN.length)}\n\n${tablesOf(summary)}\n\n${text.slice(end)}`;
}

export function updateDocs(summary) {
  writeFileSync(DOCS, withTables(readFileSync(DOCS, "utf8"), summary));
}

/** Writes the figures of a summary into docs/failover.md, and draws the chart. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { drawChart } from "../bench/chart.mjs";
import { thinCells, verdictsOf } from "./bars.mjs";
import { CLIENTS } from "./clients.mjs";
import { FAULTS } from "./faults.mjs";
import {
  cellTable,
  costsTable,
  mistakesTable,
  roundsTable,
  seconds,
  shortTable,
  waysIn,
  withdrawnTable,
} from "./tables.mjs";
import { nameOf, WAYS } from "./ways.mjs";

const PAGE = "docs/failover.md";
const CHART = "docs/images/failover.svg";
const SUMMARY = "lab/results/summary.json";

/** Faults of a target, of the way itself, and of all targets: one table each. */
const GROUPS = {
  "target-gone": ["sigkill", "power-off", "dropped", "sigstop"],
  "target-bad": ["graceful", "certificate", "slow", "flapping"],
  way: ["server-killed", "resolver", "cut-from-one", "uplink"],
  cluster: ["all-down", "rolling"],
};
const ALL_FAULTS = Object.keys(FAULTS);

const CHART_PANELS = [
  { fault: "sigkill", client: "single", title: "Apiserver killed, a client that takes the first address only" },
  { fault: "power-off", client: "all", title: "Apiserver without power, clients that try each address" },
  { fault: "sigstop", client: "all", title: "Apiserver hangs, clients that try each address" },
];

/** What the page has between its marks, by the mark's name. */
export function partsOf(summary) {
  const tables = Object.entries(GROUPS).map(([name, faults]) => [name, cellTable(summary, faults)]);
  return {
    measured: measuredLine(summary),
    short: shortTable(summary),
    ...Object.fromEntries(tables),
    single: cellTable(summary, [...GROUPS["target-gone"], "graceful"], "single"),
    lasting: cellTable(summary, [...GROUPS["target-gone"], "graceful", "server-killed"], "lasting"),
    withdrawn: withdrawnTable(summary, [...GROUPS["target-gone"], ...GROUPS["target-bad"].slice(0, 3)]),
    mistakes: mistakesTable(summary),
    costs: costsTable(summary),
    bars: barTable(summary),
    rounds: `${thinLine(summary)}\n\n${roundsTable(summary, ALL_FAULTS)}`,
  };
}

function measuredLine({ rounds, from, to, load, copies }) {
  const minute = (at) => at.slice(0, 16).replace("T", " ");
  const clients = Object.values(CLIENTS).map(({ title, everyMs }) => `${title} every ${everyMs} ms`);
  return (
    `${rounds} rounds between ${minute(from)} and ${minute(to)} UTC, on two cores that other programs used too (median load ` +
    `average ${load}), with ${copies.join(" or ")} copies of the network at a time. Each round: ${clients.join(", ")}.`
  );
}

function thinLine(summary) {
  const cells = thinCells(summary).length;
  return cells === 0 ? "Each cell has at least 10 rounds." : `${cells} cells have fewer than 10 rounds:`;
}

function barTable(summary) {
  const word = (isMet) => (isMet === undefined ? "not measured" : isMet ? "yes" : "**no**");
  const rows = verdictsOf(summary).map(({ name, isMet, said }) => `| ${name} | ${word(isMet)} | ${said} |`);
  return ["| promise | kept | measured |", "|---|---|---|", ...rows].join("\n");
}

/** A text with the parts between their marks, `<!-- lab: NAME -->` and `<!-- lab: end -->`. */
export function withParts(text, parts) {
  return text.replace(/(<!-- lab: (?!end)([\w-]+) -->\n)[\s\S]*?(<!-- lab: end -->)/g, (_all, begin, name, end) => {
    if (parts[name] === undefined) throw new Error(`${PAGE} has a mark that the lab does not know: ${name}`);
    return `${begin}\n${parts[name]}\n\n${end}`;
  });
}

/** The chart: medians, the ways in order of each. */
export function chartOf(summary) {
  const panels = CHART_PANELS.map(({ fault, client, title }) => {
    const bars = waysIn(summary).flatMap((way) => {
      const cell = summary.cells[way]?.[fault];
      if (cell === undefined || cell.rounds === 0) return [];
      const value = cell[client].median;
      return [{ name: nameOf(WAYS[way]), value, label: `${seconds(value)} s`, isOurs: WAYS[way].isOurs === true }];
    });
    bars.sort((a, b) => a.value - b.value);
    return { title: `${title}: seconds to the last bad request, median`, bars };
  });
  return drawChart(
    panels.filter(({ bars }) => bars.length > 0),
    430,
  );
}

/** Writes the page, the chart and the summary. @param {string} root the project's folder */
export function writePage(root, summary) {
  const at = (file) => path.join(root, file);
  mkdirSync(path.dirname(at(SUMMARY)), { recursive: true });
  writeFileSync(at(SUMMARY), `${JSON.stringify(summary, undefined, 1)}\n`);
  writeFileSync(at(CHART), chartOf(summary));
  writeFileSync(at(PAGE), withParts(readFileSync(at(PAGE), "utf8"), partsOf(summary)));
  console.log(`written: ${PAGE}, ${CHART}, ${SUMMARY}`);
}

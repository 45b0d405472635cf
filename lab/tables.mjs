/** Markdown tables of a summary. Pure. */
import { FAULTS } from "./faults.mjs";
import { GIVE_UP_MS, QUIET_MS } from "./figures.mjs";
import { nameOf, WAYS } from "./ways.mjs";

/** Seconds beyond which a value means that the trouble lasted as long as the lab looked. */
const GIVE_UP = (GIVE_UP_MS - QUIET_MS) / 1_000;

/** Seconds. @param isOpen whether it was not over when the lab stopped looking */
export function seconds(value, isOpen = false) {
  if (Number.isNaN(value)) return "";
  if (value >= GIVE_UP) return `> ${GIVE_UP}`;
  return `${isOpen ? "> " : ""}${value >= 10 ? value.toFixed(1) : value.toFixed(2)}`;
}

const row = (columns) => `| ${columns.join(" | ")} |`;

/** A table with a row for each way. @param {string[]} head @param {(id: string) => string[]} columns */
function wayTable(ids, head, columns) {
  const rows = ids.map((id) => row([nameOf(WAYS[id]), ...columns(id)]));
  return [row(["way", ...head]), row(["way", ...head].map(() => "---")), ...rows].join("\n");
}

export const waysIn = (summary) =>
  Object.keys(WAYS).filter((id) => summary.cells[id] !== undefined || summary.costs[id] !== undefined);

/** One cell: median and worst seconds, and failed + slowed requests a round. */
function cellText(summary, way, fault, client) {
  const cell = summary.cells[way]?.[fault];
  if (cell === undefined) return summary.absent[way]?.[fault] ? "–" : "";
  const figures = cell[client];
  if (cell.rounds === 0) return "";
  if (figures.failed + figures.slowed === 0) return "none";
  const perRound = (count) => (count / cell.rounds).toFixed(count / cell.rounds < 10 ? 1 : 0);
  const times = `${seconds(figures.median, 2 * figures.open > cell.rounds)} / ${seconds(figures.worst, figures.open > 0)}`;
  return `${times}; ${perRound(figures.failed)} + ${perRound(figures.slowed)}`;
}

/** Ways by faults, for one client or all that make new connections (`all`). */
export function cellTable(summary, faults, client = "all") {
  const shown = faults.filter((fault) => FAULTS[fault] !== undefined);
  const head = shown.map((fault) => FAULTS[fault].title);
  return wayTable(waysIn(summary), head, (way) => shown.map((fault) => cellText(summary, way, fault, client)));
}

/** How soon name servers, or the load balancer, left the target out. */
export function withdrawnTable(summary, faults) {
  const ids = waysIn(summary).filter((way) => faults.some((fault) => summary.cells[way]?.[fault]?.withdrawn.count > 0));
  return wayTable(
    ids,
    faults.map((fault) => FAULTS[fault].title),
    (way) =>
      faults.map((fault) => {
        const withdrawn = summary.cells[way]?.[fault]?.withdrawn;
        return withdrawn === undefined || withdrawn.count === 0
          ? ""
          : `${seconds(withdrawn.median)} / ${seconds(withdrawn.worst)}`;
      }),
  );
}

/** Rounds of each cell. */
export function roundsTable(summary, faults) {
  const head = faults.map((fault) => FAULTS[fault].title);
  return wayTable(waysIn(summary), head, (way) =>
    faults.map((fault) => {
      const cell = summary.cells[way]?.[fault];
      return cell === undefined ? (summary.absent[way]?.[fault] ? "–" : "0") : String(cell.rounds);
    }),
  );
}

export function costsTable(summary) {
  return wayTable(waysIn(summary), ["probe packets/min", "memory, MiB", "CPU", "lines"], (way) => {
    const costs = summary.costs[way];
    if (costs === undefined) return ["", "", "", ""];
    return [
      String(costs.packetsPerMinute),
      costs.memoryMiB.toFixed(0),
      `${costs.cpuPercent.toFixed(1)} %`,
      String(costs.lines),
    ];
  });
}

/** Requests that a target got after it had said it was not ready, and false withdrawals. */
export function mistakesTable(summary) {
  return wayTable(
    waysIn(summary),
    ["requests to an unready target, a graceful stop", "false withdrawals, all faults together"],
    (way) => {
      const graceful = summary.cells[way]?.graceful;
      const unready =
        graceful === undefined || graceful.rounds === 0 ? "" : (graceful.all.unready / graceful.rounds).toFixed(0);
      const withdrawals = Object.entries(summary.cells[way] ?? {}).filter(([, cell]) => cell.withdrawals > 0);
      const said = withdrawals.map(([fault, cell]) => `${cell.withdrawals} (${FAULTS[fault].title})`);
      return [unready, said.length === 0 ? "none" : said.join(", ")];
    },
  );
}

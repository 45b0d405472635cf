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

/** Faults and clients that are compared in short. */
const SHORT = [...Object.keys(FAULTS).map((fault) => [fault, "all"]), ["sigkill", "single"], ["graceful", "single"]];

const badPerRound = (cell, client) => (cell[client].failed + cell[client].slowed) / cell.rounds;

/** Of some ways, the one in which a fault was over first; then the one with fewer bad requests. */
function bestOf(summary, ids, fault, client) {
  const played = ids.filter((id) => summary.cells[id]?.[fault]?.rounds > 0);
  const rank = (id) => {
    const cell = summary.cells[id][fault];
    // Half a second is within what the lab can tell apart.
    return [Math.round(2 * cell[client].median), badPerRound(cell, client)];
  };
  return played.sort((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1])[0];
}

/** For each fault: livezone through Unbound, the best way with livezone, the best one without, and which of the two is better. */
export function shortTable(summary) {
  const ids = waysIn(summary);
  const ours = ids.filter((id) => WAYS[id].isOurs);
  const others = ids.filter((id) => !WAYS[id].isOurs);
  const head = ["what goes wrong", "livezone, through Unbound", "best way with livezone", "best way without", "better"];
  const rows = SHORT.flatMap(([fault, client]) => {
    const [mine, theirs] = [bestOf(summary, ours, fault, client), bestOf(summary, others, fault, client)];
    if (mine === undefined || theirs === undefined) return [];
    const text = (id) => cellText(summary, id, fault, client).replace(/ \/.*$/, " s");
    const winner = bestOf(summary, [mine, theirs], fault, client);
    const isTie = text(mine) === text(theirs);
    const title = client === "single" ? `${FAULTS[fault].title}, first address only` : FAULTS[fault].title;
    const named = (id) => `${text(id)} (${nameOf(WAYS[id])})`;
    return [
      row([
        title,
        text("livezone-unbound"),
        named(mine),
        named(theirs),
        isTie ? "both" : WAYS[winner].isOurs ? "livezone" : "the other",
      ]),
    ];
  });
  return [row(head), row(head.map(() => "---")), ...rows].join("\n");
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

/** What is promised, judged by a summary. Pure. */
import { FAULTS } from "./faults.mjs";
import { sum } from "./statistics.mjs";
import { nameOf, WAYS } from "./ways.mjs";

const ROUNDS = 10;
/** All clients; `all` is those that make new connections and try each address. */
const ALL = ["all", "single", "lasting"];
const MAIN = "livezone-unbound";
const SECONDARIES = ["livezone-secondary-unbound", "livezone-secondary-bind"];

/** @typedef {{ name: string, isMet: boolean | undefined, said: string }} Verdict `isMet` undefined: not enough rounds */

const cellOf = (summary, way, fault) => summary.cells[way]?.[fault];
const ours = () => Object.keys(WAYS).filter((id) => WAYS[id].isOurs);

/** Bar 2: a crash. Clients that try each address lose next to nothing with any DNS way: there it is enough not to be worse. */
function crashVerdicts(summary) {
  const rivals = [...Object.keys(WAYS).filter((id) => WAYS[id].isDns && !WAYS[id].isOurs), "haproxy-keepalived"];
  const mine = cellOf(summary, MAIN, "sigkill");
  const compared = rivals.flatMap((rival) => {
    const theirs = cellOf(summary, rival, "sigkill");
    const isKnown = mine?.rounds > 0 && theirs?.rounds > 0;
    const verdict = (client, isMet) => {
      const [ourMedian, theirMedian] = [mine?.[client].median, theirs?.[client].median];
      const said = `${ourMedian} s against ${theirMedian} s (${mine?.rounds} and ${theirs?.rounds} rounds)`;
      return isKnown ? { isMet: isMet(ourMedian, theirMedian), said } : { isMet: undefined, said: "not played" };
    };
    const name = nameOf(WAYS[rival]);
    return [
      { name: `crash, first address only: a lower median than ${name}`, ...verdict("single", (a, b) => a < b) },
      { name: `crash, all addresses tried: no higher median than ${name}`, ...verdict("all", (a, b) => a <= b) },
    ];
  });
  const soon = SECONDARIES.map((way) => {
    const cell = cellOf(summary, way, "sigkill");
    const worst = Math.max(cell?.all.worst, cell?.single.worst);
    return {
      name: `crash: ${nameOf(WAYS[way])} within 1 s`,
      isMet: cell?.rounds > 0 ? worst <= 1 : undefined,
      said:
        cell?.rounds > 0 ? `worst ${worst} s, median ${cell.single.median} s (${cell.rounds} rounds)` : "not played",
    };
  });
  return [...compared, ...soon];
}

/** Bars 3 and 4: not one failed request. */
function noFailureVerdicts(summary) {
  return ["graceful", "rolling", "server-killed"].flatMap((fault) =>
    ours().map((way) => {
      const cell = cellOf(summary, way, fault);
      const failed = cell === undefined ? 0 : sum(ALL.map((client) => cell[client].failed));
      return {
        name: `${FAULTS[fault].title}: no failed request, ${nameOf(WAYS[way])}`,
        isMet: cell === undefined || cell.rounds === 0 ? undefined : failed === 0,
        said:
          cell === undefined
            ? "not played"
            : `${failed} of ${sum(ALL.map((client) => cell[client].requests))} failed, ${cell.rounds} rounds`,
      };
    }),
  );
}

/** Bar 5: no false withdrawal. */
function withdrawalVerdicts(summary) {
  return ours().map((way) => {
    const cells = Object.entries(summary.cells[way] ?? {});
    const wrong = cells.filter(([, cell]) => cell.withdrawals > 0);
    const said = wrong.map(
      ([fault, cell]) => `${cell.withdrawals} in ${cell.rounds} rounds of "${FAULTS[fault].title}"`,
    );
    return {
      name: `no false withdrawal, ${nameOf(WAYS[way])}`,
      isMet: cells.length === 0 ? undefined : wrong.length === 0,
      said: wrong.length === 0 ? `${cells.length} faults` : said.join(", "),
    };
  });
}

/** @returns {Verdict[]} */
export function verdictsOf(summary) {
  return [...crashVerdicts(summary), ...noFailureVerdicts(summary), ...withdrawalVerdicts(summary)];
}

/** Cells with fewer than ten rounds: `[way, fault, rounds]`. */
export function thinCells(summary) {
  const faults = Object.keys(FAULTS);
  return Object.keys(WAYS).flatMap((way) =>
    faults
      .filter((fault) => summary.absent[way]?.[fault] !== true && (cellOf(summary, way, fault)?.rounds ?? 0) < ROUNDS)
      .map((fault) => [way, fault, cellOf(summary, way, fault)?.rounds ?? 0]),
  );
}

/** All verdicts as lines, and whether none is missed. */
export function barLines(summary) {
  const verdicts = verdictsOf(summary);
  const word = (isMet) => (isMet === undefined ? "?     " : isMet ? "met   " : "MISSED");
  return {
    lines: [
      ...verdicts.map(({ name, isMet, said }) => `${word(isMet)} ${name}: ${said}`),
      `cells with fewer than ${ROUNDS} rounds: ${thinCells(summary).length}`,
    ],
    isMet: verdicts.every(({ isMet }) => isMet === true),
  };
}

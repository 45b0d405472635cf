/** From rounds to one cell for each way, fault and client. Pure. */
import { median, sum, worst } from "./statistics.mjs";

/**
 * @param {object[]} rounds as the store has them
 * @returns `cells`: for each way and fault, for each client and for `fresh connections` (all clients but the lasting one, the worst
 *   of each round): rounds, median and worst seconds to the last bad request, sums of failed, slowed and wrongly sent requests
 */
export function summaryOf(rounds) {
  const cells = {};
  const costs = {};
  const played = rounds.filter(({ absent }) => absent !== true);
  for (const round of played) {
    const { way, fault } = round;
    if (round.costs !== undefined) {
      costs[way] = [...(costs[way] ?? []), round.costs];
      continue;
    }
    cells[way] ??= {};
    cells[way][fault] ??= [];
    cells[way][fault].push(round);
  }
  const absent = {};
  for (const { way, fault } of rounds.filter((round) => round.absent === true)) {
    absent[way] = { ...absent[way], [fault]: true };
  }
  return {
    rounds: played.length,
    from: rounds.map(({ at }) => at).sort()[0],
    to: rounds
      .map(({ at }) => at)
      .sort()
      .at(-1),
    load: median(played.filter(({ load }) => load !== undefined).map(({ load }) => load)),
    copies: [...new Set(played.map(({ copies }) => copies))].sort((a, b) => a - b),
    cells: mapValues(cells, (faults) => mapValues(faults, cellOf)),
    costs: mapValues(costs, costsOf),
    absent,
  };
}

const mapValues = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

/** What one client, or all that make new connections, saw in one round. */
const CLIENTS_OF = {
  all: ["curl", "fresh", "node"],
  curl: ["curl"],
  fresh: ["fresh"],
  single: ["single"],
  lasting: ["lasting"],
  node: ["node"],
};

function cellOf(rounds) {
  // A round in which something failed before the fault says nothing of the fault.
  const good = rounds.filter(({ clients }) => sum(Object.values(clients).map(({ before }) => before)) === 0);
  const of = (ids) => good.map(({ clients }) => ids.map((id) => clients[id]));
  return {
    rounds: good.length,
    spoilt: rounds.length - good.length,
    withdrawn: timesOf(good.flatMap(({ withdrawn }) => withdrawn ?? [])),
    withdrawals: sum(good.map(({ withdrawals }) => withdrawals)),
    ...mapValues(CLIENTS_OF, (ids) => {
      const samples = of(ids);
      const last = samples.map((seen) => Math.max(...seen.map((client) => client.last)));
      const total = (key) => sum(samples.flat().map((client) => client[key]));
      return {
        samples: last,
        median: median(last),
        worst: worst(last),
        open: samples.filter((seen) => seen.some((client) => client.isOpen)).length,
        failed: total("failed"),
        slowed: total("slowed"),
        unready: total("unready"),
        requests: total("total"),
      };
    }),
  };
}

const timesOf = (times) => ({ count: times.length, median: median(times), worst: worst(times) });

function costsOf(all) {
  const of = (key) => median(all.map((costs) => costs[key]));
  return {
    rounds: all.length,
    ...Object.fromEntries(["packetsPerMinute", "memoryMiB", "cpuPercent", "lines"].map((key) => [key, of(key)])),
  };
}

/**
 * Compares this build with another: every lane of a case that livezone serves runs once with each, in turn, in one run.
 *
 * It passes no judgement: on a machine that does other things the ratios differ from run to run, and the spread tells by how much.
 */
import { CASES, FIGURES } from "./cases.mjs";
import { median } from "./measure.mjs";
import { shown } from "./report.mjs";
import { SERVERS } from "./servers.mjs";

const before = (lane) => `${lane}, before`;

/** Lanes with a second one beside each that livezone serves, for the other build. */
export function lanesOfBoth(lanes, build) {
  return Object.fromEntries(
    Object.entries(lanes).flatMap(([name, lane]) =>
      SERVERS[lane.server === "demo" ? "livezone" : lane.server].isLivezone
        ? [
            [name, lane],
            [before(name), { ...lane, build }],
          ]
        : [[name, lane]],
    ),
  );
}

/** One line for a case: its value with either build, and its own figure over that of the other build, by round. */
export function comparison(name, { medians, runs }) {
  const { lanes, value, figure, unit } = CASES[name];
  const [own] = lanes;
  const missing = lanes.find((lane) => medians[lane] === undefined);
  if (missing !== undefined) return `${name.padEnd(18)}${missing} is not installed`;
  const mediansBefore = Object.fromEntries(lanes.map((lane) => [lane, medians[before(lane)] ?? medians[lane]]));
  const { of, title } = FIGURES[figure];
  const ratios = runs[own].map((run, round) => of(run) / of(runs[before(own)][round]));
  const spread = `${shown(Math.min(...ratios))} to ${shown(Math.max(...ratios))}`;
  return [
    name.padEnd(18),
    `${shown(value(mediansBefore))} -> ${shown(value(medians))} ${unit}`.padEnd(26),
    `${title}: ${shown(medians[before(own)][figure])} -> ${shown(medians[own][figure])}`.padEnd(42),
    `x ${shown(median(ratios))} (${spread})`,
  ].join("");
}

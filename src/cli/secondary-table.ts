import type { Status } from "../admin/schemas.js";
import { formatAge, type Palette, plain } from "./output.js";

type SecondaryView = NonNullable<Status["secondaries"]>[number];

const TITLES = ["SECONDARY", "ZONE", "SERIAL", "BEHIND", "NOTIFIED", "ACKNOWLEDGED", "TRANSFERRED"] as const;

/** Lines that a terminal gets; those in trouble come first. Other programs get all. */
const MAX_ON_TERMINAL = 20;

/** What is wrong with secondaries, a line each. */
export function secondaryAlarms({ secondaries = [], zones, nowMs }: Status): string[] {
  const serials = new Map(zones.map(({ zone, serial }) => [zone, serial]));
  return secondaries.flatMap(({ zone, address, trouble, serial, lagMs, acknowledged }) => {
    // Behind for a moment is how every secondary follows.
    if (trouble === undefined || lagMs < 5_000) return [];
    const why = {
      behind: `it has serial ${serial}, this server ${serials.get(zone) ?? "another"}`,
      silent: "it answers no query",
      lame: "it answers, but does not have the zone",
    }[trouble];
    const said =
      acknowledged === undefined || acknowledged.rcode === "NOERROR"
        ? ""
        : `; to NOTIFY it said ${plain(acknowledged.rcode)} ${formatAge(nowMs - acknowledged.atMs)} ago`;
    return [`! secondary ${address} does not follow ${zone} for ${formatAge(lagMs)}: ${why}${said}`];
  });
}

/** A line for each zone and secondary; nothing without secondaries. @param isTerminal shows what fits, the worst first */
export function secondaryTable({ secondaries = [], nowMs }: Status, palette: Palette, isTerminal: boolean): string[] {
  if (secondaries.length === 0) return [];
  const worstFirst = secondaries.toSorted((a, b) => Number(b.trouble !== undefined) - Number(a.trouble !== undefined));
  const shown = isTerminal ? worstFirst.slice(0, MAX_ON_TERMINAL) : worstFirst;
  const rows = shown.map((view) => cellsOf(view, nowMs));
  const widths = TITLES.map((title, column) =>
    rows.reduce((most, row) => Math.max(most, (row[column] ?? "").length), title.length),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  const lines = rows.map((row, index) => {
    const isWrong = shown[index]?.trouble !== undefined;
    return isWrong ? palette.warn(line(row)) : line(row);
  });
  const more = secondaries.length - shown.length;
  return [palette.soft(line(TITLES)), ...lines, ...(more > 0 ? [palette.soft(`and ${more} more: see --json`)] : [])];
}

function cellsOf(view: SecondaryView, nowMs: number): string[] {
  const { address, zone, serial, trouble, lagMs, notifiedAtMs, acknowledged, transferred } = view;
  const age = (atMs: number | undefined): string => (atMs === undefined ? "-" : formatAge(nowMs - atMs));
  const behind = lagMs === 0 ? "-" : formatAge(lagMs);
  return [
    address,
    zone,
    serial === undefined ? "-" : String(serial),
    trouble === undefined || trouble === "behind" ? behind : `${trouble} ${behind}`,
    age(notifiedAtMs),
    acknowledged === undefined ? "-" : `${age(acknowledged.atMs)} ${plain(acknowledged.rcode)}`,
    transferred === undefined
      ? "-"
      : `${age(transferred.atMs)} ${transferred.kind}${transferred.complete ? "" : " (cut)"}`,
  ];
}

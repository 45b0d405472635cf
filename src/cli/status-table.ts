import type { EndpointView, OverrideView, Status, TargetDetail, TargetView } from "../admin/schemas.js";
import { formatAge, formatTime, type Palette, plain } from "./output.js";

/** How a table is drawn. */
export interface TableOptions {
  readonly palette: Palette;
  /** Columns of the terminal; absent = as wide as it gets, and every line complete in itself, for other programs. */
  readonly width?: number;
}

type Paint = (text: string) => string;

/** A cell: its text and how it is painted. */
type Cell = readonly [text: string, paint?: Paint];

const TITLES = ["ENDPOINT", "TARGET", "ADDRESS", "HEALTH", "ANSWERED", "OVERRIDE", "SINCE", "REASON"];

const GAP = "  ";

/** The table of `livezone status`: what is wrong first, then a line for each address. */
export function statusTable(status: Status, { palette, width }: TableOptions): string {
  const endpoints = status.zones.flatMap((zone) => zone.endpoints);
  const rows: Cell[][] = [];
  for (const endpoint of endpoints) {
    let isFirst = true;
    for (const target of endpoint.targets) {
      for (const [index, address] of target.addresses.entries()) {
        const repeats = width !== undefined;
        rows.push([
          [repeats && !isFirst ? "" : endpoint.endpoint, palette.strong],
          [repeats && index > 0 ? "" : target.id],
          ...addressCells(address, target, status.nowMs, palette),
        ]);
        isFirst = false;
      }
    }
  }
  const head = [summary(status, endpoints, palette), ...alarms(status, endpoints).map((text) => palette.bad(text))];
  const table = rows.length === 0 ? [] : layOut(rows, palette, width);
  return [...head.map((line) => line), "", ...table, ""].join("\n");
}

function addressCells(
  { address, health, answered, sinceMs, last }: TargetView["addresses"][number],
  { override }: TargetView,
  nowMs: number,
  palette: Palette,
): Cell[] {
  const paint = { up: palette.good, down: palette.bad, unknown: palette.warn }[health];
  return [
    [address],
    [health, paint],
    answered ? ["yes"] : ["no", palette.soft],
    override === undefined ? ["-", palette.soft] : [plain(overrideWord(override, nowMs)), palette.warn],
    [formatAge(nowMs - sinceMs), palette.soft],
    [plain(reasonOf(last?.reason, override))],
  ];
}

function overrideWord({ kind, expiresAtMs }: OverrideView, nowMs: number): string {
  return expiresAtMs === undefined ? kind : `${kind} (${formatAge(expiresAtMs - nowMs)} left)`;
}

/** What the probe said, and what the operator did. */
function reasonOf(probed: string | undefined, override: OverrideView | undefined): string {
  const said = probed ?? "no result yet";
  if (override === undefined) return said;
  const by = override.author === undefined ? "" : ` (${override.author})`;
  return override.reason === undefined ? `${said}${by}` : `${said}; ${override.reason}${by}`;
}

function summary(status: Status, endpoints: readonly EndpointView[], palette: Palette): string {
  const healthy = endpoints.filter(({ mode }) => mode === "healthy").length;
  const state = status.ready ? "answering" : "waiting for the first round of probes";
  const words = `livezone ${plain(status.version)}, ${state}, running for ${formatAge(status.nowMs - status.startedMs)}`;
  const count = `${healthy} of ${endpoints.length} endpoint${endpoints.length === 1 ? "" : "s"} healthy`;
  return `${words}: ${(healthy === endpoints.length ? palette.good : palette.bad)(count)}`;
}

/** Everything that is not as it should be, a line each. */
function alarms(status: Status, endpoints: readonly EndpointView[]): string[] {
  const lines: string[] = [];
  if (status.isolated) lines.push("! the prober seems cut off from every target: the last answers are held");
  if (!status.lastReload.ok) {
    lines.push(`! the reload at ${formatTime(status.lastReload.atMs)} was refused: the configuration before it holds`);
  }
  for (const { endpoint, mode, upTargets, minHealthy, answers } of endpoints) {
    if (mode === "healthy") continue;
    const up = `${upTargets} target${upTargets === 1 ? "" : "s"} up, ${minHealthy} needed`;
    const what = mode === "none" ? "it answers nothing" : `it answers ${answers.length} by whenAllDown`;
    lines.push(
      `! ${endpoint} fails open: ${up}; ${what}`.replace("fails open", mode === "none" ? "is empty" : "fails open"),
    );
  }
  return lines;
}

/** Columns as wide as their widest cell; the last one is cut to what the terminal has left. */
function layOut(rows: readonly Cell[][], palette: Palette, width: number | undefined): string[] {
  const widths = TITLES.map((title, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.[0].length ?? 0), title.length),
  );
  const line = (cells: readonly Cell[]): string => {
    let used = 0;
    const parts = cells.map(([text, paint], column) => {
      const isLast = column === cells.length - 1;
      const room = width === undefined || !isLast ? Number.POSITIVE_INFINITY : Math.max(8, width - used);
      const fitting = text.length > room ? `${text.slice(0, room - 1)}…` : text;
      const padding = isLast ? "" : " ".repeat((widths[column] ?? 0) - fitting.length);
      used += (widths[column] ?? 0) + GAP.length;
      return `${paint === undefined ? fitting : paint(fitting)}${padding}`;
    });
    return parts.join(GAP).trimEnd();
  };
  return [line(TITLES.map((title): Cell => [title, palette.soft])), ...rows.map(line)];
}

/** One target with its last results, newest last. */
export function targetTable(detail: TargetDetail, { palette }: TableOptions): string {
  const { endpoint, target, nowMs, history } = detail;
  const lines = [palette.strong(`${endpoint} ${target.id}`)];
  if (target.override !== undefined) {
    const { reason, author, setAtMs } = target.override;
    const by = author === undefined ? "" : ` by ${author}`;
    const why = reason === undefined ? "" : `: ${reason}`;
    lines.push(palette.warn(plain(`${overrideWord(target.override, nowMs)} since ${formatTime(setAtMs)}${by}${why}`)));
  }
  for (const { address, health, sinceMs, answered } of target.addresses) {
    const paint = { up: palette.good, down: palette.bad, unknown: palette.warn }[health];
    const state = `${paint(health)} for ${formatAge(nowMs - sinceMs)}, ${answered ? "answered" : "not answered"}`;
    lines.push("", `${address}  ${state}`);
    for (const result of history.find((one) => one.address === address)?.results ?? []) {
      const colour = result.class === "ok" ? palette.good : palette.bad;
      const took = `${result.durationMs.toFixed(1)} ms`.padStart(10);
      lines.push(`  ${formatTime(result.atMs)}  ${took}  ${colour(result.class)}  ${plain(result.reason)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

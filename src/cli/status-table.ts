import type { AddressView, EndpointView, OverrideView, Status, TargetDetail, TargetView } from "../admin/schemas.js";
import { describePending, formatAge, formatTime, type Palette, plain } from "./output.js";
import { secondaryAlarms, secondaryTable } from "./secondary-table.js";
import { originLines, sourceAlarms, sourceTable } from "./source-table.js";

/** How a table is drawn. */
export interface TableOptions {
  readonly palette: Palette;
  /** Columns of the terminal; absent = as wide as it gets, and every line complete in itself, for other programs. */
  readonly width?: number;
}

type Paint = (text: string) => string;

/** A cell: its text and how it is painted. */
type Cell = readonly [text: string, paint?: Paint];

const TITLES = ["ENDPOINT", "TARGET", "ADDRESS", "HEALTH", "SINCE", "ANSWERED", "OVERRIDE", "OPERATOR", "LAST PROBE"];

const GAP = "  ";

/** Targets that one line names. */
const MAX_NAMED = 5;

/** Characters that each column of prose gets at least on a terminal. */
const MIN_PROSE = 4;

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
  const secondaries = secondaryTable(status, palette, width !== undefined);
  const sources = sourceTable(status, palette);
  const below = [sources, secondaries].flatMap((lines) => (lines.length === 0 ? [] : ["", ...lines]));
  return [...head, "", ...table, ...below, ""].join("\n");
}

function addressCells(
  { address, health, answered, sinceMs, last, held }: TargetView["addresses"][number],
  { override, disabled }: TargetView,
  nowMs: number,
  palette: Palette,
): Cell[] {
  const paint = { up: palette.good, down: palette.bad, unknown: palette.warn }[health];
  return [
    [address],
    disabled === true ? ["disabled", palette.soft] : [health, paint],
    [formatAge(nowMs - sinceMs), palette.soft],
    answered ? ["yes"] : ["no", palette.soft],
    operatorCell(override, held, nowMs, palette),
    [plain(operatorOf(override))],
    [plain(last?.reason ?? (disabled === true ? "not probed" : "no result yet"))],
  ];
}

/** What an operator said; else that it is suppressed for flapping, which an operator can end. */
function operatorCell(
  override: OverrideView | undefined,
  held: AddressView["held"],
  nowMs: number,
  palette: Palette,
): Cell {
  if (override !== undefined) return [overrideWord(override, nowMs), palette.warn];
  if (held !== undefined) return [`suppressed, flaps (${formatAge(held.untilMs - nowMs)} left)`, palette.warn];
  return ["-", palette.soft];
}

function overrideWord({ kind, expiresAtMs }: OverrideView, nowMs: number): string {
  return expiresAtMs === undefined ? kind : `${kind} (${formatAge(expiresAtMs - nowMs)} left)`;
}

/** Why the override is there, and whose it is. */
function operatorOf(override: OverrideView | undefined): string {
  const { reason, author, origin = "operator" } = override ?? {};
  const by = [author, origin === "operator" ? undefined : `by ${origin}`]
    .filter((part) => part !== undefined)
    .join(" ");
  if (reason === undefined && by === "") return "-";
  return [reason, by === "" ? undefined : `(${by})`].filter((part) => part !== undefined).join(" ");
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
  if (status.clockSuspect === true) {
    lines.push(
      `! no certificate is valid yet: the server's clock is suspect, it says ${new Date(status.nowMs).toISOString().slice(0, 16)}Z`,
    );
  }
  if (!status.lastReload.ok) {
    lines.push(`! the reload at ${formatTime(status.lastReload.atMs)} was refused: the configuration before it holds`);
  }
  lines.push(...siblingLines(status), ...secondaryAlarms(status));
  for (const pending of status.needRestart ?? []) lines.push(`! ${describePending(pending)}`);
  for (const endpoint of endpoints) lines.push(...sourceAlarms(endpoint, status.nowMs));
  for (const { endpoint, mode, upTargets, minHealthy, answers, targets: all } of endpoints) {
    const targets = all.filter(({ disabled }) => disabled !== true);
    const drained = targets.filter(({ override }) => override?.kind === "drained").length;
    const besides = drained === 0 ? "" : `, ${drained} drained`;
    if (mode === "healthy") {
      const troubled = targets.flatMap(troubleOf);
      if (troubled.length === 0) continue;
      const named = troubled.slice(0, MAX_NAMED).join(", ");
      const more = troubled.length > MAX_NAMED ? ` and ${troubled.length - MAX_NAMED} more` : "";
      const inService = targets.length - drained;
      lines.push(`! ${endpoint}: ${upTargets} of ${inService} targets up${besides}: ${named}${more}`);
      continue;
    }
    const up = `${upTargets} target${upTargets === 1 ? "" : "s"} up${besides}, ${minHealthy} needed`;
    if (mode === "none") lines.push(`! ${endpoint} is empty: ${up}; it answers nothing`);
    else lines.push(`! ${endpoint} fails open: ${up}; it answers ${answers.length} by whenAllDown`);
  }
  return lines;
}

/** Clocks that differ by more than this are told, milliseconds. */
const CLOCK_DIFFERENCE_MS = 5_000;

/** What is wrong with siblings, a line each. */
function siblingLines({ siblings, nowMs }: Status): string[] {
  const lines = siblings?.cutOff === true ? ["! a sibling reaches targets that this server does not reach"] : [];
  for (const peer of siblings?.peers ?? []) {
    const { name, condition, sinceMs, trouble, clockDifferenceMs = 0, zonesDiffer = [], overridesNotKept } = peer;
    const why = trouble === undefined ? "" : `; connecting to it: ${plain(trouble)}`;
    if (condition !== "fresh") lines.push(`! sibling ${name} is ${condition} for ${formatAge(nowMs - sinceMs)}${why}`);
    else if (why !== "") lines.push(`! sibling ${name} is heard, but does not hear this server${why}`);
    if (overridesNotKept === "here" || overridesNotKept === "both") {
      lines.push(`! overrides of sibling ${name} cannot be saved here, so that they do not hold`);
    }
    if (overridesNotKept === "there" || overridesNotKept === "both") {
      lines.push(`! sibling ${name} cannot save overrides of this server, so that they do not hold there`);
    }
    if (zonesDiffer.length > 0) lines.push(`! sibling ${name} has another configuration of ${zonesDiffer.join(", ")}`);
    if (Math.abs(clockDifferenceMs) > CLOCK_DIFFERENCE_MS) {
      lines.push(`! sibling ${name} has a clock that differs by ${formatAge(Math.abs(clockDifferenceMs))}`);
    }
  }
  return lines;
}

/** What keeps a target from being up on all its addresses, unless an operator has said what to take it for. */
function troubleOf({ id, override, addresses }: TargetView): string[] {
  if (override !== undefined) return [];
  const isWhole = addresses.every(({ health }) => health === addresses[0]?.health);
  const shown = isWhole ? addresses.slice(0, 1) : addresses;
  return shown.flatMap(({ address, health }) =>
    health === "up" ? [] : [isWhole ? `${id} is ${health}` : `${id} is ${health} at ${address}`],
  );
}

/** Columns as wide as their widest cell; on a terminal the last two, which hold prose, are cut to what it has. */
function layOut(rows: readonly Cell[][], palette: Palette, width: number | undefined): string[] {
  const titles = TITLES.map((title): Cell => [title, palette.soft]);
  const widths = TITLES.map((title) => title.length);
  for (const row of rows) {
    for (const [column, [text]] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, text.length);
  }
  const last = TITLES.length - 1;
  if (width !== undefined) {
    const before = widths.slice(0, last - 1).reduce((sum, one) => sum + one + GAP.length, 0);
    const room = Math.max(2 * MIN_PROSE, width - before - GAP.length);
    // One character where nobody has said anything.
    const longest = rows.reduce((most, row) => Math.max(most, row[last - 1]?.[0].length ?? 0), 1);
    const operator = Math.min(longest, Math.max(MIN_PROSE, Math.floor(room / 2)));
    widths[last - 1] = operator;
    widths[last] = Math.min(widths[last] ?? 0, room - operator);
  }
  // Thousands of rows: plain loops.
  const line = (cells: readonly Cell[]): string => {
    let text = "";
    for (const [column, [content, paint]] of cells.entries()) {
      const most = widths[column] ?? 0;
      const fitting = content.length > most ? `${content.slice(0, most - 1)}${most > 1 ? "…" : ""}` : content;
      text += paint === undefined ? fitting : paint(fitting);
      if (column < last) text += " ".repeat(most - fitting.length + GAP.length);
    }
    return text.trimEnd();
  };
  return [line(titles), ...rows.map(line)];
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
  lines.push(...originLines(target, nowMs));
  for (const { address, health, sinceMs, answered } of target.addresses) {
    const paint = { up: palette.good, down: palette.bad, unknown: palette.warn }[health];
    const word = target.disabled === true ? palette.soft("disabled") : paint(health);
    const state = `${word} for ${formatAge(nowMs - sinceMs)}, ${answered ? "answered" : "not answered"}`;
    lines.push("", `${address}  ${state}`);
    for (const result of history.find((one) => one.address === address)?.results ?? []) {
      const colour = result.class === "ok" ? palette.good : palette.bad;
      const took = `${result.durationMs.toFixed(1)} ms`.padStart(10);
      lines.push(`  ${formatTime(result.atMs)}  ${took}  ${colour(result.class)}  ${plain(result.reason)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

import type { Health } from "../health/health.js";
import type { ApiserverState } from "./apiserver-process.js";
import type { DemoEvent } from "./story.js";

/** One row of the table. */
export interface DemoTarget {
  readonly id: string;
  readonly address: string;
  /** What livezone concluded. */
  readonly health: Health;
  /** Wall clock of the last change of `health`, milliseconds since 1970. */
  readonly sinceMs: number;
  /** What the stand-in really is. */
  readonly apiserver: ApiserverState;
  /** Of the last probe; absent before the first. */
  readonly reason?: string;
}

/** What the name answers now, as asked by a real query. */
export type DemoAnswer =
  | { readonly kind: "addresses"; readonly addresses: readonly string[]; readonly ttl: number; readonly tookMs: number }
  /** In words: `no answer within 1 s`, `SERVFAIL`. */
  | { readonly kind: "none"; readonly why: string };

/** Everything that the screen shows. */
export interface DemoState {
  /** The endpoint's name, without the trailing dot. */
  readonly name: string;
  /** Where livezone answers. */
  readonly address: string;
  readonly port: number;
  /** Of the status page; absent = none. */
  readonly statusUrl?: string;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number;
  readonly targets: readonly DemoTarget[];
  /** Index of the target that keys act on. */
  readonly selected: number;
  /** Absent before the first query. */
  readonly answer?: DemoAnswer;
  /** All targets count as down, and all are answered for want of better ones. */
  readonly failOpen: boolean;
  /** Oldest first. */
  readonly events: readonly DemoEvent[];
}

/** How to draw. */
export interface ScreenOptions {
  /** Columns; longer lines are cut. Default 80. */
  readonly width?: number;
  /** Newest events shown. Default 8. */
  readonly events?: number;
  /** ANSI colours. Default false. */
  readonly colour?: boolean;
}

/** Terminal control: the alternate screen, the cursor hidden. */
export const ENTER_SCREEN = "\x1b[?1049h\x1b[?25l";
/** The way back from {@link ENTER_SCREEN}. */
export const LEAVE_SCREEN = "\x1b[?25h\x1b[?1049l";

/** Draws over the previous screen without clearing it first, which would flicker. */
export function paint(screen: string): string {
  const lines = screen.split("\n").map((line) => `${line}\x1b[K`);
  return `\x1b[H${lines.join("\r\n")}\x1b[J`;
}

type Style = "plain" | "bold" | "dim" | "green" | "yellow" | "red" | "reverse";

const SGR: Readonly<Record<Style, string>> = {
  plain: "",
  bold: "1",
  dim: "2",
  green: "32",
  yellow: "33",
  red: "31",
  reverse: "7",
};

/** A piece of a line in one style; a bare string is plain. */
type Span = string | readonly [text: string, style: Style];

const HEALTH_STYLE: Readonly<Record<Health, Style>> = { up: "green", down: "red", unknown: "yellow" };

const APISERVER_STYLE: Readonly<Record<ApiserverState, Style>> = {
  running: "green",
  unready: "yellow",
  hung: "red",
  crashed: "red",
  stopping: "yellow",
  stopped: "red",
};

/** The demo's screen: lines separated by `\n`, none longer than the width. */
export function renderScreen(state: DemoState, options: ScreenOptions = {}): string {
  const { width = 80, events = 8, colour = false } = options;
  const lines: readonly Span[][] = [
    title(state),
    [],
    ...table(state),
    [],
    ...answerLines(state),
    [],
    ...eventLines(state.events.slice(-events)),
    [],
    keyHelp(state.targets.length),
  ];
  return lines.map((spans) => renderLine(spans, width, colour)).join("\n");
}

/** One event as a line, for a demo without a terminal. */
export function renderEvent(event: DemoEvent): string {
  return renderLine(eventSpans(event), Number.POSITIVE_INFINITY, false);
}

function title({ name, address, port, statusUrl }: DemoState): Span[] {
  return [["livezone demo", "bold"], `  ${name}  on ${address}:${port}`, ...(statusUrl ? [`  ${statusUrl}`] : [])];
}

const HEADINGS = ["", "target", "address", "health", "since", "apiserver", "last probe"];

function table({ targets, selected, nowMs }: DemoState): Span[][] {
  const rows = targets.map((target, i): [string, Style][] => [
    [`${i === selected ? ">" : " "} ${i + 1}`, i === selected ? "bold" : "plain"],
    [target.id, i === selected ? "bold" : "plain"],
    [target.address, "plain"],
    [target.health, HEALTH_STYLE[target.health]],
    [formatAge(nowMs - target.sinceMs), "plain"],
    [target.apiserver, APISERVER_STYLE[target.apiserver]],
    [target.reason ?? "not probed yet", "dim"],
  ]);
  const all = [HEADINGS.map((heading): [string, Style] => [heading, "dim"]), ...rows];
  const widths = HEADINGS.map((_, column) => Math.max(...all.map((row) => (row[column]?.[0] ?? "").length)));
  return all.map((row) =>
    row.flatMap(([text, style], column): Span[] => {
      const isLast = column === row.length - 1;
      return isLast ? [[text, style]] : [[text, style], " ".repeat((widths[column] ?? 0) - text.length + 2)];
    }),
  );
}

function answerLines({ answer, failOpen, name, address, port }: DemoState): Span[][] {
  const lines: Span[][] = [["The name answers now: ", ...answerSpans(answer)]];
  if (failOpen) lines.push([["All targets are down, so all are answered (fail-open).", "red"]]);
  lines.push([[`Ask it yourself: dig @${address} -p ${port} ${name}`, "dim"]]);
  return lines;
}

function answerSpans(answer: DemoAnswer | undefined): Span[] {
  if (answer === undefined) return [["not asked yet", "dim"]];
  if (answer.kind === "none") return [[answer.why, "red"]];
  const { addresses, ttl, tookMs } = answer;
  if (addresses.length === 0) return [["no address", "red"]];
  return [
    [addresses.join("  "), "bold"],
    [`  (TTL ${ttl} s, asked in ${tookMs.toFixed(1)} ms)`, "dim"],
  ];
}

const DEEDS: Readonly<Record<DemoEvent["kind"], readonly [words: string, style: Style]>> = {
  crash: ["crashed by you", "yellow"],
  hang: ["hung by you", "yellow"],
  unready: ["made unready by you", "yellow"],
  revive: ["revived by you", "yellow"],
  withdrawn: ["left the answer", "red"],
  restored: ["came into the answer", "green"],
};

function eventLines(events: readonly DemoEvent[]): Span[][] {
  if (events.length > 0) return events.map(eventSpans);
  return [[["Nothing has happened yet: press c to crash the selected apiserver.", "dim"]]];
}

function eventSpans({ atMs, target, kind, tookMs, reason }: DemoEvent): Span[] {
  const [words, style] = DEEDS[kind];
  return [
    [formatTime(atMs), "dim"],
    `  ${target}  `,
    [words, style],
    ...(tookMs === undefined ? [] : [" after ", [formatTook(tookMs), "bold"] as const]),
    ...(reason === undefined ? [] : [`: ${reason}`]),
  ];
}

function keyHelp(count: number): Span[] {
  const keys = [
    [count > 1 ? `1-${Math.min(count, 9)}` : "1", "select"],
    ["c", "crash"],
    ["h", "hang"],
    ["u", "unready"],
    ["r", "revive"],
    ["q", "quit"],
  ] as const;
  return keys.flatMap(([key, meaning], i): Span[] => [i === 0 ? "" : "   ", [key, "reverse"], ` ${meaning}`]);
}

function renderLine(spans: readonly Span[], width: number, colour: boolean): string {
  let left = width;
  let line = "";
  for (const span of spans) {
    const [text, style] = typeof span === "string" ? [span, "plain" as const] : span;
    const shown = printable(text).slice(0, left);
    left -= shown.length;
    line += colour && SGR[style] !== "" && shown !== "" ? `\x1b[${SGR[style]}m${shown}\x1b[0m` : shown;
  }
  return colour ? line : line.trimEnd();
}

/** A reason may quote what a server sent: nothing in it may steer the terminal, or be of doubtful width. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}

/** Time of day where the user is. */
function formatTime(ms: number): string {
  const date = new Date(ms);
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map((value) =>
    String(value).padStart(2, "0"),
  );
  return `${hours}:${minutes}:${seconds}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** Time since a change: `12s`, `3m05s`, `2h07m`. */
function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const two = (value: number) => String(value).padStart(2, "0");
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  return `${Math.floor(seconds / 3_600)}h${two(Math.floor(seconds / 60) % 60)}m`;
}

function formatTook(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(2)} s`;
}

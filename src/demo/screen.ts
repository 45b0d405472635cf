import type { Health } from "../health/health.js";
import type { ApiserverState } from "./apiserver-process.js";
import type { DemoEvent } from "./timeline.js";

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
  /** A command that looks at the server; absent = none. */
  readonly command?: string;
  /** A word on the key that was pressed last; absent = none. */
  readonly hint?: string;
}

/** How to draw. */
export interface ScreenOptions {
  /** Columns; longer lines are cut. Default 80. */
  readonly width?: number;
  /** Lines; what matters least is left out. Default: as many as there are. */
  readonly height?: number;
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

/** The demo's screen: lines separated by `\n`, none longer than the width and no more than the height. */
export function renderScreen(state: DemoState, options: ScreenOptions = {}): string {
  const { width = 80, height = Number.POSITIVE_INFINITY, events = 8, colour = false } = options;
  const blank: Line = { spans: [], rank: 5.035 };
  const happened = eventLines(state.events.slice(-events));
  const lines: readonly Line[] = [
    { spans: title(state), rank: 4 },
    blank,
    ...table(state, width).map((spans, index): Line => ({ spans, rank: index === 0 ? 3 : 0 })),
    blank,
    ...answerLines(state, width),
    blank,
    ...happened.map((spans, index): Line => ({ spans, rank: eventRank(happened.length - 1 - index) })),
    state.hint === undefined ? blank : { spans: [[state.hint, "yellow"]], rank: 2 },
    { spans: keyHelp(state.targets.length, width), rank: 1 },
  ];
  return fitting(lines, height)
    .map(({ spans }) => renderLine(spans, width, colour))
    .join("\n");
}

/** The newest event tells more than how to ask, the older ones less, and past the fourth less than an empty line. */
function eventRank(newer: number): number {
  return newer === 0 ? 4.1 : 5 + newer / 100;
}

/** A line, and how soon it is left out of a screen that is too low: the highest rank first. */
interface Line {
  readonly spans: readonly Span[];
  readonly rank: number;
}

function fitting(lines: readonly Line[], height: number): readonly Line[] {
  const left = lines.map((_, index) => index);
  const worst = left.toSorted((a, b) => (lines[b]?.rank ?? 0) - (lines[a]?.rank ?? 0));
  const dropped = new Set(worst.slice(0, Math.max(0, lines.length - Math.max(1, height))));
  return lines.filter((_, index) => !dropped.has(index));
}

/** One event as a line, for a demo without a terminal. */
export function renderEvent(event: DemoEvent): string {
  return renderLine(eventSpans(event), Number.POSITIVE_INFINITY, false);
}

function title({ name, address, port, statusUrl }: DemoState): Span[] {
  return [["livezone demo", "bold"], `  ${name}  on ${address}:${port}`, ...(statusUrl ? [`  ${statusUrl}`] : [])];
}

const HEADINGS = ["", "target", "address", "health", "since", "apiserver", "last probe"];

/** Columns that a narrow screen does without, in the order in which they go. */
const SPARE = ["last probe", "since", "address"];

function table(state: DemoState, width: number): Span[][] {
  const spare = new Set<string>();
  for (;;) {
    const { spans, needed } = tableWith(state, spare);
    const next = SPARE.find((heading) => !spare.has(heading));
    if (needed <= width || next === undefined) return spans;
    spare.add(next);
  }
}

/** The table without some columns, and the width it needs for all but prose. */
function tableWith({ targets, selected, nowMs }: DemoState, without: ReadonlySet<string>) {
  const rows = targets.map((target, i): [string, Style][] => [
    [`${i === selected ? ">" : " "} ${i + 1}`, i === selected ? "bold" : "plain"],
    [target.id, i === selected ? "bold" : "plain"],
    [target.address, "plain"],
    [target.health, HEALTH_STYLE[target.health]],
    [formatAge(nowMs - target.sinceMs), "plain"],
    [target.apiserver, APISERVER_STYLE[target.apiserver]],
    [target.reason ?? "not probed yet", "dim"],
  ]);
  const all = [HEADINGS.map((heading): [string, Style] => [heading, "dim"]), ...rows].map((row) =>
    row.filter((_, column) => !without.has(HEADINGS[column] ?? "")),
  );
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => (row[column]?.[0] ?? "").length)));
  const isProse = !without.has("last probe");
  const gaps = 2 * (widths.length - 1);
  const needed = widths.slice(0, isProse ? -1 : undefined).reduce((sum, one) => sum + one, gaps);
  const spans = all.map((row) =>
    row.flatMap(([text, style], column): Span[] => {
      const isLast = column === row.length - 1;
      return isLast ? [[text, style]] : [[text, style], " ".repeat((widths[column] ?? 0) - text.length + 2)];
    }),
  );
  return { spans, needed };
}

function answerLines(state: DemoState, width: number): Line[] {
  const { failOpen, name, address, port, command } = state;
  const lines = answer(state, width).map((spans): Line => ({ spans, rank: 0 }));
  if (failOpen) lines.push({ spans: [["All targets are down, so all are answered (fail-open).", "red"]], rank: 2.5 });
  lines.push({ spans: [[`Ask it yourself: dig @${address} -p ${port} ${name}`, "dim"]], rank: 4.2 });
  if (command !== undefined) lines.push({ spans: [[`Operate it: ${command}`, "dim"]], rank: 4.3 });
  return lines;
}

/** What the name answers: on one line, or in a narrow screen on as many as it takes to name every address. */
function answer({ answer: given }: DemoState, width: number): Span[][] {
  const words = "The name answers now: ";
  const addresses = given?.kind === "addresses" ? given.addresses : [];
  if (addresses.length === 0 || words.length + addresses.join("  ").length <= width) {
    return [[words, ...answerSpans(given)]];
  }
  const lines: string[][] = [[]];
  let left = width - "Answer:".length;
  for (const one of addresses) {
    if (left < one.length + 1 && (lines.at(-1)?.length ?? 0) > 0) {
      lines.push([]);
      left = width;
    }
    lines.at(-1)?.push(one);
    left -= one.length + 1;
  }
  return lines.map((some, index): Span[] => [index === 0 ? "Answer: " : " ", [some.join(" "), "bold"]]);
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

/** What the keys do, in the longest form that fits. */
function keyHelp(count: number, width: number): Span[] {
  const keys = [
    [count > 1 ? `1-${Math.min(count, 9)}` : "1", "select"],
    ["c", "crash"],
    ["h", "hang"],
    ["u", "unready"],
    ["r", "revive"],
    ["q", "quit"],
  ] as const;
  const forms = [
    { gap: "   ", hasWords: true },
    { gap: "  ", hasWords: true },
    { gap: " ", hasWords: true },
    { gap: " ", hasWords: false },
  ];
  const spansOf = ({ gap, hasWords }: (typeof forms)[number]) =>
    keys.flatMap(([key, meaning], i): Span[] => [
      i === 0 ? "" : gap,
      [key, "reverse"],
      ...(hasWords ? [` ${meaning}`] : []),
    ]);
  const lengthOf = (spans: readonly Span[]) =>
    spans.reduce((sum, span) => sum + (typeof span === "string" ? span : span[0]).length, 0);
  return forms.map(spansOf).find((spans, index) => index === forms.length - 1 || lengthOf(spans) <= width) ?? [];
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

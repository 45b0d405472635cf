import type { PendingSetting } from "../admin/schemas.js";

/** Where a command writes: a stream, or what stands for it in a test. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

/** Paints text for people; without a terminal, or with NO_COLOR set (no-color.org), it leaves text as it is. */
export interface Palette {
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
  soft(text: string): string;
  strong(text: string): string;
}

/** The palette for a stream. */
export function paletteOf({ isTTY }: Output, noColour = process.env.NO_COLOR): Palette {
  const isColoured = isTTY === true && (noColour === undefined || noColour === "");
  const sgr = (code: number) => (text: string) => (isColoured ? `\x1b[${code}m${text}\x1b[0m` : text);
  return { good: sgr(32), bad: sgr(31), warn: sgr(33), soft: sgr(2), strong: sgr(1) };
}

/**
 * From now on a reader that has gone, such as `head`, ends the program without a word, as it ends other tools. The
 * exit code is that of success: what was asked for has been given.
 */
export function endQuietlyWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      process.exit(0);
    });
  }
}

/** Writes a value as JSON for programs: indented, with a newline at its end. */
export function writeJson(output: Output, value: unknown): void {
  output.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Writes to standard error, as it stands. */
export function writeError(text: string): void {
  process.stderr.write(text);
}

/** Text from elsewhere made fit for a terminal: one line, no control characters. */
export function plain(text: string): string {
  // Nearly always so, and much quicker to see than to replace.
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}

/** A setting that needs a restart, in words. */
export function describePending({ setting, running, configured }: PendingSetting): string {
  return plain(
    `${setting} needs a restart: it is ${running ?? "not set"} now, and ${configured ?? "not set"} from then on`,
  );
}

/** A length of time as people read it: `4 s`, `12 min`, `3 h`, `5 d`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** A moment as a local time of day, with the date when that is not today's: `14:03:22`, `2026-02-01 14:03:22`. */
export function formatMoment(wallMs: number, nowMs: number): string {
  const date = new Date(wallMs);
  if (date.toDateString() === new Date(nowMs).toDateString()) return formatTime(wallMs);
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return `${parts.map((part) => String(part).padStart(2, "0")).join("-")} ${formatTime(wallMs)}`;
}

/** A moment as a time of day, local: `14:03:22`. */
export function formatTime(wallMs: number): string {
  const date = new Date(wallMs);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

import { createRequire } from "node:module";
import { type Logger as PinoLogger, pino } from "pino";
import type { PinoPretty } from "pino-pretty";
import { createLineWriter, type LineWriter } from "./line-writer.js";

/** Where events are written: an object of fields and what happened, in the past tense. */
export type Logger = PinoLogger;

export interface LoggerOptions {
  /** Least severe level that is written. Default `info`. */
  readonly level?: string;
  /** Lines for people instead of JSON. Default: whether `destination` is a terminal. */
  readonly pretty?: boolean;
  /** Default: standard output. */
  readonly destination?: { readonly fd: number; readonly isTTY?: boolean };
}

const writers = new Map<Logger, LineWriter>();

/** Lines lost so far because nobody read them, or the disk under them was full. */
export function lostLogLines(): number {
  let lost = 0;
  for (const writer of writers.values()) lost += writer.lost;
  return lost;
}

/** Resolves once all lines are written, or the time for it has passed. */
export async function flushLogger(log: Logger): Promise<void> {
  await writers.get(log)?.flush();
}

/**
 * Makes the program's logger: one JSON object a line (`time` in ISO 8601, `level` by name, `msg`), or coloured lines on
 * a terminal.
 */
export function createLogger({
  level = "info",
  destination = { fd: 1, isTTY: process.stdout.isTTY },
  ...rest
}: LoggerOptions = {}): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const isPretty = rest.pretty ?? destination.isTTY === true;
  if (!isPretty) {
    const writer = createLineWriter(destination.fd);
    const log = pino(options, writer);
    writers.set(log, writer);
    return log;
  }
  // Loaded for terminals only: a server has none.
  const pretty = createRequire(import.meta.url)("pino-pretty") as typeof PinoPretty;
  return pino(
    options,
    pretty({
      colorize: process.env.NO_COLOR === undefined,
      // Lists stay in the line of their event.
      singleLine: true,
      translateTime: "HH:MM:ss.l",
      sync: true,
      destination: destination.fd,
    }),
  );
}

import type { Clock } from "../lib/clock.js";
import { messageOf } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";

/** Least time between two lines, milliseconds: an error may come back as often as something happens. */
const LINE_EVERY_MS = 1_000;

/** What of `process` takes handlers for errors that nobody else has handled. */
export interface ErrorSource {
  on(event: "uncaughtException" | "unhandledRejection", handler: (error: unknown) => void): unknown;
}

/**
 * Handles what nobody else has handled, which is a defect of livezone, by a line in the log: a server goes on answering, from
 * threads that are not concerned.
 */
export function logUnexpectedErrors(source: ErrorSource, log: Logger, clock: Clock): void {
  let unreported = 0;
  let nextLineMs = Number.NEGATIVE_INFINITY;
  const handle = (error: unknown): void => {
    const nowMs = clock.monotonicMs();
    if (nowMs < nextLineMs) {
      unreported += 1;
      return;
    }
    nextLineMs = nowMs + LINE_EVERY_MS;
    const stack = error instanceof Error ? error.stack : undefined;
    log.error({ error: messageOf(error), stack, unreported }, "unexpected error, going on");
    unreported = 0;
  };
  source.on("uncaughtException", handle);
  source.on("unhandledRejection", handle);
}

import { FLAG, HEADER_OCTETS, RCODE } from "../wire/constants.js";

/** A query that a defect of livezone kept from being answered. */
export interface QueryDefect {
  /** What was thrown: message and stack. */
  readonly error: string;
  /** The query in hexadecimal, its first 512 octets. */
  readonly query: string;
  /** How many like it have not been reported since the last report. */
  readonly unreported: number;
}

/** Octets of a query that a report shows. */
const SHOWN_OCTETS = 512;

/** Milliseconds between two reports, so that a flood of such queries is no flood of log lines. */
const REPORT_EVERY_MS = 1_000;

/** Takes what was thrown while `request` was being answered. */
export type DefectReporter = (error: unknown, request: Uint8Array) => void;

/**
 * Passes defects on, at most one a second.
 *
 * @param monotonicMs milliseconds on a clock that never jumps
 */
export function createDefectReporter(report: (defect: QueryDefect) => void, monotonicMs: () => number): DefectReporter {
  let reportedAt = Number.NEGATIVE_INFINITY;
  let unreported = 0;
  return (error, request) => {
    const now = monotonicMs();
    if (now - reportedAt < REPORT_EVERY_MS) {
      unreported += 1;
      return;
    }
    const query = Buffer.from(request.subarray(0, SHOWN_OCTETS)).toString("hex");
    report({ error: describe(error), query, unreported });
    reportedAt = now;
    unreported = 0;
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Writes SERVFAIL without a question: what a query holds that made livezone fail is not trusted any further.
 *
 * @param at where the query begins in `request`; `length` octets
 * @returns octets of the reply; 0 for what has no header
 */
export function writeServerFailure(
  request: Uint8Array,
  at: number,
  length: number,
  reply: Uint8Array,
  replyAt: number,
): number {
  if (length < HEADER_OCTETS) return 0;
  reply.fill(0, replyAt, replyAt + HEADER_OCTETS);
  reply[replyAt] = request[at] as number;
  reply[replyAt + 1] = request[at + 1] as number;
  reply[replyAt + 2] = (FLAG.QR >>> 8) | ((request[at + 2] as number) & 0x79);
  reply[replyAt + 3] = RCODE.SERVFAIL;
  return HEADER_OCTETS;
}

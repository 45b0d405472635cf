import { RCODE, TYPE } from "../wire/constants.js";

/** How queries arrive. */
export const TRANSPORTS = ["udp", "tcp"] as const;
export type TransportName = (typeof TRANSPORTS)[number];

/** A transport as the query path names it: its place in {@link TRANSPORTS}. */
export const TRANSPORT = { udp: 0, tcp: 1 } as const satisfies Record<TransportName, number>;
export type TransportIndex = (typeof TRANSPORT)[TransportName];

/** Query types counted by name; all others count as `other`, so that a flood of odd types makes no new series. */
const COUNTED_TYPES = [
  "A",
  "AAAA",
  "CNAME",
  "MX",
  "NS",
  "PTR",
  "SOA",
  "SRV",
  "TXT",
  "CAA",
  "ANY",
  "AXFR",
  "IXFR",
  "DS",
  "other",
] as const;

/**
 * Why a message got no reply. Of `rate-slipped` ones there was one, cut to TC; `connection-limit` counts TCP
 * connections that were turned away; `malformed` what came faster than `error-rate-limit.ts` lets errors be told.
 */
const DROP_REASONS = [
  "short",
  "response",
  "not-ready",
  "rate-limited",
  "rate-slipped",
  "connection-limit",
  "malformed",
] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** Response codes counted by number; larger ones count as the last. */
const RCODES = RCODE.BADCOOKIE + 1;

const QUERIES_AT = 0;
const RESPONSES_AT = QUERIES_AT + TRANSPORTS.length * COUNTED_TYPES.length;
const DROPPED_AT = RESPONSES_AT + RCODES;
const TRUNCATED_AT = DROPPED_AT + DROP_REASONS.length;
const SLOTS = TRUNCATED_AT + 1;

const OTHER = COUNTED_TYPES.length - 1;

/** Index into {@link COUNTED_TYPES} by type number, for the types below 258 (CAA). */
const TYPE_INDEX = Uint8Array.from({ length: TYPE.CAA + 1 }, (_, type) => {
  const index = COUNTED_TYPES.findIndex((name) => name !== "other" && TYPE[name] === type);
  return index < 0 ? OTHER : index;
});

/**
 * The counters of one thread. Doubles, exact up to 2⁵³, and only ever written by their own thread, so that counting
 * needs no atomic operation.
 */
export interface QueryCounters {
  readonly memory: SharedArrayBuffer;
  query(transport: TransportIndex, type: number): void;
  response(rcode: number): void;
  truncated(): void;
  dropped(reason: DropReason): void;
}

/** Counters over `memory`, or over memory of their own; zeroed memory is all there is to set up. */
export function createQueryCounters(memory: SharedArrayBuffer = new SharedArrayBuffer(SLOTS * 8)): QueryCounters {
  const slots = new Float64Array(memory);
  const add = (index: number): void => {
    slots[index] = (slots[index] as number) + 1;
  };
  return {
    memory,
    query: (transport, type) =>
      add(
        QUERIES_AT +
          transport * COUNTED_TYPES.length +
          (type < TYPE_INDEX.length ? (TYPE_INDEX[type] as number) : OTHER),
      ),
    response: (rcode) => add(RESPONSES_AT + (rcode < RCODES ? rcode : RCODES - 1)),
    truncated: () => add(TRUNCATED_AT),
    dropped: (reason) => add(DROPPED_AT + DROP_REASONS.indexOf(reason)),
  };
}

/** The sums over several threads, in words. */
export interface QueryTotals {
  readonly queries: readonly { readonly transport: TransportName; readonly type: string; readonly count: number }[];
  readonly responses: readonly { readonly rcode: number; readonly count: number }[];
  readonly dropped: readonly { readonly reason: DropReason; readonly count: number }[];
  readonly truncated: number;
}

/** Adds up what all threads have counted. */
export function sumCounters(memories: readonly SharedArrayBuffer[]): QueryTotals {
  const sums = new Float64Array(SLOTS);
  for (const memory of memories) {
    new Float64Array(memory).forEach((value, index) => {
      sums[index] = (sums[index] as number) + value;
    });
  }
  const at = (index: number): number => sums[index] ?? 0;
  return {
    queries: TRANSPORTS.flatMap((transport, t) =>
      COUNTED_TYPES.map((type, i) => ({ transport, type, count: at(QUERIES_AT + t * COUNTED_TYPES.length + i) })),
    ),
    responses: Array.from({ length: RCODES }, (_, rcode) => ({ rcode, count: at(RESPONSES_AT + rcode) })),
    dropped: DROP_REASONS.map((reason, i) => ({ reason, count: at(DROPPED_AT + i) })),
    truncated: at(TRUNCATED_AT),
  };
}

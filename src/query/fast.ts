import { patchAnswer } from "../answers/patch.js";
import {
  CLASS,
  FLAG,
  HEADER_OCTETS,
  MAX_LABEL_OCTETS,
  MAX_NAME_OCTETS,
  MAX_UDP_REPLY_OCTETS,
  PLAIN_UDP_OCTETS,
  TYPE,
} from "../wire/constants.js";
import type { QueryCounters } from "./counters.js";
import type { ResponderState } from "./respond.js";

/** Octets of an OPT record without options (RFC 6891 §6.1.2). */
const OPT_OCTETS = 11;

/** Query types up to here, OPT excepted, name plain records; above begin the meta types (RFC 6895 §3.1). */
const LAST_PLAIN_TYPE = 127;

/** The fast path has no opinion: the general path answers, refuses or drops. */
export const NOT_FAST = -1;

/**
 * Answers the queries that nearly all clients send over UDP, in place and without allocating: one question of class IN
 * for a name of ours, with no additional record or an OPT record without options.
 *
 * @param request holds the message in `length` octets from `at` on
 * @param reply room for 1232 octets from `replyAt` on
 * @returns octets of the reply, the same that `respond` would give, or {@link NOT_FAST}
 */
export type RespondFast = (
  request: Uint8Array,
  at: number,
  length: number,
  reply: Uint8Array,
  replyAt: number,
) => number;

/** Builds the fast path of the responder over the same state and counters as the general one. */
export function createFastResponder(state: ResponderState, counters: QueryCounters): RespondFast {
  return (request, at, length, reply, replyAt) => {
    if (length < HEADER_OCTETS + 5 || !state.ready) return NOT_FAST;
    // Of the header's bits only RD, AD and CD may be set; one question, at most one additional record.
    const isPlain =
      ((request[at + 2] as number) & 0xfe) === 0 &&
      ((request[at + 3] as number) & 0xcf) === 0 &&
      ((request[at + 4] as number) | (request[at + 6] as number) | (request[at + 7] as number)) === 0 &&
      request[at + 5] === 1 &&
      ((request[at + 8] as number) | (request[at + 9] as number) | (request[at + 10] as number)) === 0 &&
      (request[at + 11] as number) <= 1;
    if (!isPlain) return NOT_FAST;

    const nameAt = at + HEADER_OCTETS;
    const end = at + length;
    let position = nameAt;
    for (;;) {
      const step = request[position] as number;
      if (step === 0) break;
      position += 1 + step;
      if (step > MAX_LABEL_OCTETS || position >= end) return NOT_FAST;
    }
    position += 1;
    const nameLength = position - nameAt;
    if (nameLength > MAX_NAME_OCTETS || position + 4 > end) return NOT_FAST;
    const type = ((request[position] as number) << 8) | (request[position + 1] as number);
    if ((type > LAST_PLAIN_TYPE && type !== TYPE.CAA) || type === TYPE.OPT) return NOT_FAST;
    if (request[position + 2] !== 0 || request[position + 3] !== CLASS.IN) return NOT_FAST;
    position += 4;

    let room = PLAIN_UDP_OCTETS;
    const hasOpt = request[at + 11] === 1;
    if (hasOpt) {
      if (!isBareOpt(request, position, end)) return NOT_FAST;
      const offered = ((request[position + 3] as number) << 8) | (request[position + 4] as number);
      room =
        offered < PLAIN_UDP_OCTETS ? PLAIN_UDP_OCTETS : offered > MAX_UDP_REPLY_OCTETS ? MAX_UDP_REPLY_OCTETS : offered;
      room -= OPT_OCTETS;
    } else if (position !== end) {
      return NOT_FAST;
    }
    if (!state.table.find(request, nameAt, nameLength, type)) return NOT_FAST;

    reply[replyAt] = request[at] as number;
    reply[replyAt + 1] = request[at + 1] as number;
    const questionLength = nameLength + 4;
    for (let i = 0; i < questionLength; i += 1) reply[replyAt + HEADER_OCTETS + i] = request[nameAt + i] as number;
    const requestFlags = ((request[at + 2] as number) & (FLAG.RD >>> 8)) << 8;
    let replyLength = patchAnswer(state.table, state.table.found, reply, replyAt, nameLength, requestFlags, room);
    if (hasOpt) {
      writeOpt(reply, replyAt, replyLength, request[position + 7] as number);
      replyLength += OPT_OCTETS;
    }
    counters.query(0, type);
    if (((reply[replyAt + 2] as number) & (FLAG.TC >>> 8)) !== 0) counters.truncated();
    counters.response((reply[replyAt + 3] as number) & 0xf);
    return replyLength;
  };
}

/** Whether an OPT record of version 0 without options fills `at` to `end` exactly. */
function isBareOpt(request: Uint8Array, at: number, end: number): boolean {
  return (
    end - at === OPT_OCTETS &&
    request[at] === 0 &&
    request[at + 1] === 0 &&
    request[at + 2] === TYPE.OPT &&
    request[at + 6] === 0 &&
    request[at + 9] === 0 &&
    request[at + 10] === 0
  );
}

/** Writes OPT as the general path does: our UDP size, version 0, and DO as it came. */
function writeOpt(reply: Uint8Array, replyAt: number, end: number, flags: number): void {
  const at = replyAt + end;
  reply[at] = 0;
  reply[at + 1] = 0;
  reply[at + 2] = TYPE.OPT;
  reply[at + 3] = MAX_UDP_REPLY_OCTETS >>> 8;
  reply[at + 4] = MAX_UDP_REPLY_OCTETS & 0xff;
  reply[at + 5] = 0;
  reply[at + 6] = 0;
  reply[at + 7] = flags & 0x80;
  reply[at + 8] = 0;
  reply[at + 9] = 0;
  reply[at + 10] = 0;
  const low = (reply[replyAt + 11] as number) + 1;
  reply[replyAt + 11] = low;
  if (low > 0xff) reply[replyAt + 10] = (reply[replyAt + 10] as number) + 1;
}

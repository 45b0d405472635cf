import { patchAnswer } from "../answers/encode.js";
import {
  CLASS,
  EDNS_OPTION,
  FLAG,
  HEADER_OCTETS,
  MAX_LABEL_OCTETS,
  MAX_NAME_OCTETS,
  MAX_UDP_REPLY_OCTETS,
  PLAIN_UDP_OCTETS,
  TYPE,
} from "../wire/constants.js";
import type { Client } from "./client.js";
import { CLIENT_COOKIE_OCTETS, COOKIE_OCTETS, type ServerCookies } from "./cookies.js";
import type { QueryCounters } from "./counters.js";
import { OPT_OCTETS, OPTION_HEAD_OCTETS } from "./edns.js";
import type { ResponderState } from "./respond.js";

/** Query types up to here, OPT excepted, name plain records; above begin the meta types (RFC 6895 §3.1). */
const LAST_PLAIN_TYPE = 127;

/** Octets of a COOKIE option of ours, with its head. */
export const COOKIE_OPTION_OCTETS = OPTION_HEAD_OCTETS + COOKIE_OCTETS;

/** The fast path has no opinion: the general path answers, refuses or drops. */
export const NOT_FAST = -1;

/**
 * Answers the queries that nearly all clients send over UDP, in place and without allocating: one question of class IN
 * for a name of ours, with no additional record, or an OPT record without options or with a cookie and nothing else.
 * Clients are not told apart: it must not be asked where they are to be.
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
  client: Client,
) => number;

/** What the fast path reads of a request; one object, filled anew for each. */
interface PlainQuery {
  nameLength: number;
  type: number;
  /** Offset of the OPT record, -1 without one. */
  optAt: number;
  /** Octets of the cookie that ends the request; 0 without one. */
  cookieOctets: number;
}

/** Builds the fast path of the responder over the same state and counters as the general one. */
export function createFastResponder(state: ResponderState, counters: QueryCounters): RespondFast {
  const query: PlainQuery = { nameLength: 0, type: 0, optAt: -1, cookieOctets: 0 };
  return (request, at, length, reply, replyAt, client) => {
    if (length < HEADER_OCTETS + 5 || !state.ready || !readPlainQuery(query, request, at, length)) return NOT_FAST;
    const { nameLength, type, optAt, cookieOctets } = query;
    const jar = state.policy?.cookies;
    if (cookieOctets > 0 && jar === undefined) return NOT_FAST;
    const nameAt = at + HEADER_OCTETS;
    if (!state.table.find(request, nameAt, nameLength, type)) return NOT_FAST;

    reply[replyAt] = request[at] as number;
    reply[replyAt + 1] = request[at + 1] as number;
    const questionLength = nameLength + 4;
    for (let i = 0; i < questionLength; i += 1) reply[replyAt + HEADER_OCTETS + i] = request[nameAt + i] as number;
    const requestFlags = ((request[at + 2] as number) & (FLAG.RD >>> 8)) << 8;
    const optOctets = optAt < 0 ? 0 : cookieOctets > 0 ? OPT_OCTETS + COOKIE_OPTION_OCTETS : OPT_OCTETS;
    const room = (optAt < 0 ? PLAIN_UDP_OCTETS : offeredRoom(request, optAt)) - optOctets;
    const replyEnd = patchAnswer(state.table, state.table.found, reply, replyAt, nameLength, requestFlags, room);
    if (optAt >= 0) writeOpt(reply, replyAt, replyEnd, request[optAt + 7] as number);
    if (cookieOctets > 0 && jar !== undefined) {
      appendCookie(jar, request, at + length - cookieOctets, cookieOctets, client, reply, replyAt + replyEnd);
    }
    counters.query(0, type);
    if (((reply[replyAt + 2] as number) & (FLAG.TC >>> 8)) !== 0) counters.truncated();
    counters.response((reply[replyAt + 3] as number) & 0xf);
    return replyEnd + optOctets;
  };
}

/** Reads a request of at least 17 octets; false for what is left to the general path. */
function readPlainQuery(into: PlainQuery, request: Uint8Array, at: number, length: number): boolean {
  const nameAt = at + HEADER_OCTETS;
  const end = at + length;
  const nameEnd = isPlainHeader(request, at) ? endOfName(request, nameAt, end) : -1;
  if (nameEnd < 0 || nameEnd + 4 > end) return false;
  const type = ((request[nameEnd] as number) << 8) | (request[nameEnd + 1] as number);
  if (!isPlainType(type)) return false;
  if (request[nameEnd + 2] !== 0 || request[nameEnd + 3] !== CLASS.IN) return false;
  into.nameLength = nameEnd - nameAt;
  into.type = type;
  into.optAt = request[at + 11] === 1 ? nameEnd + 4 : -1;
  into.cookieOctets = 0;
  if (into.optAt < 0) return nameEnd + 4 === end;
  into.cookieOctets = cookieOctetsOf(request, into.optAt, end);
  return into.cookieOctets >= 0;
}

/** Whether of the header's bits only RD, AD and CD are set, and it announces one question and at most one additional record. */
function isPlainHeader(request: Uint8Array, at: number): boolean {
  return (
    ((request[at + 2] as number) & 0xfe) === 0 &&
    ((request[at + 3] as number) & 0xcf) === 0 &&
    ((request[at + 4] as number) | (request[at + 6] as number) | (request[at + 7] as number)) === 0 &&
    request[at + 5] === 1 &&
    ((request[at + 8] as number) | (request[at + 9] as number) | (request[at + 10] as number)) === 0 &&
    (request[at + 11] as number) <= 1
  );
}

/** Whether a query type is answered with records of that type and nothing else. */
export function isPlainType(type: number): boolean {
  return (type <= LAST_PLAIN_TYPE || type === TYPE.CAA) && type !== TYPE.OPT;
}

/** Offset behind a name, or -1 if it is none that ends by `end`, or compressed. */
export function endOfName(request: Uint8Array, at: number, end: number): number {
  let position = at;
  for (;;) {
    const step = request[position] as number;
    if (step === 0) break;
    position += 1 + step;
    if (step > MAX_LABEL_OCTETS || position >= end) return -1;
  }
  position += 1;
  return position - at > MAX_NAME_OCTETS ? -1 : position;
}

/**
 * Octets of the one cookie in an OPT record of version 0 that fills `at` to `end` exactly: 0 without options, 8 or 24
 * with a cookie as clients send it that have none of ours or one (RFC 9018 §4); -1 for everything else.
 */
export function cookieOctetsOf(request: Uint8Array, at: number, end: number): number {
  const options = end - at - OPT_OCTETS;
  const isOpt =
    options >= 0 &&
    request[at] === 0 &&
    request[at + 1] === 0 &&
    request[at + 2] === TYPE.OPT &&
    request[at + 6] === 0 &&
    request[at + 9] === 0 &&
    request[at + 10] === options;
  if (!isOpt || options === 0) return isOpt ? 0 : -1;
  const octets = options - OPTION_HEAD_OCTETS;
  const isCookie =
    (octets === CLIENT_COOKIE_OCTETS || octets === COOKIE_OCTETS) &&
    request[at + OPT_OCTETS] === 0 &&
    request[at + OPT_OCTETS + 1] === EDNS_OPTION.COOKIE &&
    request[at + OPT_OCTETS + 2] === 0 &&
    request[at + OPT_OCTETS + 3] === octets;
  return isCookie ? octets : -1;
}

/** Octets that the client of an OPT record takes, within our own limits (RFC 6891 §6.2.3: less than 512 means 512). */
function offeredRoom(request: Uint8Array, optAt: number): number {
  const offered = ((request[optAt + 3] as number) << 8) | (request[optAt + 4] as number);
  return Math.min(Math.max(offered, PLAIN_UDP_OCTETS), MAX_UDP_REPLY_OCTETS);
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

/**
 * Puts the answer to a cookie into the OPT record, so far without options, that stands at `optAt` of the reply and ends it.
 *
 * @param at where the cookie stands in `request`, `octets` long
 */
export function appendCookie(
  jar: ServerCookies,
  request: Uint8Array,
  at: number,
  octets: number,
  client: Client,
  reply: Uint8Array,
  optAt: number,
): void {
  const optionAt = optAt + OPT_OCTETS;
  reply[optAt + 10] = COOKIE_OPTION_OCTETS;
  reply[optionAt] = 0;
  reply[optionAt + 1] = EDNS_OPTION.COOKIE;
  reply[optionAt + 2] = 0;
  reply[optionAt + 3] = COOKIE_OCTETS;
  jar.exchange(request, at, octets, client, reply, optionAt + OPTION_HEAD_OCTETS);
}

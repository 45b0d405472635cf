import { patchAnswer } from "../answers/encode.js";
import type { AnswerTable } from "../answers/table.js";
import {
  CLASS,
  EXTENDED_ERROR,
  FLAG,
  HEADER_OCTETS,
  MAX_TCP_MESSAGE_OCTETS,
  MAX_UDP_REPLY_OCTETS,
  OPCODE,
  PLAIN_UDP_OCTETS,
  RCODE,
  TYPE,
} from "../wire/constants.js";
import { isWithinPrefixes } from "./access-list.js";
import { chaosText, writeChaos } from "./chaos.js";
import type { Client } from "./client.js";
import { CLIENT_COOKIE_OCTETS, isCookieLength } from "./cookies.js";
import { type QueryCounters, TRANSPORTS, type TransportName } from "./counters.js";
import { createReplyOpt, ERROR_OPTION_OCTETS } from "./edns.js";
import { parseEdns, parseQuestion, type QueryEdns, type Question } from "./parse.js";
import type { QueryPolicy } from "./policy.js";

/** What the responder works on; the table is replaced as a whole on reload. */
export interface ResponderState {
  table: AnswerTable;
  /** Until then queries are met with silence, so that a resolver asks the sibling server at once. */
  ready: boolean;
  /** Absent: everyone is answered, without limit, cookies or a word about the server; likewise replaced on reload. */
  policy?: QueryPolicy;
}

/**
 * Answers one message.
 *
 * @param request holds the message in its first `length` octets
 * @param reply where the reply is written; room for 65 535 octets over TCP, 1232 over UDP
 * @param client who sent it
 * @returns octets of the reply, 0 for none
 */
export type Respond = (
  request: Uint8Array,
  length: number,
  reply: Uint8Array,
  transport: TransportName,
  client: Client,
) => number;

/** Types of which an endpoint's records are; ANY may be answered with one of them. */
function followsHealth(type: number): boolean {
  return type === TYPE.A || type === TYPE.AAAA || type === TYPE.SRV || type === TYPE.ANY;
}

/** Types that ask for something other than records of that type, and are not served (RFC 6895 §3.1). */
function isRefusedType(type: number): boolean {
  return type === TYPE.AXFR || type === TYPE.IXFR || type === TYPE.MAILA || type === TYPE.MAILB;
}

/** Types that cannot be asked for at all: they exist for one message only (RFC 6891 §6.1.1, RFC 8945 §4.2). */
function isMetaType(type: number): boolean {
  return type === TYPE.OPT || type === TYPE.TSIG || type === TYPE.TKEY;
}

/** Builds the responder: the ordered list of refusals, then the answer. */
export function createResponder(state: ResponderState, counters: QueryCounters): Respond {
  const opt = createReplyOpt();

  /** A reply without records that repeats the question where that could be read. */
  const refuse = (query: Query, rcode: number, error = -1): number => {
    const { request, reply, length, question, edns } = query;
    counters.response(rcode);
    const end = question?.end ?? HEADER_OCTETS;
    reply.set(request.subarray(HEADER_OCTETS, end), HEADER_OCTETS);
    reply[2] = (FLAG.QR | (query.flags & (0x7800 | FLAG.RD))) >>> 8;
    reply[3] = rcode & 0xf;
    reply.fill(0, 4, HEADER_OCTETS);
    reply[5] = question === undefined ? 0 : 1;
    if (edns === undefined) return end;
    // Nothing makes a refusal longer for who may not have asked at all.
    const isKnown = query.transport === "tcp" || opt.isProven;
    if (error >= 0 && (isKnown || end + opt.size + ERROR_OPTION_OCTETS <= length)) opt.addError(error);
    return opt.append(reply, end, edns, rcode);
  };

  /** The record of a CHAOS question, or a refusal. */
  const answerChaos = (query: ReadableQuery): number => {
    const { request, reply, question, edns } = query;
    const text = chaosText(request, question, state.policy);
    if (text === undefined) return refuse(query, RCODE.REFUSED);
    counters.response(RCODE.NOERROR);
    reply.set(request.subarray(HEADER_OCTETS, question.end), HEADER_OCTETS);
    const end = writeChaos(reply, question, text, query.flags & FLAG.RD);
    return edns === undefined ? end : opt.append(reply, end, edns, RCODE.NOERROR);
  };

  const answer = (query: ReadableQuery): number => {
    const { request, reply, question, edns, flags } = query;
    reply.set(request.subarray(HEADER_OCTETS, question.end), HEADER_OCTETS);
    if (edns !== undefined && state.policy?.isStale === true && followsHealth(question.type)) {
      opt.addError(EXTENDED_ERROR.STALE_ANSWER);
    }
    const room = replyLimit(query.transport, edns) - (edns === undefined ? 0 : opt.size);
    const end = patchAnswer(state.table, state.table.found, reply, 0, question.nameLength, flags & FLAG.RD, room);
    // Nobody can be authoritative for all classes at once (RFC 1034 §3.7.1).
    if (question.class === CLASS.ANY) reply[2] = (reply[2] as number) & ~(FLAG.AA >>> 8);
    if (((reply[2] as number) & (FLAG.TC >>> 8)) !== 0) counters.truncated();
    counters.response((reply[3] as number) & 0xf);
    return edns === undefined ? end : opt.append(reply, end, edns, RCODE.NOERROR);
  };

  const answerOrRefuse = (query: ReadableQuery, client: Client): number => {
    const { request, question } = query;
    if (isQuery(query.flags)) counters.query(TRANSPORTS.indexOf(query.transport), question.type);
    if (state.policy?.allow !== undefined && !isWithinPrefixes(client, state.policy.allow)) {
      return refuse(query, RCODE.REFUSED, EXTENDED_ERROR.PROHIBITED);
    }
    const rcode = refusalOf(query);
    if (rcode !== RCODE.NOERROR) {
      const isUnsupported = rcode === RCODE.REFUSED || rcode === RCODE.NOTIMP;
      return refuse(query, rcode, isUnsupported ? EXTENDED_ERROR.NOT_SUPPORTED : -1);
    }
    if (question.class === CLASS.CH) return answerChaos(query);
    if (!state.table.find(request, HEADER_OCTETS, question.nameLength, question.type)) {
      return refuse(query, RCODE.REFUSED, EXTENDED_ERROR.NOT_AUTHORITATIVE);
    }
    if (!state.ready) {
      counters.dropped("not-ready");
      return 0;
    }
    return answer(query);
  };

  /** What the rate limit makes of a reply: itself, a cut one, or none (0). */
  const limit = (query: Query, client: Client, length: number): number => {
    const limiter = state.policy?.limiter;
    if (limiter === undefined || length === 0 || query.transport !== "udp") return length;
    if (query.edns !== undefined && opt.isProven) return length;
    const verdict = limiter.judge(client);
    if (verdict === "send") return length;
    counters.dropped(verdict === "slip" ? "rate-slipped" : "rate-limited");
    if (verdict === "drop" || query.question === undefined) return 0;
    const end = truncate(query.reply, query.question);
    if (query.edns === undefined) return end;
    opt.clear();
    return opt.append(query.reply, end, query.edns, RCODE.NOERROR);
  };

  const respondTo = (query: Query, client: Client): number => {
    const { request, length } = query;
    // Of an operation that is not known here the form is not known either.
    const unreadable = isQuery(query.flags) ? RCODE.FORMERR : RCODE.NOTIMP;
    const questions = u16(request, 4);
    // One question (RFC 9619), or none beside a cookie.
    if (questions > 1) return refuse(query, unreadable);
    query.question = questions === 1 ? parseQuestion(request, length) : undefined;
    if (questions === 1 && query.question === undefined) return refuse(query, unreadable);
    const end = query.question?.end ?? HEADER_OCTETS;
    const edns = parseEdns(request, end, length, u16(request, 6) + u16(request, 8), u16(request, 10));
    if (edns === "malformed") return refuse(query, unreadable);
    if (edns !== undefined) {
      query.edns = edns;
      opt.prepare(request, edns, query.transport, client, state.policy);
    }
    if (query.question === undefined) return isQuery(query.flags) ? exchangeCookie(query) : refuse(query, unreadable);
    return answerOrRefuse(query as ReadableQuery, client);
  };

  /** A query without a question asks for a server cookie (RFC 7873 §5.4). */
  const exchangeCookie = (query: Query): number => {
    const { edns } = query;
    if (edns !== undefined && edns.version > 0) return refuse(query, RCODE.BADVERS);
    if (edns === undefined || state.policy?.cookies === undefined) return refuse(query, RCODE.FORMERR);
    if (!isCookieLength(edns.cookieLength)) return refuse(query, RCODE.FORMERR);
    const hasOnlyClientCookie = edns.cookieLength === CLIENT_COOKIE_OCTETS;
    return refuse(query, hasOnlyClientCookie || opt.isProven ? RCODE.NOERROR : RCODE.BADCOOKIE);
  };

  return (request, length, reply, transport, client) => {
    if (length < HEADER_OCTETS) {
      counters.dropped("short");
      return 0;
    }
    const flags = u16(request, 2);
    if ((flags & FLAG.QR) !== 0) {
      counters.dropped("response");
      return 0;
    }
    reply[0] = request[0] as number;
    reply[1] = request[1] as number;
    const query: Query = { request, length, reply, transport, flags, question: undefined, edns: undefined };
    return limit(query, client, respondTo(query, client));
  };
}

/** One message on its way through the responder; the last two fields are filled in as they are read. */
interface Query {
  readonly request: Uint8Array;
  readonly length: number;
  readonly reply: Uint8Array;
  readonly transport: TransportName;
  /** The second word of the header. */
  readonly flags: number;
  question: Question | undefined;
  edns: QueryEdns | undefined;
}

type ReadableQuery = Query & { readonly question: Question };

function isQuery(flags: number): boolean {
  return ((flags >>> 11) & 0xf) === OPCODE.QUERY;
}

/** The response code for a readable message that is refused whatever the name; NOERROR if there is no reason to. */
function refusalOf({ request, flags, question, edns }: ReadableQuery): number {
  if (edns !== undefined && edns.version > 0) return RCODE.BADVERS;
  if (!isQuery(flags)) return RCODE.NOTIMP;
  if (u16(request, 6) !== 0) return RCODE.FORMERR;
  if (edns !== undefined && edns.cookieAt >= 0 && !isCookieLength(edns.cookieLength)) return RCODE.FORMERR;
  if (isMetaType(question.type)) return RCODE.FORMERR;
  if (question.class !== CLASS.IN && question.class !== CLASS.ANY && question.class !== CLASS.CH) return RCODE.REFUSED;
  return isRefusedType(question.type) ? RCODE.REFUSED : RCODE.NOERROR;
}

/** Octets a reply may take (RFC 1035 §4.2, RFC 6891 §6.2.3: less than 512 means 512). */
function replyLimit(transport: TransportName, edns: QueryEdns | undefined): number {
  if (transport === "tcp") return MAX_TCP_MESSAGE_OCTETS;
  if (edns === undefined) return PLAIN_UDP_OCTETS;
  return Math.min(Math.max(edns.udpOctets, PLAIN_UDP_OCTETS), MAX_UDP_REPLY_OCTETS);
}

/** Turns a reply into its header and question with TC set, so that an honest client asks again over TCP. */
function truncate(reply: Uint8Array, question: Question): number {
  reply[2] = (reply[2] as number) | (FLAG.TC >>> 8);
  reply.fill(0, 6, HEADER_OCTETS);
  return question.end;
}

function u16(octets: Uint8Array, at: number): number {
  return ((octets[at] as number) << 8) | (octets[at + 1] as number);
}

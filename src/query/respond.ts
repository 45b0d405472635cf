import { patchAnswer } from "../answers/patch.js";
import type { AnswerTable } from "../answers/table.js";
import {
  CLASS,
  FLAG,
  HEADER_OCTETS,
  MAX_TCP_MESSAGE_OCTETS,
  MAX_UDP_REPLY_OCTETS,
  OPCODE,
  PLAIN_UDP_OCTETS,
  RCODE,
  TYPE,
} from "../wire/constants.js";
import { type QueryCounters, TRANSPORTS, type TransportName } from "./counters.js";
import { parseEdns, parseQuestion, type QueryEdns, type Question } from "./parse.js";

/** Octets of an OPT record without options (RFC 6891 §6.1.2). */
const OPT_OCTETS = 11;

/** What the responder works on; the table is replaced as a whole on reload. */
export interface ResponderState {
  table: AnswerTable;
  /** Until then queries are met with silence, so that a resolver asks the sibling server at once. */
  ready: boolean;
}

/**
 * Answers one message.
 *
 * @param request holds the message in its first `length` octets
 * @param reply where the reply is written; room for 65 535 octets over TCP, 1232 over UDP
 * @returns octets of the reply, 0 for none
 */
export type Respond = (request: Uint8Array, length: number, reply: Uint8Array, transport: TransportName) => number;

/** Types that ask for something other than records of that type, and are not served (RFC 6895 §3.1). */
function isRefusedType(type: number): boolean {
  return type === TYPE.AXFR || type === TYPE.IXFR || type === TYPE.MAILA || type === TYPE.MAILB;
}

/** Types that cannot be asked for at all: they exist for one message only (RFC 6891 §6.1.1, RFC 8945 §4.2). */
function isMetaType(type: number): boolean {
  return type === TYPE.OPT || type === TYPE.TSIG || type === 249 /* TKEY, RFC 2930 */;
}

/** Builds the responder: the ordered list of refusals, then the answer. */
export function createResponder(state: ResponderState, counters: QueryCounters): Respond {
  return (request, length, reply, transport) => {
    if (length < HEADER_OCTETS) {
      counters.dropped("short");
      return 0;
    }
    const flags = ((request[2] as number) << 8) | (request[3] as number);
    if ((flags & FLAG.QR) !== 0) {
      counters.dropped("response");
      return 0;
    }
    reply[0] = request[0] as number;
    reply[1] = request[1] as number;

    const opcode = (flags >>> 11) & 0xf;
    if (opcode !== OPCODE.QUERY) return refuse(request, reply, flags, RCODE.NOTIMP, undefined, undefined, counters);
    if (u16(request, 4) !== 1) return refuse(request, reply, flags, RCODE.FORMERR, undefined, undefined, counters);
    const question = parseQuestion(request, length);
    if (question === undefined) return refuse(request, reply, flags, RCODE.FORMERR, undefined, undefined, counters);
    counters.query(TRANSPORTS.indexOf(transport), question.type);

    const records = u16(request, 6) + u16(request, 8);
    const questionEnd = HEADER_OCTETS + question.nameLength + 4;
    const edns = parseEdns(request, questionEnd, length, records + u16(request, 10));
    if (edns === "malformed" || u16(request, 6) !== 0)
      return refuse(request, reply, flags, RCODE.FORMERR, question, undefined, counters);
    if (edns !== undefined && edns.version > 0)
      return refuse(request, reply, flags, RCODE.BADVERS, question, edns, counters);
    if (isMetaType(question.type)) return refuse(request, reply, flags, RCODE.FORMERR, question, edns, counters);
    const isAnyClass = question.class === CLASS.ANY;
    if ((question.class !== CLASS.IN && !isAnyClass) || isRefusedType(question.type))
      return refuse(request, reply, flags, RCODE.REFUSED, question, edns, counters);
    if (!state.table.find(request, HEADER_OCTETS, question.nameLength, question.type)) {
      return refuse(request, reply, flags, RCODE.REFUSED, question, edns, counters);
    }
    if (!state.ready) {
      counters.dropped("not-ready");
      return 0;
    }

    reply.set(request.subarray(HEADER_OCTETS, questionEnd), HEADER_OCTETS);
    const room = replyLimit(transport, edns) - (edns === undefined ? 0 : OPT_OCTETS);
    const end = patchAnswer(state.table, state.table.found, reply, 0, question.nameLength, flags & FLAG.RD, room);
    // Nobody can be authoritative for all classes at once (RFC 1034 §3.7.1).
    if (isAnyClass) reply[2] = (reply[2] as number) & ~(FLAG.AA >>> 8);
    if (((reply[2] as number) & (FLAG.TC >>> 8)) !== 0) counters.truncated();
    counters.response((reply[3] as number) & 0xf);
    return edns === undefined ? end : appendOpt(reply, end, edns, RCODE.NOERROR);
  };
}

/** Octets a reply may take (RFC 1035 §4.2, RFC 6891 §6.2.3: less than 512 means 512). */
function replyLimit(transport: TransportName, edns: QueryEdns | undefined): number {
  if (transport === "tcp") return MAX_TCP_MESSAGE_OCTETS;
  if (edns === undefined) return PLAIN_UDP_OCTETS;
  return Math.min(Math.max(edns.udpOctets, PLAIN_UDP_OCTETS), MAX_UDP_REPLY_OCTETS);
}

/** A reply without records; it repeats the question where that could be read, and is never longer than the query. */
function refuse(
  request: Uint8Array,
  reply: Uint8Array,
  flags: number,
  rcode: number,
  question: Question | undefined,
  edns: QueryEdns | undefined,
  counters: QueryCounters,
): number {
  counters.response(rcode);
  const end = question === undefined ? HEADER_OCTETS : HEADER_OCTETS + question.nameLength + 4;
  reply.set(request.subarray(HEADER_OCTETS, end), HEADER_OCTETS);
  reply[2] = (FLAG.QR | (flags & (0x7800 | FLAG.RD))) >>> 8;
  reply[3] = rcode & 0xf;
  reply.fill(0, 4, HEADER_OCTETS);
  reply[5] = question === undefined ? 0 : 1;
  return edns === undefined ? end : appendOpt(reply, end, edns, rcode);
}

/** Appends OPT: our UDP size, the upper bits of the response code, version 0, and DO as it came (RFC 6891 §6.1, RFC 3225 §3). */
function appendOpt(reply: Uint8Array, at: number, edns: QueryEdns, rcode: number): number {
  reply.fill(0, at, at + OPT_OCTETS);
  reply[at + 2] = TYPE.OPT;
  reply[at + 3] = MAX_UDP_REPLY_OCTETS >>> 8;
  reply[at + 4] = MAX_UDP_REPLY_OCTETS & 0xff;
  reply[at + 5] = rcode >>> 4;
  if (edns.dnssecOk) reply[at + 7] = 0x80;
  const additional = u16(reply, 10) + 1;
  reply[10] = additional >>> 8;
  reply[11] = additional;
  return at + OPT_OCTETS;
}

function u16(octets: Uint8Array, at: number): number {
  return ((octets[at] as number) << 8) | (octets[at + 1] as number);
}

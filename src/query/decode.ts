import { LookupName } from "../answers/lookup-name.js";
import {
  EDNS_OPTION,
  HEADER_OCTETS,
  MAX_LABEL_OCTETS,
  MAX_NAME_OCTETS,
  OPCODE,
  RECORD_FIXED_OCTETS,
  TYPE,
} from "../wire/constants.js";
import { NO_WORDS } from "../wire/words.js";
import type { Client } from "./client.js";
import { TRANSPORT, type TransportIndex } from "./counters.js";

/** Octets of an option's code and length (RFC 6891 §6.1.2). */
const OPTION_HEAD_OCTETS = 4;

/**
 * One message, decoded. A thread has one of them and fills it anew for each message, so that decoding allocates
 * nothing; all its fields hold until the next message.
 */
export class Query {
  /** Holds the message in `length` octets from `at` on. */
  message: Uint8Array = new Uint8Array(0);
  /** View of `message`, or none (see `wire/words.ts`). */
  words: Int32Array = NO_WORDS;
  at = 0;
  length = 0;
  transport: TransportIndex = TRANSPORT.udp;
  client: Client = { octets: new Uint8Array(4), at: 0, length: 4 };

  /** The second word of the header. */
  flags = 0;
  /** Records that the answer section is said to hold. */
  answerRecords = 0;

  /** Whether there is a question; the fields up to `questionEnd` mean something only then. */
  hasQuestion = false;
  readonly name = new LookupName();
  type = 0;
  class = 0;
  /** Offset from `at` of the end of the question; of the header, without one. */
  questionEnd = HEADER_OCTETS;

  /** Whether there is an OPT record (RFC 6891 §6.1); the fields below mean something only then. */
  hasEdns = false;
  /** Largest UDP reply the client can take, as it says. */
  udpOctets = 0;
  ednsVersion = 0;
  /** DNSSEC OK (RFC 3225). */
  dnssecOk = false;
  /** Where the data of the COOKIE option begin in `message` (RFC 7873 §4), and how many octets they are; -1 without one. */
  cookieAt = -1;
  cookieLength = -1;
  /** The name server identifier is asked for (RFC 5001 §2.1). */
  wantsNsid = false;
  /** The client knows about TCP keepalive (RFC 7828 §3.2.1). */
  wantsKeepalive = false;

  /** Where the TSIG record begins in `message`, which it ends (RFC 8945 §5.1); -1 without one. */
  tsigAt = -1;
}

/** Whether a message's operation is QUERY, the only one there is here. */
export function isQueryOperation({ flags }: Query): boolean {
  return ((flags >>> 11) & 0xf) === OPCODE.QUERY;
}

/**
 * Reads question and OPT of a message whose place and flags stand in `query` already; it has a header at least.
 *
 * Malformed are: more than one question (RFC 9619); a name that is cut off, too long, compressed, or of a reserved
 * label type; a record that is cut off; OPT twice, elsewhere than in the additional section, or with an owner other than
 * the root (RFC 6891 §6.1.1); options that do not fill its data exactly; TSIG elsewhere than at the end (RFC 8945 §5.1);
 * octets behind the last record.
 *
 * @returns whether it is well-formed; if not, the question stands in `query` all the same where it could be read
 */
export function decode(query: Query): boolean {
  const { message, at } = query;
  query.hasQuestion = false;
  query.hasEdns = false;
  query.tsigAt = -1;
  query.questionEnd = HEADER_OCTETS;
  query.answerRecords = u16(message, at + 6);
  const questions = u16(message, at + 4);
  if (questions > 1 || (questions === 1 && !readQuestion(query))) return false;
  if (readRecords(query)) return true;
  query.hasEdns = false;
  return false;
}

function readQuestion(query: Query): boolean {
  const { message, at, length, name } = query;
  const nameEnd = name.read(message, query.words, at + HEADER_OCTETS, at + length);
  if (nameEnd < 0 || nameEnd + 4 > at + length) return false;
  query.hasQuestion = true;
  query.type = u16(message, nameEnd);
  query.class = u16(message, nameEnd + 2);
  query.questionEnd = nameEnd + 4 - at;
  return true;
}

/** Passes over the records behind the question, of which OPT and TSIG alone mean anything to every query. */
function readRecords(query: Query): boolean {
  const { message, at } = query;
  const end = at + query.length;
  const others = query.answerRecords + u16(message, at + 8);
  const records = others + u16(message, at + 10);
  let position = at + query.questionEnd;
  for (let i = 0; i < records; i += 1) {
    const typeAt = endOfOwner(message, position, end);
    if (typeAt < 0 || typeAt + RECORD_FIXED_OCTETS > end) return false;
    const recordEnd = typeAt + RECORD_FIXED_OCTETS + u16(message, typeAt + 8);
    if (recordEnd > end) return false;
    const type = u16(message, typeAt);
    if (type === TYPE.TSIG) {
      if (i !== records - 1 || i < others) return false;
      query.tsigAt = position;
    }
    if (type === TYPE.OPT) {
      const isInPlace = i >= others && !query.hasEdns && message[position] === 0;
      if (!isInPlace || !readOpt(query, typeAt, recordEnd)) return false;
    }
    position = recordEnd;
  }
  return position === end;
}

/** The offset behind a record's owner, which may be compressed; -1 if it is malformed. */
function endOfOwner(message: Uint8Array, at: number, end: number): number {
  for (let i = at; i < end && i < at + MAX_NAME_OCTETS; ) {
    const step = message[i] as number;
    if (step === 0) return i + 1;
    if (step >= 0xc0) return i + 2 <= end ? i + 2 : -1;
    if (step > MAX_LABEL_OCTETS) return -1;
    i += 1 + step;
  }
  return -1;
}

/** Reads an OPT record from its type on; false if the options do not fill its data exactly (RFC 6891 §6.1.2). */
function readOpt(query: Query, typeAt: number, end: number): boolean {
  const { message } = query;
  query.hasEdns = true;
  query.udpOctets = u16(message, typeAt + 2);
  query.ednsVersion = message[typeAt + 5] as number;
  query.dnssecOk = ((message[typeAt + 6] as number) & 0x80) !== 0;
  query.cookieAt = -1;
  query.cookieLength = -1;
  query.wantsNsid = false;
  query.wantsKeepalive = false;
  let position = typeAt + RECORD_FIXED_OCTETS;
  while (position + OPTION_HEAD_OCTETS <= end) {
    const code = u16(message, position);
    const dataAt = position + OPTION_HEAD_OCTETS;
    const length = u16(message, position + 2);
    // Of two COOKIE options the first counts (RFC 7873 §5.2).
    if (code === EDNS_OPTION.COOKIE && query.cookieAt < 0) {
      query.cookieAt = dataAt;
      query.cookieLength = length;
    }
    if (code === EDNS_OPTION.NSID) query.wantsNsid = true;
    if (code === EDNS_OPTION.KEEPALIVE) query.wantsKeepalive = true;
    position = dataAt + length;
  }
  return position === end;
}

/** Two octets as a number, in network order. */
export function u16(octets: Uint8Array, at: number): number {
  return ((octets[at] as number) << 8) | (octets[at + 1] as number);
}

import { EDNS_OPTION, HEADER_OCTETS, MAX_LABEL_OCTETS, MAX_NAME_OCTETS, TYPE } from "../wire/constants.js";

/** What a query carries in its OPT record (RFC 6891 §6.1). */
export interface QueryEdns {
  /** Largest UDP reply the client can take, as it says. */
  readonly udpOctets: number;
  readonly version: number;
  /** DNSSEC OK (RFC 3225). */
  readonly dnssecOk: boolean;
  /** Where the data of the COOKIE option begin (RFC 7873 §4), and how many octets they are; -1 without one. */
  readonly cookieAt: number;
  readonly cookieLength: number;
  /** The name server identifier is asked for (RFC 5001 §2.1). */
  readonly wantsNsid: boolean;
  /** The client knows about TCP keepalive (RFC 7828 §3.2.1). */
  readonly wantsKeepalive: boolean;
}

/** The question: one name, one type, one class. */
export interface Question {
  /** Octets of the name, root label included; it stands right behind the header. */
  readonly nameLength: number;
  /** Offset behind it in the message. */
  readonly end: number;
  readonly type: number;
  readonly class: number;
}

/** The end of a name at `at`, or -1 if it is cut off, too long, compressed, or of a reserved label type. */
function endOfName(message: Uint8Array, at: number, length: number): number {
  const limit = Math.min(length, at + MAX_NAME_OCTETS);
  for (let i = at; i < limit; ) {
    const step = message[i] as number;
    if (step === 0) return i + 1;
    if (step > MAX_LABEL_OCTETS) return -1;
    i += 1 + step;
  }
  return -1;
}

/** Reads the question behind the header; undefined if it is malformed. A name there cannot be compressed. */
export function parseQuestion(message: Uint8Array, length: number): Question | undefined {
  const end = endOfName(message, HEADER_OCTETS, length);
  if (end < 0 || end + 4 > length) return undefined;
  return { nameLength: end - HEADER_OCTETS, end: end + 4, type: u16(message, end), class: u16(message, end + 2) };
}

/**
 * Reads the records behind the question, of which only OPT means anything to an authoritative server.
 *
 * @param at behind the question
 * @param others how many records the header announces in the answer and authority sections
 * @param additional how many in the additional section, the only one for OPT
 * @returns "malformed" if a record is cut off, OPT comes twice, elsewhere, or with an owner other than the root
 *   (RFC 6891 §6.1.1), or octets follow the last record; undefined without OPT
 */
export function parseEdns(
  message: Uint8Array,
  at: number,
  length: number,
  others: number,
  additional: number,
): QueryEdns | undefined | "malformed" {
  let edns: QueryEdns | undefined;
  let position = at;
  for (let i = 0; i < others + additional; i += 1) {
    const isRoot = message[position] === 0;
    const end = skipOwner(message, position, length);
    if (end < 0 || end + 10 > length) return "malformed";
    const dataAt = end + 10;
    const dataLength = u16(message, end + 8);
    if (dataAt + dataLength > length) return "malformed";
    if (u16(message, end) === TYPE.OPT) {
      if (i < others || edns !== undefined || !isRoot) return "malformed";
      edns = readOpt(message, end, dataAt + dataLength);
      if (edns === undefined) return "malformed";
    }
    position = dataAt + dataLength;
  }
  return position === length ? edns : "malformed";
}

/** The end of a record's owner, which may be compressed. */
function skipOwner(message: Uint8Array, at: number, length: number): number {
  for (let i = at; i < length && i < at + MAX_NAME_OCTETS; ) {
    const step = message[i] as number;
    if (step === 0) return i + 1;
    if (step >= 0xc0) return i + 2 <= length ? i + 2 : -1;
    if (step > MAX_LABEL_OCTETS) return -1;
    i += 1 + step;
  }
  return -1;
}

/** Reads an OPT record from its type on; undefined if the options do not fill its data exactly (RFC 6891 §6.1.2). */
function readOpt(message: Uint8Array, at: number, end: number): QueryEdns | undefined {
  let cookieAt = -1;
  let cookieLength = -1;
  let wantsNsid = false;
  let wantsKeepalive = false;
  let position = at + 10;
  while (position + 4 <= end) {
    const code = u16(message, position);
    const length = u16(message, position + 2);
    // Of two COOKIE options the first counts (RFC 7873 §5.2).
    if (code === EDNS_OPTION.COOKIE && cookieAt < 0) {
      cookieAt = position + 4;
      cookieLength = length;
    }
    if (code === EDNS_OPTION.NSID) wantsNsid = true;
    if (code === EDNS_OPTION.KEEPALIVE) wantsKeepalive = true;
    position += 4 + length;
  }
  if (position !== end) return undefined;
  return {
    udpOctets: u16(message, at + 2),
    version: message[at + 5] as number,
    dnssecOk: ((message[at + 6] as number) & 0x80) !== 0,
    cookieAt,
    cookieLength,
    wantsNsid,
    wantsKeepalive,
  };
}

function u16(message: Uint8Array, at: number): number {
  return ((message[at] as number) << 8) | (message[at + 1] as number);
}

import { readReply } from "../client/reply.js";
import { CLASS, FLAG, HEADER_OCTETS, OPCODE, RECORD_FIXED_OCTETS, TYPE } from "../wire/constants.js";
import { encodeSections, QUESTION_TAIL_OCTETS } from "../wire/message.js";
import { lowerName, type Name, nameOctets, readName } from "../wire/name.js";
import type { ResourceRecord } from "../wire/rdata.js";
import { readTsig, signMessage, type TsigKey, tsigOctets, verifyTsig } from "../wire/tsig.js";

/** A message to a secondary, ready to be sent. */
export interface OutgoingMessage {
  readonly octets: Uint8Array;
  /** What the reply must fit. */
  readonly expected: ExpectedReply;
}

/** What is known of a reply before it comes. */
export interface ExpectedReply {
  readonly id: number;
  readonly zone: Name;
  readonly opcode: number;
  /** Absent: the message was not signed. */
  readonly signature?: { readonly key: TsigKey; readonly mac: Uint8Array };
}

/** Who signs a message, and when. */
export interface MessageSigner {
  readonly key: TsigKey;
  /** Seconds since 1970. */
  readonly nowSeconds: number;
}

/** What a secondary has answered. */
export interface SecondaryReply {
  /** `NOERROR`, `REFUSED`, … */
  readonly rcode: string;
  /** Of the zone, if the answer is authoritative and holds its SOA. */
  readonly serial?: number;
}

/** NOTIFY with the SOA as a hint (RFC 1996 §3.7). */
export function notifyMessage(id: number, soa: ResourceRecord, signer?: MessageSigner): OutgoingMessage {
  const { octets } = encodeSections(soa.name, { answer: [soa], authority: [], additional: [] });
  return message({ id, zone: soa.name, opcode: OPCODE.NOTIFY, flags: FLAG.AA, answer: octets }, signer);
}

/** A query for the SOA of a zone, not to be resolved. */
export function soaQuery(id: number, zone: Name, signer?: MessageSigner): OutgoingMessage {
  return message({ id, zone, opcode: OPCODE.QUERY, flags: 0, answer: NOTHING }, signer);
}

interface Parts {
  readonly id: number;
  readonly zone: Name;
  readonly opcode: number;
  readonly flags: number;
  /** One record or none. */
  readonly answer: Uint8Array;
}

const NOTHING = new Uint8Array(0);

/** Where the operation stands in the header's second word (RFC 1035 §4.1.1). */
const OPCODE_SHIFT = 11;
const OPCODE_MASK = 0xf;

function message({ id, zone, opcode, flags, answer }: Parts, signer: MessageSigner | undefined): OutgoingMessage {
  const questionEnd = HEADER_OCTETS + zone.length + QUESTION_TAIL_OCTETS;
  const length = questionEnd + answer.length;
  const octets = new Uint8Array(length + (signer === undefined ? 0 : tsigOctets(signer.key)));
  const view = new DataView(octets.buffer);
  [id, (opcode << OPCODE_SHIFT) | flags, 1, answer.length > 0 ? 1 : 0].forEach((value, index) => {
    view.setUint16(index * 2, value);
  });
  octets.set(nameOctets(zone), HEADER_OCTETS);
  view.setUint16(questionEnd - QUESTION_TAIL_OCTETS, TYPE.SOA);
  view.setUint16(questionEnd - 2, CLASS.IN);
  octets.set(answer, questionEnd);
  const expected = { id, zone, opcode };
  if (signer === undefined) return { octets, expected };
  const { key, nowSeconds } = signer;
  const { mac } = signMessage(octets, length, { key, timeSigned: nowSeconds });
  return { octets, expected: { ...expected, signature: { key, mac } } };
}

/**
 * Reads what came from a secondary.
 *
 * @param nowSeconds seconds since 1970
 * @returns undefined if it is no reply to what was sent, or one without error whose signature is missing or wrong. Errors need
 *   none: a server that does not know the key cannot sign (RFC 8945 §5.3.2)
 */
export function readSecondaryReply(
  octets: Uint8Array,
  expected: ExpectedReply,
  nowSeconds: number,
): SecondaryReply | undefined {
  const { id, zone, opcode, signature } = expected;
  if (octets.length < HEADER_OCTETS) return undefined;
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  if (view.getUint16(0) !== id) return undefined;
  const flags = view.getUint16(2);
  if ((flags & FLAG.QR) === 0 || ((flags >>> OPCODE_SHIFT) & OPCODE_MASK) !== opcode) return undefined;
  try {
    const { rcode, aa, question, answers } = readReply(octets);
    if (question !== undefined && lowerName(question.name) !== lowerName(zone)) return undefined;
    if (rcode !== "NOERROR") return { rcode };
    if (signature !== undefined && !isSigned(octets, signature, nowSeconds)) return undefined;
    const soa = answers.find(({ type }) => type === "SOA");
    const serial = Number(soa?.data.split(" ")[2]);
    return { rcode, ...(aa && Number.isInteger(serial) ? { serial } : {}) };
  } catch {
    return undefined;
  }
}

function isSigned(
  octets: Uint8Array,
  { key, mac }: NonNullable<ExpectedReply["signature"]>,
  nowSeconds: number,
): boolean {
  const record = readTsig(octets, lastRecordAt(octets));
  if (record === undefined) return false;
  return verifyTsig(octets, record, new Map([[key.name, key]]), nowSeconds, mac).kind === "valid";
}

/** Where the last record of a well-formed message begins. @throws NameError, RangeError */
function lastRecordAt(octets: Uint8Array): number {
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  let at = HEADER_OCTETS;
  for (let left = view.getUint16(4); left > 0; left -= 1) at = readName(octets, at).end + QUESTION_TAIL_OCTETS;
  let last = at;
  for (let left = view.getUint16(6) + view.getUint16(8) + view.getUint16(10); left > 0; left -= 1) {
    last = at;
    const { end } = readName(octets, at);
    at = end + RECORD_FIXED_OCTETS + view.getUint16(end + RECORD_FIXED_OCTETS - 2);
  }
  return last;
}

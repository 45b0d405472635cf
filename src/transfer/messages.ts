import {
  CLASS,
  FLAG,
  HEADER_OCTETS,
  MAX_TCP_MESSAGE_OCTETS,
  MAX_UDP_REPLY_OCTETS,
  OPT_OCTETS,
  RCODE,
  TYPE,
} from "../wire/constants.js";
import { type Name, nameOctets } from "../wire/name.js";
import type { ResourceRecord } from "../wire/rdata.js";
import { RecordWriter } from "../wire/record-writer.js";
import { signMessage, type TsigKey, tsigOctets } from "../wire/tsig.js";
import type { ZoneDifference } from "./journal.js";

/** What the messages of one transfer have in common. */
export interface TransferReply {
  /** Of the request. */
  readonly id: number;
  /** The zone, in the letter case of the request. */
  readonly zone: Name;
  /** AXFR or IXFR. */
  readonly type: number;
  /** Recursion desired, as it was asked. */
  readonly rd: boolean;
  /** The request had EDNS: then so has the first message (RFC 5936 §2.2.5). */
  readonly hasEdns: boolean;
  /** Default: no error. */
  readonly rcode?: number;
  /** Absent: the request was not signed. */
  readonly signature?: {
    readonly key: TsigKey;
    /** MAC of the request. */
    readonly mac: Uint8Array;
    /** Seconds since 1970, asked for each message. */
    nowSeconds(): number;
  };
}

/** Type and class of a question (RFC 1035 §4.1.2). */
const QUESTION_TAIL_OCTETS = 4;

/** An OPT record without options (RFC 6891 §6.1.2). */
const OPT = new Uint8Array(OPT_OCTETS);
OPT.set([TYPE.OPT, MAX_UDP_REPLY_OCTETS >>> 8, MAX_UDP_REPLY_OCTETS & 0xff], 2);

const writer = new RecordWriter();

/**
 * The messages of a transfer: as many records in each as it holds, names compressed; the question in the first one only
 * (RFC 5936 §2.2.1); each one signed, if the request was (RFC 8945 §5.3.1). A message is encoded when it is asked for.
 *
 * @param maxOctets of a message, signature included. Default: what TCP can carry
 * @throws Error if a record fits in no message
 */
export function* transferMessages(
  reply: TransferReply,
  records: Iterable<ResourceRecord>,
  maxOctets: number = MAX_TCP_MESSAGE_OCTETS,
): Generator<Uint8Array> {
  const { signature } = reply;
  const signed = signature === undefined ? 0 : tsigOctets(signature.key);
  const waiting = records[Symbol.iterator]();
  let priorMac = signature?.mac;
  let next = waiting.next();
  for (let isFirst = true; isFirst || next.done !== true; isFirst = false) {
    const question = isFirst ? questionOctets(reply) : NOTHING;
    const opt = isFirst && reply.hasEdns ? OPT : NOTHING;
    const base = HEADER_OCTETS + question.length;
    const room = maxOctets - base - opt.length - signed;
    writer.begin(base, isFirst ? reply.zone : undefined);
    let count = 0;
    while (next.done !== true && count < 0xffff) {
      const already = writer.length;
      writer.record(next.value);
      if (writer.length > room) {
        writer.cutTo(already);
        break;
      }
      count += 1;
      next = waiting.next();
    }
    if (count === 0 && next.done !== true) throw new Error("a record is too long for a message");
    const length = base + writer.length + opt.length;
    const message = new Uint8Array(length + signed);
    message.set(headerOctets(reply, isFirst, count, opt.length > 0));
    message.set(question, HEADER_OCTETS);
    message.set(writer.room.subarray(0, writer.length), base);
    message.set(opt, base + writer.length);
    if (signature !== undefined) {
      const { key } = signature;
      const signing = { key, timeSigned: signature.nowSeconds(), isLater: !isFirst, ...(priorMac && { priorMac }) };
      priorMac = signMessage(message, length, signing).mac;
    }
    yield message;
  }
}

/** A reply without records, for a transfer that was granted and cannot be made. */
export function errorMessage(reply: TransferReply, rcode: number): Uint8Array {
  const [message = NOTHING] = transferMessages({ ...reply, rcode }, []);
  return message;
}

/** The records of a full transfer (RFC 5936 §2.2): the SOA at both ends. */
export function* fullTransfer(soa: ResourceRecord, records: Iterable<ResourceRecord>): Generator<ResourceRecord> {
  yield soa;
  yield* records;
  yield soa;
}

/** The records of an incremental transfer in one step (RFC 1995 §4). */
export function* incrementalTransfer(difference: ZoneDifference): Generator<ResourceRecord> {
  const { soaBefore, soaAfter, deleted, added } = difference;
  yield soaAfter;
  yield soaBefore;
  yield* deleted;
  yield soaAfter;
  yield* added;
  yield soaAfter;
}

const NOTHING = new Uint8Array(0);

function questionOctets({ zone, type }: TransferReply): Uint8Array {
  const octets = new Uint8Array(zone.length + QUESTION_TAIL_OCTETS);
  octets.set(nameOctets(zone));
  const view = new DataView(octets.buffer);
  view.setUint16(zone.length, type);
  view.setUint16(zone.length + 2, CLASS.IN);
  return octets;
}

function headerOctets(reply: TransferReply, isFirst: boolean, answers: number, hasOpt: boolean): Uint8Array {
  const { id, rd, rcode = RCODE.NOERROR } = reply;
  const octets = new Uint8Array(HEADER_OCTETS);
  const view = new DataView(octets.buffer);
  [id, FLAG.QR | FLAG.AA | (rd ? FLAG.RD : 0) | rcode, isFirst ? 1 : 0, answers, 0, hasOpt ? 1 : 0].forEach(
    (value, index) => {
      view.setUint16(index * 2, value);
    },
  );
  return octets;
}

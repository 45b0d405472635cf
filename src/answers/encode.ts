import { FLAG, HEADER_OCTETS } from "../wire/constants.js";
import { copyOctets } from "../wire/words.js";
import { ANSWER } from "./codec.js";
import { ordersFor, rotationsOf } from "./rotation.js";
import type { AnswerTable } from "./table.js";

/** Where a reply is written: octets from `at` on, and the same memory by words where it has such a view. */
export interface ReplyPlace {
  octets: Uint8Array;
  /** `NO_WORDS` without one. */
  words: Int32Array;
  at: number;
}

/** The target of a compression pointer: its lower 14 bits (RFC 1035 §4.1.4). */
const POINTER_MASK = 0x3fff;

/**
 * Writes a compiled answer into a reply whose id and question stand already: flags, counts and body, with the serial
 * of the moment, the pointers moved and the addresses in the rotation that is due.
 *
 * @param answer offset in `table.answers`, from {@link AnswerTable.find}
 * @param nameLength octets of the question's name, root label included
 * @param requestFlags bits of the request to copy (RD)
 * @param room octets the reply may take, what follows the body (OPT) already taken off
 * @returns octets of the reply so far; if the answer does not fit even without its optional additional data, those of
 *   header and question, with TC set and no records: a whole RRset or none (RFC 2181 §9)
 */
export function encodeAnswer(
  table: AnswerTable,
  answer: number,
  reply: ReplyPlace,
  nameLength: number,
  requestFlags: number,
  room: number,
): number {
  const { answers } = table;
  const { octets, words } = reply;
  const questionEnd = HEADER_OCTETS + nameLength + 4;
  const at = reply.at + questionEnd;
  const flags = (answers[answer + ANSWER.flags] as number) | requestFlags | FLAG.QR;
  const rotating = answers[answer + ANSWER.rotationCount] as number;
  // Records of the rotated block that are not sent, and their octets.
  const unsent = rotating - (answers[answer + ANSWER.rotationSent] as number);
  const cut = unsent * (answers[answer + ANSWER.rotationStride] as number);
  let length = answers[answer + ANSWER.bodyLength] as number;
  let additionalCount = answers[answer + ANSWER.additionalCount] as number;
  if (questionEnd + length - cut > room) {
    length = answers[answer + ANSWER.requiredLength] as number;
    additionalCount = answers[answer + ANSWER.requiredAdditional] as number;
    if (questionEnd + length - cut > room) {
      writeHeader(reply, flags | FLAG.TC, 0, 0, 0);
      return questionEnd;
    }
  }
  const answerCount = (answers[answer + ANSWER.answerCount] as number) - unsent;
  writeHeader(reply, flags, answerCount, answers[answer + ANSWER.authorityCount] as number, additionalCount);
  if (rotating > 1) {
    writeRotated(table, answer, reply, at, length, cut);
  } else {
    const bodyAt = answers[answer + ANSWER.bodyAt] as number;
    copyOctets(table.octets, table.words, bodyAt, octets, words, at, length);
  }
  writeSerial(table, answer, octets, at, length, cut);
  movePointers(table, answer, octets, at, length, cut, nameLength);
  return questionEnd + length - cut;
}

/**
 * Writes the header of a reply with one question, its id apart.
 *
 * @param flags the header's second 16-bit word
 */
export function writeHeader(
  { octets, at }: ReplyPlace,
  flags: number,
  answers: number,
  authorities: number,
  additionals: number,
): void {
  octets[at + 2] = flags >>> 8;
  octets[at + 3] = flags;
  octets[at + 4] = 0;
  octets[at + 5] = 1;
  octets[at + 6] = answers >>> 8;
  octets[at + 7] = answers;
  octets[at + 8] = authorities >>> 8;
  octets[at + 9] = authorities;
  octets[at + 10] = additionals >>> 8;
  octets[at + 11] = additionals;
}

/** Offset in `body` of the end of the rotated block; 0 without one. */
function blockEnd({ answers }: AnswerTable, answer: number): number {
  const count = answers[answer + ANSWER.rotationCount] as number;
  return (answers[answer + ANSWER.rotationAt] as number) + count * (answers[answer + ANSWER.rotationStride] as number);
}

/** Writes the serial of the moment, where the answer holds it within its first `length` octets. */
function writeSerial(
  table: AnswerTable,
  answer: number,
  reply: Uint8Array,
  at: number,
  length: number,
  cut: number,
): void {
  const { answers } = table;
  const serialAt = answers[answer + ANSWER.serialAt] as number;
  if (serialAt < 0 || serialAt >= length) return;
  const serial = table.serials[answers[answer + ANSWER.zone] as number] as number;
  const to = at + serialAt - (cut > 0 && serialAt >= blockEnd(table, answer) ? cut : 0);
  reply[to] = serial >>> 24;
  reply[to + 1] = serial >>> 16;
  reply[to + 2] = serial >>> 8;
  reply[to + 3] = serial;
}

/**
 * Adds to every listed pointer what the question's name is longer than the one compiled for, and takes off what was
 * left out of the rotated block in front of its target.
 */
function movePointers(
  table: AnswerTable,
  answer: number,
  reply: Uint8Array,
  at: number,
  length: number,
  cut: number,
  nameLength: number,
): void {
  const { answers, octets } = table;
  const delta = nameLength - (answers[answer + ANSWER.baseLength] as number);
  if (delta === 0 && cut === 0) return;
  const end = cut === 0 ? length : blockEnd(table, answer);
  const bodyTarget = HEADER_OCTETS + (answers[answer + ANSWER.baseLength] as number) + 4;
  const listAt = (answers[answer + ANSWER.bodyAt] as number) + (answers[answer + ANSWER.bodyLength] as number);
  const listEnd = listAt + 2 * (answers[answer + ANSWER.pointerCount] as number);
  const sentFrom = end - cut;
  for (let i = listAt; i < listEnd; i += 2) {
    const offset = ((octets[i] as number) << 8) | (octets[i + 1] as number);
    if (offset >= length) continue;
    // Of a pointer inside the block there is one in each record that is sent, and all of them point in front of it.
    if (offset >= sentFrom && offset < end) continue;
    const to = at + (offset >= end ? offset - cut : offset);
    const pointer = ((reply[to] as number) << 8) | (reply[to + 1] as number);
    const isBehind = cut > 0 && (pointer & POINTER_MASK) - bodyTarget >= end;
    const moved = pointer + delta - (isBehind ? cut : 0);
    reply[to] = moved >>> 8;
    reply[to + 1] = moved;
  }
}

/** Copies what precedes the rotated block, the records of the rotation that is due, and what follows the block. */
function writeRotated(
  table: AnswerTable,
  answer: number,
  reply: ReplyPlace,
  at: number,
  length: number,
  cut: number,
): void {
  const { answers } = table;
  const bodyAt = answers[answer + ANSWER.bodyAt] as number;
  const before = answers[answer + ANSWER.rotationAt] as number;
  const count = answers[answer + ANSWER.rotationCount] as number;
  const stride = answers[answer + ANSWER.rotationStride] as number;
  const sent = answers[answer + ANSWER.rotationSent] as number;
  const rotations = rotationsOf(count, sent);
  let rotation = answers[answer + ANSWER.nextRotation] as number;
  // It begins anywhere, and may be of an answer that had more of them.
  if (rotation >= rotations) rotation %= rotations;
  answers[answer + ANSWER.nextRotation] = rotation + 1 === rotations ? 0 : rotation + 1;
  if (before > 0) copyOctets(table.octets, table.words, bodyAt, reply.octets, reply.words, at, before);
  copyRecords(table, bodyAt + before, reply, at + before, count, stride, sent, rotation);
  const end = before + count * stride;
  if (end < length) {
    const from = bodyAt + end;
    copyOctets(table.octets, table.words, from, reply.octets, reply.words, at + end - cut, length - end);
  }
}

/**
 * Copies `sent` of the `count` records at `from`. Where not all are sent, those of one reply are consecutive: a window
 * that slides on by one record with every reply, and inside which the order changes.
 */
function copyRecords(
  table: AnswerTable,
  from: number,
  reply: ReplyPlace,
  at: number,
  count: number,
  stride: number,
  sent: number,
  rotation: number,
): void {
  const window = sent < count ? rotation % count : 0;
  const row = sent < count ? Math.floor(rotation / count) : rotation;
  const orders = ordersFor(sent);
  const byWords = ((stride | from) & 3) === 0 && table.words.length > 0 && reply.words.length > 0;
  if (byWords && window === 0 && orders.length > 0) {
    copyRecordWords(table.words, from >>> 2, reply.words, at, stride >>> 2, sent, orders, row * sent);
    return;
  }
  const { octets } = table;
  let to = at;
  for (let i = 0; i < sent; i += 1) {
    let index = window + (orders.length === 0 ? (row + i) % sent : (orders[row * sent + i] as number));
    if (index >= count) index -= count;
    const record = from + index * stride;
    for (let j = 0; j < stride; j += 1) reply.octets[to + j] = octets[record + j] as number;
    to += stride;
  }
}

/** Copies records of `length` words each, in the order that stands at `row` of `orders`, as `copyWords` copies one. */
function copyRecordWords(
  from: Int32Array,
  source: number,
  to: Int32Array,
  toAt: number,
  length: number,
  sent: number,
  orders: Uint8Array,
  row: number,
): void {
  const shift = (toAt & 3) << 3;
  let target = toAt >>> 2;
  let carry = (to[target] as number) & ((1 << shift) - 1);
  for (let i = row; i < row + sent; i += 1) {
    const record = source + (orders[i] as number) * length;
    for (let j = record; j < record + length; j += 1) {
      const word = from[j] as number;
      to[target] = carry | (word << shift);
      // In two steps, since a shift by 32 is none.
      carry = (word >>> 8) >>> (24 - shift);
      target += 1;
    }
  }
  if (target < to.length) to[target] = carry;
}

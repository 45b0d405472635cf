import { HEADER_OCTETS } from "../wire/constants.js";
import { balancedOrders } from "./rotation.js";
import { ANSWER, type AnswerTable } from "./table.js";

/** Above this many records the balanced orders would take more memory than they are worth: they are rotated. */
const MAX_BALANCED = 64;

/** Balanced orders by number of records, made when first needed. */
const ORDERS: (Uint8Array | undefined)[] = Array.from({ length: MAX_BALANCED + 1 });

/**
 * Writes a compiled answer into a reply whose header and question stand already: flags, counts and body, with the
 * serial of the moment, the pointers moved and the addresses in the next order.
 *
 * @param answer offset in `table.answers`, from {@link AnswerTable.find}
 * @param reply holds the reply from `start` on, with room for `room` octets there
 * @param nameLength octets of the question's name, root label included
 * @param requestFlags bits of the request to copy (RD)
 * @param room octets the reply may take, what follows the body (OPT) already taken off
 * @returns the offset from `start` of the end of the body; if it does not fit even without its optional additional data, the end of the
 *   question, with TC set and no records: a whole RRset or none (RFC 2181 §9)
 */
export function patchAnswer(
  table: AnswerTable,
  answer: number,
  reply: Uint8Array,
  start: number,
  nameLength: number,
  requestFlags: number,
  room: number,
): number {
  const { answers, octets } = table;
  const questionEnd = HEADER_OCTETS + nameLength + 4;
  const at = start + questionEnd;
  const bodyAt = answers[answer + ANSWER.bodyAt] as number;
  const rotationCount = answers[answer + ANSWER.rotationCount] as number;
  let length = answers[answer + ANSWER.bodyLength] as number;
  let answerCount = answers[answer + ANSWER.answerCount] as number;
  let additionalCount = answers[answer + ANSWER.additionalCount] as number;
  let flags = (answers[answer + ANSWER.flags] as number) | requestFlags | 0x8000;
  if (rotationCount > 0) {
    const left = rotationCount - (answers[answer + ANSWER.rotationSent] as number);
    answerCount -= left;
    length -= left * (answers[answer + ANSWER.rotationStride] as number);
  }
  if (questionEnd + length > room) {
    length = answers[answer + ANSWER.requiredLength] as number;
    additionalCount = answers[answer + ANSWER.requiredAdditional] as number;
    if (questionEnd + length > room || rotationCount > 0) {
      flags |= 0x0200;
      writeHeader(reply, start, flags, 0, 0, 0);
      return questionEnd;
    }
  }
  writeHeader(reply, start, flags, answerCount, answers[answer + ANSWER.authorityCount] as number, additionalCount);

  if (rotationCount > 1) {
    writeRotated(table, answer, reply, at);
  } else {
    for (let i = 0; i < length; i += 1) reply[at + i] = octets[bodyAt + i] as number;
  }
  const serialAt = answers[answer + ANSWER.serialAt] as number;
  if (serialAt >= 0 && serialAt < length) {
    const serial = table.serials[answers[answer + ANSWER.zone] as number] as number;
    reply[at + serialAt] = serial >>> 24;
    reply[at + serialAt + 1] = serial >>> 16;
    reply[at + serialAt + 2] = serial >>> 8;
    reply[at + serialAt + 3] = serial;
  }
  movePointers(table, answer, reply, at, length, nameLength);
  return questionEnd + length;
}

function writeHeader(
  reply: Uint8Array,
  start: number,
  flags: number,
  answers: number,
  authorities: number,
  additionals: number,
): void {
  reply[start + 2] = flags >>> 8;
  reply[start + 3] = flags;
  reply[start + 4] = 0;
  reply[start + 5] = 1;
  reply[start + 6] = answers >>> 8;
  reply[start + 7] = answers;
  reply[start + 8] = authorities >>> 8;
  reply[start + 9] = authorities;
  reply[start + 10] = additionals >>> 8;
  reply[start + 11] = additionals;
}

/** Adds to every listed pointer what the question's name is longer than the one compiled for. */
function movePointers(
  table: AnswerTable,
  answer: number,
  reply: Uint8Array,
  at: number,
  length: number,
  nameLength: number,
): void {
  const { answers, octets } = table;
  const delta = nameLength - (answers[answer + ANSWER.baseLength] as number);
  if (delta === 0) return;
  const listAt = (answers[answer + ANSWER.bodyAt] as number) + (answers[answer + ANSWER.bodyLength] as number);
  const listEnd = listAt + 2 * (answers[answer + ANSWER.pointerCount] as number);
  for (let i = listAt; i < listEnd; i += 2) {
    const offset = ((octets[i] as number) << 8) | (octets[i + 1] as number);
    if (offset >= length) continue;
    const moved = (((reply[at + offset] as number) << 8) | (reply[at + offset + 1] as number)) + delta;
    reply[at + offset] = moved >>> 8;
    reply[at + offset + 1] = moved;
  }
}

/** Copies what precedes the addresses, then the addresses in the order whose turn it is. They end the answer. */
function writeRotated(table: AnswerTable, answer: number, reply: Uint8Array, at: number): void {
  const { answers, octets } = table;
  const bodyAt = answers[answer + ANSWER.bodyAt] as number;
  const before = answers[answer + ANSWER.rotationAt] as number;
  const count = answers[answer + ANSWER.rotationCount] as number;
  const stride = answers[answer + ANSWER.rotationStride] as number;
  const sent = answers[answer + ANSWER.rotationSent] as number;
  for (let i = 0; i < before; i += 1) reply[at + i] = octets[bodyAt + i] as number;
  const orders = count <= MAX_BALANCED ? ordersOf(count) : undefined;
  const turn = (answers[answer + ANSWER.turn] as number) % ordersIn(count);
  answers[answer + ANSWER.turn] = turn + 1;
  const row = orders === undefined ? turn : turn * count;
  let to = at + before;
  for (let i = 0; i < sent; i += 1) {
    const index = orders === undefined ? (row + i) % count : (orders[row + i] as number);
    const from = bodyAt + before + index * stride;
    for (let j = 0; j < stride; j += 1) reply[to + j] = octets[from + j] as number;
    to += stride;
  }
}

/** How many orders an answer with `count` records to reorder takes in turn; 1 where there is nothing to reorder. */
export function ordersIn(count: number): number {
  if (count < 2) return 1;
  return count <= MAX_BALANCED ? ordersOf(count).length / count : count;
}

function ordersOf(count: number): Uint8Array {
  const known = ORDERS[count];
  if (known !== undefined) return known;
  const orders = balancedOrders(count);
  ORDERS[count] = orders;
  return orders;
}

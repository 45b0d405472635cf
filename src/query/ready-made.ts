import { endianness } from "node:os";
import { ordersIn } from "../answers/patch.js";
import { ANSWER, type AnswerTable } from "../answers/table.js";
import { CLASS, HEADER_OCTETS, TYPE } from "../wire/constants.js";
import type { QueryCounters } from "./counters.js";
import { NOT_FAST, type RespondFast } from "./fast.js";
import type { ResponderState } from "./respond.js";

/**
 * Whole replies for questions that were asked before, one for each order of their addresses. A question is compared
 * and a reply copied by 32-bit words: what takes 240 ns octet by octet takes 60 (measured on one core at 3 GHz, three
 * addresses).
 *
 * Only names that exist are kept, so that questions for random names push nothing out. Everything is forgotten when
 * an answer changes.
 */

/** Words of a question that is kept: names to 68 octets, longer than any that people write. */
const KEY_WORDS = 18;

/** Longest reply that is kept: what every client takes over UDP, so its size needs no second thought. */
const MAX_REPLY_OCTETS = 512;

/** Orders that are kept of one reply. */
const MAX_ORDERS = 32;

/** Places for questions; each takes one. */
const ENTRIES = 1 << 14;

/** Words for replies, 8 MiB. Pages that are never written cost nothing. */
const REPLY_WORDS = 1 << 21;

/** Words of an entry. */
const ENTRY = {
  generation: 0,
  hash: 1,
  /** Length of the question in octets, and the kind of OPT record in the bits above. */
  shape: 2,
  type: 3,
  /** Offset in the table's `answers`. */
  answer: 4,
  /** Offset in `replies` of the first order. */
  replyAt: 5,
  /** Words from the one in which the question ends to the end of the reply. */
  replyWords: 6,
  orders: 7,
  /** A bit for each order whose reply is there. */
  filled: 8,
  replyLength: 9,
  /** Header words of the reply, the first without id and RD. */
  header: 10,
  key: 13,
  words: 32,
} as const;

/** Octets of an OPT record without options (RFC 6891 §6.1.2). */
const OPT_OCTETS = 11;

/** How the request ends: nothing behind the question, or OPT without options, with DO or without. */
const KIND = { plain: 0, opt: 1, optDnssec: 2 } as const;

/** The second and third word of a query with one question, and none or one additional record; little-endian. */
const ONE_QUESTION = 0x0000_0100;
const ONE_ADDITIONAL = 0x0100_0000;

/** Bits of the first word, above the id, that must be clear: all but RD, AD and CD. */
const UNUSUAL_FLAGS = 0xcffe_0000 | 0;

/** RD in the first word. */
const RD = 0x0001_0000;

/** Masks for the octets of a word that belong to a question that ends in it, by their number. */
const FIRST_OCTETS = Int32Array.of(0, 0xff, 0xffff, 0xff_ffff);

/** Index of the transport in the counters. */
const UDP = 0;

/**
 * Puts the store of ready-made replies in front of the fast path. Octets are the same with it and without.
 *
 * @param receive the buffer that requests will be in, at offsets divisible by 4
 * @param send the buffer that replies will be written to, likewise
 * @param capacity words for replies, more than one reply in all its orders takes; default 8 MiB of them
 */
export function createReadyMade(
  state: ResponderState,
  counters: QueryCounters,
  respondFast: RespondFast,
  receive: Uint8Array,
  send: Uint8Array,
  capacity = REPLY_WORDS,
): (at: number, length: number, replyAt: number) => number {
  if (endianness() !== "LE") return (at, length, replyAt) => respondFast(receive, at, length, send, replyAt);
  const requestWords = new Int32Array(receive.buffer, receive.byteOffset, receive.length >>> 2);
  const replyWords = new Int32Array(send.buffer, send.byteOffset, send.length >>> 2);
  const entries = new Int32Array(ENTRIES * ENTRY.words);
  const replies = new Int32Array(capacity);
  const key = new Int32Array(KEY_WORDS);
  let used = 0;
  let generation = 1;
  let table: AnswerTable | undefined;
  let version = -1;

  function forget(): void {
    table = state.table;
    version = table.version;
    used = 0;
    generation += 1;
  }

  /** What kind of query a request is, as {@link KIND}; -1 for one that is not looked up. */
  function kindOf(at: number, length: number): number {
    const word = at >>> 2;
    if (((requestWords[word] as number) & UNUSUAL_FLAGS) !== 0 || requestWords[word + 1] !== ONE_QUESTION) return -1;
    const additional = requestWords[word + 2];
    if (additional === 0) return KIND.plain;
    if (additional !== ONE_ADDITIONAL) return -1;
    // The question that is compared below tells where OPT begins; here it is only read from the end.
    const opt = at + length - OPT_OCTETS;
    const isBare =
      receive[opt] === 0 &&
      receive[opt + 1] === 0 &&
      receive[opt + 2] === TYPE.OPT &&
      receive[opt + 6] === 0 &&
      receive[opt + 9] === 0 &&
      receive[opt + 10] === 0;
    if (!isBare) return -1;
    return ((receive[opt + 7] as number) & 0x80) === 0 ? KIND.opt : KIND.optDnssec;
  }

  /** Reads the question into `key`, letters in lower case; returns its hash. */
  function readKey(at: number, questionLength: number): number {
    const first = (at + HEADER_OCTETS) >>> 2;
    const whole = questionLength >>> 2;
    const rest = questionLength & 3;
    let hash = questionLength;
    for (let i = 0; i < whole; i += 1) {
      const folded = lowerWord(requestWords[first + i] as number);
      key[i] = folded;
      hash = Math.imul(hash ^ folded, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    if (rest !== 0) {
      const folded = lowerWord((requestWords[first + whole] as number) & (FIRST_OCTETS[rest] as number));
      key[whole] = folded;
      hash = Math.imul(hash ^ folded, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash;
  }

  /** Reads what a question is looked up by; false if it is not to be. */
  function readQuestion(into: Question, at: number, length: number, kind: number): boolean {
    into.length = length - HEADER_OCTETS - (kind === KIND.plain ? 0 : OPT_OCTETS);
    if (into.length < 5 || into.length > KEY_WORDS * 4) return false;
    const typeAt = at + HEADER_OCTETS + into.length - 4;
    if (receive[typeAt + 2] !== 0 || receive[typeAt + 3] !== CLASS.IN) return false;
    into.type = ((receive[typeAt] as number) << 8) | (receive[typeAt + 1] as number);
    into.shape = (kind << 8) | into.length;
    into.hash = readKey(at, into.length);
    return true;
  }

  function isKept(entry: number, { hash, shape, type, length }: Question): boolean {
    if (entries[entry + ENTRY.hash] !== hash || entries[entry + ENTRY.shape] !== shape) return false;
    if (entries[entry + ENTRY.generation] !== generation || entries[entry + ENTRY.type] !== type) return false;
    const words = (length + 3) >>> 2;
    for (let i = 0; i < words; i += 1) if (entries[entry + ENTRY.key + i] !== key[i]) return false;
    return true;
  }

  /** Copies a reply that is kept behind the question of the request. */
  function copyReply(entry: number, order: number, at: number, questionLength: number, replyAt: number): void {
    const from = at >>> 2;
    const to = replyAt >>> 2;
    replyWords[to] = (entries[entry + ENTRY.header] as number) | ((requestWords[from] as number) & (RD | 0xffff));
    replyWords[to + 1] = entries[entry + ENTRY.header + 1] as number;
    replyWords[to + 2] = entries[entry + ENTRY.header + 2] as number;
    const end = HEADER_OCTETS + questionLength;
    const boundary = end >>> 2;
    for (let i = HEADER_OCTETS >>> 2; i < boundary; i += 1) replyWords[to + i] = requestWords[from + i] as number;
    const count = entries[entry + ENTRY.replyWords] as number;
    const kept = (entries[entry + ENTRY.replyAt] as number) + order * count;
    replyWords[to + boundary] =
      ((requestWords[from + boundary] as number) & (FIRST_OCTETS[end & 3] as number)) | (replies[kept] as number);
    for (let i = 1; i < count; i += 1) replyWords[to + boundary + i] = replies[kept + i] as number;
  }

  /** Makes room for the replies to a question that has just been answered; false if it is not to be kept. */
  function addEntry(entry: number, { hash, shape, type, length }: Question, replyLength: number): boolean {
    const { found, isExact, answers } = state.table;
    // A reply that fits whole into the least size is the same whatever size the client offers.
    const largest = HEADER_OCTETS + length + (answers[found + ANSWER.bodyLength] as number) + OPT_OCTETS;
    if (!isExact || largest > MAX_REPLY_OCTETS) return false;
    const orders = ordersIn(answers[found + ANSWER.rotationCount] as number);
    if (orders > MAX_ORDERS) return false;
    const count = ((replyLength + 3) >>> 2) - ((HEADER_OCTETS + length) >>> 2);
    // Full: begin again. What is asked often is soon back.
    if (used + orders * count > capacity) forget();
    entries[entry + ENTRY.generation] = generation;
    entries[entry + ENTRY.hash] = hash;
    entries[entry + ENTRY.shape] = shape;
    entries[entry + ENTRY.type] = type;
    entries[entry + ENTRY.answer] = found;
    entries[entry + ENTRY.replyAt] = used;
    entries[entry + ENTRY.replyWords] = count;
    entries[entry + ENTRY.orders] = orders;
    entries[entry + ENTRY.filled] = 0;
    entries[entry + ENTRY.replyLength] = replyLength;
    const words = (length + 3) >>> 2;
    for (let i = 0; i < words; i += 1) entries[entry + ENTRY.key + i] = key[i] as number;
    used += orders * count;
    return true;
  }

  /** Keeps the reply that stands in the send buffer. */
  function keepReply(entry: number, order: number, questionLength: number, replyAt: number): void {
    const from = replyAt >>> 2;
    const end = HEADER_OCTETS + questionLength;
    const boundary = end >>> 2;
    entries[entry + ENTRY.header] = (replyWords[from] as number) & ~(RD | 0xffff);
    entries[entry + ENTRY.header + 1] = replyWords[from + 1] as number;
    entries[entry + ENTRY.header + 2] = replyWords[from + 2] as number;
    const count = entries[entry + ENTRY.replyWords] as number;
    const kept = (entries[entry + ENTRY.replyAt] as number) + order * count;
    for (let i = 0; i < count; i += 1) replies[kept + i] = replyWords[from + boundary + i] as number;
    replies[kept] = (replies[kept] as number) & ~(FIRST_OCTETS[end & 3] as number);
    entries[entry + ENTRY.filled] = (entries[entry + ENTRY.filled] as number) | (1 << order);
  }

  /** The order whose turn it is for a question that is kept. */
  function orderOf(entry: number): number {
    const orders = entries[entry + ENTRY.orders] as number;
    const turn = state.table.answers[(entries[entry + ENTRY.answer] as number) + ANSWER.turn] as number;
    return orders > 1 ? turn % orders : 0;
  }

  /** Answers by the fast path and keeps what it says, if that is to be kept. */
  function answerAndKeep(at: number, length: number, replyAt: number, entry: number, question: Question): number {
    const replyLength = respondFast(receive, at, length, send, replyAt);
    if (replyLength === NOT_FAST) return NOT_FAST;
    if (!isKept(entry, question) && !addEntry(entry, question, replyLength)) return replyLength;
    // The turn has just been taken.
    const orders = entries[entry + ENTRY.orders] as number;
    const turn = state.table.answers[(entries[entry + ENTRY.answer] as number) + ANSWER.turn] as number;
    keepReply(entry, orders > 1 ? (turn - 1) % orders : 0, question.length, replyAt);
    return replyLength;
  }

  const question: Question = { hash: 0, shape: 0, type: 0, length: 0 };
  return (at, length, replyAt) => {
    const kind = length < HEADER_OCTETS + 5 || !state.ready ? -1 : kindOf(at, length);
    if (kind < 0 || !readQuestion(question, at, length, kind)) return respondFast(receive, at, length, send, replyAt);
    if (state.table !== table || state.table.version !== version) forget();
    const entry = ((question.hash ^ (kind << 7)) & (ENTRIES - 1)) * ENTRY.words;
    if (!isKept(entry, question)) return answerAndKeep(at, length, replyAt, entry, question);
    const order = orderOf(entry);
    if (((entries[entry + ENTRY.filled] as number) & (1 << order)) === 0) {
      return answerAndKeep(at, length, replyAt, entry, question);
    }
    state.table.answers[(entries[entry + ENTRY.answer] as number) + ANSWER.turn] = order + 1;
    copyReply(entry, order, at, question.length, replyAt);
    counters.query(UDP, question.type);
    counters.response(((entries[entry + ENTRY.header] as number) >>> 24) & 0xf);
    return entries[entry + ENTRY.replyLength] as number;
  };
}

/** What a question is looked up by; its name stands in the key. */
interface Question {
  hash: number;
  /** As in {@link ENTRY}. */
  shape: number;
  type: number;
  /** Octets. */
  length: number;
}

/** The four octets of a word with ASCII letters in lower case. Length octets, at most 63, are never letters. */
function lowerWord(word: number): number {
  const low = word & 0x7f7f7f7f;
  const isUpper = (low + 0x3f3f3f3f) & ~(low + 0x25252525) & ~word & 0x80808080;
  return word | (isUpper >>> 2);
}

import { endianness } from "node:os";
import { ordersIn } from "../answers/encode.js";
import { ANSWER, type AnswerTable } from "../answers/table.js";
import { CLASS, HEADER_OCTETS } from "../wire/constants.js";
import type { Client } from "./client.js";
import { CLIENT_COOKIE_OCTETS, COOKIE_OCTETS } from "./cookies.js";
import type { QueryCounters } from "./counters.js";
import { OPT_OCTETS, OPTION_HEAD_OCTETS } from "./edns.js";
import {
  appendCookie,
  COOKIE_OPTION_OCTETS,
  cookieOctetsOf,
  endOfName,
  isPlainType,
  NOT_FAST,
  type RespondFast,
} from "./fast.js";
import type { ResponderState } from "./respond.js";

/**
 * Whole replies for questions that were asked before, one for each order of their addresses. A question is compared
 * and a reply copied by 32-bit words: what takes 240 ns octet by octet takes 60 (measured on one core at 3 GHz, three
 * addresses). A reply with a cookie is the one without, and the cookie behind it.
 *
 * Only names that exist are kept, so that questions for random names push nothing out. What is behind the question in
 * a reply for one that does not is the same for all names of one length below one name; that is kept in places of its
 * own. Everything is forgotten when an answer changes.
 */

/** Words of a question that is kept: names to 68 octets, longer than any that people write. */
const KEY_WORDS = 18;

/** Longest reply that is kept: what every client takes over UDP, so its size needs no second thought. */
const MAX_REPLY_OCTETS = 512;

/** Orders that are kept of one reply. */
const MAX_ORDERS = 32;

/** Places for questions, 4 MiB; each question has two that it may take, next to each other. */
const ENTRIES = 1 << 16;

/** Words for replies, 8 MiB. Pages that are never written cost nothing. */
const REPLY_WORDS = 1 << 21;

/** Places for what stands behind names that do not exist, and words for each: 256 KiB. */
const TEMPLATES = 1 << 10;
const TEMPLATE_WORDS = 64;

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

/** How the request ends: nothing behind the question, or OPT, with DO or without. */
const KIND = { plain: 0, opt: 1, optDnssec: 2 } as const;

/** Octets of the shortest query: a header and a question for the root. */
const LEAST_OCTETS = HEADER_OCTETS + 5;

/** Octets of an OPT record with a client's cookie, and of one with ours too. */
const CLIENT_COOKIE_OPT_OCTETS = OPT_OCTETS + OPTION_HEAD_OCTETS + CLIENT_COOKIE_OCTETS;
const COOKIE_OPT_OCTETS = OPT_OCTETS + OPTION_HEAD_OCTETS + COOKIE_OCTETS;

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

/** As {@link RespondFast}, for requests and replies at offsets that are divisible by 4 in buffers that are known. */
export type RespondReadyMade = (at: number, length: number, replyAt: number, client: Client) => number;

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
): RespondReadyMade {
  if (endianness() !== "LE") {
    return (at, length, replyAt, client) => respondFast(receive, at, length, send, replyAt, client);
  }
  const requestWords = new Int32Array(receive.buffer, receive.byteOffset, receive.length >>> 2);
  const replyWords = new Int32Array(send.buffer, send.byteOffset, send.length >>> 2);
  const entries = new Int32Array((ENTRIES + TEMPLATES) * ENTRY.words);
  const replies = new Int32Array(capacity + TEMPLATES * TEMPLATE_WORDS);
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

  /** Octets of the OPT record that ends a request, 0 without one; -1 for a request that is not looked up. */
  function optOctetsOf(at: number, length: number): number {
    const word = at >>> 2;
    if (((requestWords[word] as number) & UNUSUAL_FLAGS) !== 0 || requestWords[word + 1] !== ONE_QUESTION) return -1;
    const additional = requestWords[word + 2];
    if (additional === 0) return 0;
    if (additional !== ONE_ADDITIONAL) return -1;
    // The question that is compared below tells where OPT begins; here it is only read from the end.
    if (endsInOpt(at, length, OPT_OCTETS)) return OPT_OCTETS;
    if (state.policy?.cookies === undefined) return -1;
    if (endsInOpt(at, length, CLIENT_COOKIE_OPT_OCTETS)) return CLIENT_COOKIE_OPT_OCTETS;
    return endsInOpt(at, length, COOKIE_OPT_OCTETS) ? COOKIE_OPT_OCTETS : -1;
  }

  function endsInOpt(at: number, length: number, octets: number): boolean {
    const end = at + length;
    return length >= LEAST_OCTETS + octets && cookieOctetsOf(receive, end - octets, end) >= 0;
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
  function readQuestion(into: Question, at: number, length: number, optOctets: number): boolean {
    into.length = length - HEADER_OCTETS - optOctets;
    if (into.length > KEY_WORDS * 4) return false;
    const typeAt = at + HEADER_OCTETS + into.length - 4;
    if (receive[typeAt + 2] !== 0 || receive[typeAt + 3] !== CLASS.IN) return false;
    into.type = ((receive[typeAt] as number) << 8) | (receive[typeAt + 1] as number);
    const isSecure = optOctets > 0 && ((receive[typeAt + 4 + 7] as number) & 0x80) !== 0;
    const kind = optOctets === 0 ? KIND.plain : isSecure ? KIND.optDnssec : KIND.opt;
    into.optOctets = optOctets;
    into.shape = (kind << 8) | into.length;
    into.hash = readKey(at, into.length) ^ (kind << 7);
    return true;
  }

  function isKept(entry: number, { hash, shape, type, length }: Question): boolean {
    if (entries[entry + ENTRY.hash] !== hash || entries[entry + ENTRY.shape] !== shape) return false;
    if (entries[entry + ENTRY.generation] !== generation || entries[entry + ENTRY.type] !== type) return false;
    const words = (length + 3) >>> 2;
    for (let i = 0; i < words; i += 1) if (entries[entry + ENTRY.key + i] !== key[i]) return false;
    return true;
  }

  /** Where a question is kept, or would be: in a free place rather than in place of another. */
  function placeOf({ hash }: Question): number {
    const first = (hash & (ENTRIES - 1)) * ENTRY.words;
    if (entries[first + ENTRY.hash] === hash) return first;
    const second = ((hash & (ENTRIES - 1)) ^ 1) * ENTRY.words;
    if (entries[second + ENTRY.hash] === hash) return second;
    return entries[first + ENTRY.generation] !== generation ? first : second;
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

  /** The number of the place for what stands behind a question for a name that does not exist. */
  function templateOf(answer: number, shape: number): number {
    return (Math.imul(answer ^ Math.imul(shape, 0x9e3779b1), 0x85ebca6b) >>> 16) & (TEMPLATES - 1);
  }

  /**
   * Answers for a name that does not exist with what stood behind another one; {@link NOT_FAST} if nothing is kept, or
   * the name exists.
   */
  function answerByTemplate(at: number, length: number, replyAt: number, client: Client): number {
    const nameAt = at + HEADER_OCTETS;
    const nameLength = question.length - 4;
    const nameEnd = nameAt + nameLength;
    if (!isPlainType(question.type) || endOfName(receive, nameAt, nameEnd) !== nameEnd) return NOT_FAST;
    if (!state.table.find(receive, nameAt, nameLength, question.type) || state.table.isExact) return NOT_FAST;
    const entry = (ENTRIES + templateOf(state.table.found, question.shape)) * ENTRY.words;
    const isThere =
      entries[entry + ENTRY.generation] === generation &&
      entries[entry + ENTRY.answer] === state.table.found &&
      entries[entry + ENTRY.shape] === question.shape;
    return isThere ? sendKept(entry, 0, at, length, replyAt, client) : NOT_FAST;
  }

  /** Keeps what stands behind the question of the reply in the send buffer, for other names that do not exist. */
  function keepTemplate({ shape, length }: Question, replyLength: number, replyAt: number): void {
    const { found, answers } = state.table;
    const count = ((replyLength + 3) >>> 2) - ((HEADER_OCTETS + length) >>> 2);
    const isSteady = ordersIn(answers[found + ANSWER.rotationCount] as number) === 1;
    if (!isSteady || count > TEMPLATE_WORDS || largestReply(length) > MAX_REPLY_OCTETS) return;
    const place = templateOf(found, shape);
    const entry = (ENTRIES + place) * ENTRY.words;
    entries[entry + ENTRY.generation] = generation;
    entries[entry + ENTRY.shape] = shape;
    entries[entry + ENTRY.answer] = found;
    entries[entry + ENTRY.replyAt] = capacity + place * TEMPLATE_WORDS;
    entries[entry + ENTRY.replyWords] = count;
    entries[entry + ENTRY.replyLength] = replyLength;
    keepReply(entry, 0, length, replyAt);
  }

  /** Octets that a reply with the answer just found can take. One that fits into the least size fits into every one. */
  function largestReply(questionLength: number): number {
    const bodyLength = state.table.answers[state.table.found + ANSWER.bodyLength] as number;
    return HEADER_OCTETS + questionLength + bodyLength + OPT_OCTETS + COOKIE_OPTION_OCTETS;
  }

  /** Makes room for the replies to a question that has just been answered; false if it is not to be kept. */
  function addEntry(entry: number, { hash, shape, type, length }: Question, replyLength: number): boolean {
    const { found, answers } = state.table;
    if (largestReply(length) > MAX_REPLY_OCTETS) return false;
    // Both places are taken: better one question that is answered anew each time than two that push each other out.
    if (entries[entry + ENTRY.generation] === generation) return false;
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
  function answerAndKeep(at: number, length: number, replyAt: number, client: Client, entry: number): number {
    const replyLength = respondFast(receive, at, length, send, replyAt, client);
    if (replyLength === NOT_FAST) return NOT_FAST;
    // What is kept is the reply without a cookie.
    const hasCookie = question.optOctets > OPT_OCTETS;
    const keptLength = replyLength - (hasCookie ? COOKIE_OPTION_OCTETS : 0);
    const optionsLengthAt = replyAt + keptLength - 1;
    if (hasCookie) send[optionsLengthAt] = 0;
    if (!state.table.isExact) {
      keepTemplate(question, keptLength, replyAt);
    } else if (isKept(entry, question) || addEntry(entry, question, keptLength)) {
      // The turn has just been taken.
      const orders = entries[entry + ENTRY.orders] as number;
      const turn = state.table.answers[(entries[entry + ENTRY.answer] as number) + ANSWER.turn] as number;
      keepReply(entry, orders > 1 ? (turn - 1) % orders : 0, question.length, replyAt);
    }
    if (hasCookie) send[optionsLengthAt] = COOKIE_OPTION_OCTETS;
    return replyLength;
  }

  /** Answers with a reply that is kept; returns its length. */
  function sendKept(entry: number, order: number, at: number, length: number, replyAt: number, client: Client): number {
    copyReply(entry, order, at, question.length, replyAt);
    counters.query(UDP, question.type);
    counters.response(((entries[entry + ENTRY.header] as number) >>> 24) & 0xf);
    const replyLength = entries[entry + ENTRY.replyLength] as number;
    return question.optOctets > OPT_OCTETS ? addCookie(at, length, replyAt, replyLength, client) : replyLength;
  }

  /** Puts the answer to the cookie of a request behind a reply that ends in OPT; returns its new length. */
  function addCookie(at: number, length: number, replyAt: number, replyLength: number, client: Client): number {
    const octets = question.optOctets - OPT_OCTETS - OPTION_HEAD_OCTETS;
    const jar = state.policy?.cookies;
    const optAt = replyAt + replyLength - OPT_OCTETS;
    if (jar !== undefined) appendCookie(jar, receive, at + length - octets, octets, client, send, optAt);
    return replyLength + COOKIE_OPTION_OCTETS;
  }

  const question: Question = { hash: 0, shape: 0, type: 0, length: 0, optOctets: 0 };
  return (at, length, replyAt, client) => {
    const optOctets = length < LEAST_OCTETS || !state.ready ? -1 : optOctetsOf(at, length);
    if (optOctets < 0 || !readQuestion(question, at, length, optOctets)) {
      return respondFast(receive, at, length, send, replyAt, client);
    }
    if (state.table !== table || state.table.version !== version) forget();
    const entry = placeOf(question);
    if (!isKept(entry, question)) {
      const replyLength = answerByTemplate(at, length, replyAt, client);
      return replyLength === NOT_FAST ? answerAndKeep(at, length, replyAt, client, entry) : replyLength;
    }
    const order = orderOf(entry);
    if (((entries[entry + ENTRY.filled] as number) & (1 << order)) === 0) {
      return answerAndKeep(at, length, replyAt, client, entry);
    }
    state.table.answers[(entries[entry + ENTRY.answer] as number) + ANSWER.turn] = order + 1;
    return sendKept(entry, order, at, length, replyAt, client);
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
  /** Octets of the OPT record behind it; 0 without one. */
  optOctets: number;
}

/** The four octets of a word with ASCII letters in lower case. Length octets, at most 63, are never letters. */
function lowerWord(word: number): number {
  const low = word & 0x7f7f7f7f;
  const isUpper = (low + 0x3f3f3f3f) & ~(low + 0x25252525) & ~word & 0x80808080;
  return word | (isUpper >>> 2);
}

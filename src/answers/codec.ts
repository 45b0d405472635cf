import type { Answers, CompiledAnswer, CompiledNode } from "./answer.js";

/**
 * Words of one answer in a table. This is the one definition of the layout: the first {@link PACKED_WORDS} are the
 * packed answer, which goes to threads and into tables word for word; the others are the table's own.
 */
export const ANSWER = {
  flags: 0,
  answerCount: 1,
  authorityCount: 2,
  additionalCount: 3,
  baseLength: 4,
  serialAt: 5,
  requiredLength: 6,
  requiredAdditional: 7,
  rotationAt: 8,
  rotationCount: 9,
  rotationStride: 10,
  rotationSent: 11,
  bodyLength: 12,
  pointerCount: 13,
  /** Offset of the body in the table's `octets`; the offsets of the pointers to move follow it, two octets each. */
  bodyAt: 14,
  /** Octets reserved at `bodyAt`. */
  capacity: 15,
  /** Index of the zone. */
  zone: 16,
  /** Number of the rotation that is sent next; the encoder wraps it. */
  nextRotation: 17,
  /** The query type it answers; 0 for an answer that serves several. */
  type: 18,
  /** Offset of the answer for the next type of the same name; -1 at the end. */
  next: 19,
  /** Sites that are told apart; this and `dnssecForms` stand in the first form only, the others follow it. */
  sites: 20,
  /** 2 where clients with DO get another form, else 1. */
  dnssecForms: 21,
  words: 22,
} as const;

/** Words of {@link ANSWER} that are packed. */
const PACKED_WORDS = 14;

/** The packed words that a compiled answer holds as numbers, in their order. */
const NUMBERS = (Object.keys(ANSWER) as (keyof typeof ANSWER)[])
  .filter((field) => ANSWER[field] < PACKED_WORDS)
  .filter((field) => field !== "bodyLength" && field !== "pointerCount") as (keyof typeof ANSWER &
  keyof CompiledAnswer)[];

/** What answers for names below a node that do not exist. */
export const BELOW = { nxdomain: 0, wildcard: 1, fallback: 2, own: 3 } as const;

/** Stands for "none" where a type, an offset or a node would stand. */
export const NONE = -1;

export type Words = Int32Array<ArrayBuffer>;

/** Nodes packed before, as most are that health comes back to. */
const packedNodes = new WeakMap<CompiledNode, Words>();

/**
 * Packs a node into one run of numbers, for the way to a table in this thread or another: a structured clone of all its
 * objects takes longer on both sides, and leaves more to collect over there, for which queries wait. Both ends are of
 * one build, so the layout may change at will; octets stand four in a word, in the machine's order.
 *
 * `below` ({@link BELOW}), the type for ANY, whether there is a fallback of its own, and the number of types; then the
 * answers: the fallback, the one for what is below, and those of the types, each behind its type.
 */
export function packNode(node: CompiledNode): Words {
  const present = packedNodes.get(node);
  if (present !== undefined) return present;
  const { types, fallback, anyType = NONE, below } = node;
  const kind = typeof below === "string" ? BELOW[below] : BELOW.own;
  const words = [kind, anyType, fallback === "nodata" ? 0 : 1, types.length];
  if (fallback !== "nodata") pushAnswers(words, fallback);
  if (typeof below !== "string") pushAnswers(words, below);
  for (const { type, answer } of types) {
    words.push(type);
    pushAnswers(words, answer);
  }
  const packed = Int32Array.from(words);
  packedNodes.set(node, packed);
  return packed;
}

/** Packs answers that belong to no name: a zone's NODATA and NXDOMAIN. */
export function packAnswers(answers: Answers): Words {
  const words: number[] = [];
  pushAnswers(words, answers);
  return Int32Array.from(words);
}

/** One after the other. */
export function joinWords(parts: readonly Words[]): Words {
  const words = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    words.set(part, at);
    at += part.length;
  }
  return words;
}

/** Sites, forms by DO, then each form. */
function pushAnswers(words: number[], answers: Answers): void {
  if ("body" in answers) {
    words.push(1, 1);
    pushAnswer(words, answers);
    return;
  }
  words.push(answers.sites, answers.byDnssec ? 2 : 1);
  for (const form of answers.forms) pushAnswer(words, form);
}

/** The packed words, then body and pointers as they stand in a table, filled up to whole words. */
function pushAnswer(words: number[], answer: CompiledAnswer): void {
  const { body, pointers } = answer;
  for (const field of NUMBERS) words.push(answer[field]);
  words.push(body.length, pointers.length);
  const octets = new Uint8Array((octetsOf(body.length, pointers.length) + 3) & ~3);
  octets.set(body);
  pointers.forEach((pointer, i) => {
    octets[body.length + 2 * i] = pointer >>> 8;
    octets[body.length + 2 * i + 1] = pointer & 0xff;
  });
  for (const word of new Int32Array(octets.buffer)) words.push(word);
}

/** Octets that the body and the pointers of an answer take in a table. */
function octetsOf(bodyLength: number, pointerCount: number): number {
  return bodyLength + 2 * pointerCount;
}

/** Takes from packed words, in the order in which they were written. */
export class WordReader {
  private at = 0;

  constructor(private readonly words: Words) {}

  number(): number {
    this.at += 1;
    return this.words[this.at - 1] as number;
  }

  /** Copies the packed words of one answer into a table's. */
  copyAnswer(into: Int32Array, to: number): void {
    for (let i = 0; i < PACKED_WORDS; i += 1) into[to + i] = this.words[this.at + i] as number;
    this.at += PACKED_WORDS;
  }

  /** Body and pointers of an answer whose packed words stand at `at` of `answers`; a view. */
  octets(answers: Int32Array, at: number): Uint8Array {
    const bodyLength = answers[at + ANSWER.bodyLength] as number;
    const length = octetsOf(bodyLength, answers[at + ANSWER.pointerCount] as number);
    const octets = new Uint8Array(this.words.buffer, this.words.byteOffset + 4 * this.at, length);
    this.at += (length + 3) >>> 2;
    return octets;
  }
}

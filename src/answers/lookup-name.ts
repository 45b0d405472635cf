import { MAX_LABEL_OCTETS, MAX_NAME_OCTETS } from "../wire/constants.js";
import type { Name } from "../wire/name.js";
import { NO_WORDS, wordsOf } from "../wire/words.js";

/** More labels than this, the root included, do not fit into 255 octets (RFC 1035 §2.3.4). */
const MAX_LABELS = 128;

/** Lower case of every octet (RFC 4343 §3). Length octets, at most 63, are never letters. */
const LOWER = Uint8Array.from({ length: 256 }, (_, octet) => (octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet));

/** Keeps the first 1 to 3 octets of a word, by their number. */
const FIRST_OCTETS = Int32Array.of(-1, 0xff, 0xffff, 0xff_ffff);

const HASH_SEED = 0x811c9dc5 | 0;
const HASH_FACTOR = 0x9e3779b1 | 0;

/**
 * A name to look up: lower case, with the hash of itself and of every name above it. One object is used anew for each
 * query, so that reading a name allocates nothing.
 */
export class LookupName {
  /** Wire form; three zeros at least follow it. */
  readonly octets = new Uint8Array(MAX_NAME_OCTETS + 5);
  /** The same memory by words, or none (see `wire/words.ts`). */
  readonly words = wordsOf(this.octets);
  /** Octets of the name, root label included. */
  length = 0;
  /** Labels, the root included. */
  labels = 0;
  /** Offset in `octets` of each label. */
  readonly starts = new Uint8Array(MAX_LABELS);
  /** Hash of the name that begins with each label. */
  readonly hashes = new Int32Array(MAX_LABELS);

  /**
   * Reads an uncompressed name in any letter case.
   *
   * @param message holds it at `at`; it must end by `end`
   * @param words view of `message`, or none
   * @returns the offset behind the name, or -1 if it is cut off, too long, compressed, or of a reserved label type
   */
  read(message: Uint8Array, words: Int32Array, at: number, end: number): number {
    const { starts } = this;
    const limit = Math.min(end, at + MAX_NAME_OCTETS);
    let labels = 0;
    let position = at;
    for (;;) {
      if (position >= limit) return -1;
      const step = message[position] as number;
      if (step > MAX_LABEL_OCTETS) return -1;
      starts[labels] = position - at;
      labels += 1;
      position += 1 + step;
      if (step === 0) break;
    }
    this.labels = labels;
    this.length = position - at;
    this.lower(message, words, at);
    this.hash();
    return position;
  }

  /** Takes a name that is lower case already. */
  set(name: Name): void {
    for (let i = 0; i < name.length; i += 1) this.octets[i] = name.charCodeAt(i);
    this.read(this.octets, NO_WORDS, 0, name.length);
  }

  /** Whether it is this name, which must be lower case. */
  is(name: Name): boolean {
    if (name.length !== this.length) return false;
    for (let i = 0; i < name.length; i += 1) if (this.octets[i] !== name.charCodeAt(i)) return false;
    return true;
  }

  private lower(message: Uint8Array, words: Int32Array, at: number): void {
    const { octets, length } = this;
    if (words.length === 0 || (at & 3) !== 0 || this.words.length === 0) {
      for (let i = 0; i < length; i += 1) octets[i] = LOWER[message[at + i] as number] as number;
      octets[length] = 0;
      octets[length + 1] = 0;
      octets[length + 2] = 0;
      return;
    }
    const source = at >>> 2;
    const last = (length - 1) >>> 2;
    for (let i = 0; i < last; i += 1) this.words[i] = lowerWord(words[source + i] as number);
    this.words[last] = lowerWord((words[source + last] as number) & (FIRST_OCTETS[length & 3] as number));
    this.words[last + 1] = 0;
  }

  /** From the last label to the first, so that one pass hashes every ancestor; each label four octets at a time. */
  private hash(): void {
    const { octets, starts, hashes } = this;
    let hash = HASH_SEED;
    let end = this.length - 1;
    hashes[this.labels - 1] = mixed(hash);
    for (let label = this.labels - 2; label >= 0; label -= 1) {
      const start = starts[label] as number;
      for (let i = start; i < end; i += 4) {
        const word =
          (octets[i] as number) |
          ((octets[i + 1] as number) << 8) |
          ((octets[i + 2] as number) << 16) |
          ((octets[i + 3] as number) << 24);
        const left = end - i;
        hash = (Math.imul(hash, HASH_FACTOR) + (left < 4 ? word & (FIRST_OCTETS[left] as number) : word)) | 0;
      }
      hashes[label] = mixed(hash);
      end = start;
    }
  }
}

/** Spreads what differs in the upper bits over the lower ones, by which a table finds its place. */
function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), HASH_FACTOR);
  return half ^ (half >>> 15);
}

/** The four octets of a word with ASCII letters in lower case. */
function lowerWord(word: number): number {
  const low = word & 0x7f7f7f7f;
  const isUpper = (low + 0x3f3f3f3f) & ~(low + 0x25252525) & ~word & 0x80808080;
  return word | (isUpper >>> 2);
}

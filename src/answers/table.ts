import { TYPE } from "../wire/constants.js";
import { grown } from "../wire/growing-arrays.js";
import type { Name } from "../wire/name.js";
import { wordsOf } from "../wire/words.js";
import type { CompiledAnswer, CompiledNode, CompiledZone, NamedNode, ZoneUpdate } from "./answer.js";
import { LookupName } from "./lookup-name.js";

/** Words of one answer in {@link AnswerTable.answers}. */
export const ANSWER = {
  /** Offset of the body in `octets`; the pointers to move follow it, two octets each. */
  bodyAt: 0,
  bodyLength: 1,
  flags: 2,
  answerCount: 3,
  authorityCount: 4,
  additionalCount: 5,
  baseLength: 6,
  pointerCount: 7,
  serialAt: 8,
  requiredLength: 9,
  requiredAdditional: 10,
  rotationAt: 11,
  rotationCount: 12,
  rotationStride: 13,
  rotationSent: 14,
  /** Number of the rotation that is sent next; the encoder wraps it. */
  nextRotation: 15,
  zone: 16,
  /** Octets reserved at `bodyAt`. */
  capacity: 17,
  words: 18,
} as const;

/** Words of one name in `nodes`. */
const NODE = {
  hash: 0,
  nameAt: 1,
  nameLength: 2,
  zone: 3,
  typesAt: 4,
  typeCount: 5,
  typeCapacity: 6,
  fallback: 7,
  any: 8,
  below: 9,
  words: 10,
} as const;

/**
 * Every answer of every zone, packed into a few typed arrays: what a query needs is a hash, a comparison and a copy.
 *
 * A class, since its fields are read for every packet and must keep one shape; it holds no other state than the table.
 * Not shared between threads: each has its own, and applies the same updates.
 */
export class AnswerTable {
  /** Names (lower case, wire form), bodies and pointer lists; each begins at a whole word. */
  octets = new Uint8Array(1 << 16);
  /** The same memory by words. */
  words = wordsOf(this.octets);
  /** {@link ANSWER}`.words` for each answer. */
  answers = new Int32Array(ANSWER.words << 8);
  /** By zone index; unsigned. */
  serials = new Uint32Array(64);

  /** Result of {@link find}: offset in `answers`. */
  found = -1;

  private nodes = new Int32Array(NODE.words << 8);
  private types = new Int32Array(1 << 10);
  private buckets = new Int32Array(1 << 9);
  private mask = (1 << 9) - 1;
  private octetsUsed = 0;
  private answersUsed = 0;
  private nodesUsed = 0;
  private typesUsed = 0;
  private octetsWasted = 0;
  private readonly zoneIndexes = new Map<Name, number>();
  private nodataAnswers: number[] = [];
  private nxdomainAnswers: number[] = [];
  private readonly nameRoom = new LookupName();

  /** Number of zones. */
  get zoneCount(): number {
    return this.zoneIndexes.size;
  }

  /** Adds a zone that the table does not have yet. */
  addZone(zone: CompiledZone): void {
    const index = this.zoneIndexes.size;
    this.zoneIndexes.set(zone.name, index);
    if (index === this.serials.length) this.serials = grown(this.serials, index + 1);
    this.serials[index] = zone.serial;
    this.nodataAnswers.push(this.putAnswer(-1, zone.nodata, index));
    this.nxdomainAnswers.push(this.putAnswer(-1, zone.nxdomain, index));
    for (const { name } of zone.nodes) this.addNode(name, index);
    for (const named of zone.nodes) this.fillNode(named, index);
  }

  /** Replaces the answers of names that the table has; a zone or name that it lacks is passed over. */
  update(update: ZoneUpdate): void {
    const index = this.zoneIndexes.get(update.zone);
    if (index === undefined) return;
    this.serials[index] = update.serial;
    for (const named of update.nodes) this.fillNode(named, index);
    if (this.octetsWasted > this.octetsUsed >>> 1) this.compact();
  }

  /**
   * Finds the answer for a question; the result stands in {@link found}.
   *
   * @param _site the client's site, from 0; today every answer is that of site 0
   * @param _dnssecOk whether the client wants signatures (DO); today no answer has them
   * @returns whether the name lies in a zone of the table; if not, `found` is -1
   */
  find(name: LookupName, type: number, _site = 0, _dnssecOk = false): boolean {
    let node = this.lookUp(name, 0);
    if (node >= 0) {
      this.found = this.answerOf(node, type);
      return true;
    }
    for (let label = 1; label < name.labels; label += 1) {
      node = this.lookUp(name, label);
      if (node < 0) continue;
      const below = this.nodes[node + NODE.below] as number;
      this.found = below >= 0 ? below : this.answerOf(-1 - below, type);
      return true;
    }
    this.found = -1;
    return false;
  }

  /** Offset in `answers` of what node `node` answers for `type`. */
  private answerOf(node: number, type: number): number {
    const { nodes, types } = this;
    if (type === TYPE.ANY) return nodes[node + NODE.any] as number;
    const start = nodes[node + NODE.typesAt] as number;
    const end = start + 2 * (nodes[node + NODE.typeCount] as number);
    for (let i = start; i < end; i += 2) {
      if (types[i] === type) return types[i + 1] as number;
    }
    return nodes[node + NODE.fallback] as number;
  }

  /** Offset in `nodes` of the name that begins with a label, or -1. */
  private lookUp(name: LookupName, label: number): number {
    const { buckets, nodes, mask } = this;
    const hash = name.hashes[label] as number;
    const start = name.starts[label] as number;
    const length = name.length - start;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const entry = buckets[slot] as number;
      if (entry === 0) return -1;
      const node = entry - 1;
      if (
        nodes[node + NODE.hash] === hash &&
        nodes[node + NODE.nameLength] === length &&
        this.isName(name, start, nodes[node + NODE.nameAt] as number, length)
      ) {
        return node;
      }
    }
  }

  private isName(name: LookupName, start: number, nameAt: number, length: number): boolean {
    const { octets, words } = this;
    let i = 0;
    if (start === 0 && words.length > 0) {
      const whole = length >>> 2;
      const at = nameAt >>> 2;
      for (let word = 0; word < whole; word += 1) if (name.words[word] !== words[at + word]) return false;
      i = whole << 2;
    }
    for (; i < length; i += 1) if (name.octets[start + i] !== octets[nameAt + i]) return false;
    return true;
  }

  private addNode(name: Name, zone: number): void {
    const node = this.nodesUsed;
    this.nodesUsed += NODE.words;
    if (this.nodesUsed > this.nodes.length) this.nodes = grown(this.nodes, this.nodesUsed);
    const nameAt = this.reserve(name.length);
    for (let i = 0; i < name.length; i += 1) this.octets[nameAt + i] = name.charCodeAt(i);
    const { nodes } = this;
    this.nameRoom.set(name);
    nodes[node + NODE.hash] = this.nameRoom.hashes[0] as number;
    nodes[node + NODE.nameAt] = nameAt;
    nodes[node + NODE.nameLength] = name.length;
    nodes[node + NODE.zone] = zone;
    // At most half full, so that a miss ends soon.
    if ((this.nodesUsed / NODE.words) * 2 > this.buckets.length) this.rehash(this.buckets.length * 2);
    else this.link(node);
  }

  private link(node: number): void {
    let slot = (this.nodes[node + NODE.hash] as number) & this.mask;
    while (this.buckets[slot] !== 0) slot = (slot + 1) & this.mask;
    this.buckets[slot] = node + 1;
  }

  private rehash(size: number): void {
    this.buckets = new Int32Array(size);
    this.mask = size - 1;
    for (let node = 0; node < this.nodesUsed; node += NODE.words) this.link(node);
  }

  private nodeOf(name: Name): number {
    this.nameRoom.set(name);
    return this.lookUp(this.nameRoom, 0);
  }

  /** Writes the answers of a node, reusing what its former ones occupied. */
  private fillNode({ name, node: compiled }: NamedNode, zone: number): void {
    const node = this.nodeOf(name);
    if (node < 0 || this.nodes[node + NODE.zone] !== zone) return;
    const typesAt = this.reserveTypes(node, compiled.types.length);
    compiled.types.forEach(({ type, answer }, i) => {
      // Offset 0 is a zone's NODATA, so here it means "none yet".
      const former = this.types[typesAt + 2 * i + 1] as number;
      this.types[typesAt + 2 * i] = type;
      this.types[typesAt + 2 * i + 1] = this.putAnswer(former > 0 ? former : -1, answer, zone);
    });
    this.nodes[node + NODE.typeCount] = compiled.types.length;
    const nodata = this.nodataAnswers[zone] as number;
    const formerFallback = this.nodes[node + NODE.fallback] as number;
    const fallback =
      compiled.fallback === "nodata"
        ? nodata
        : this.putAnswer(
            formerFallback > 0 && formerFallback !== nodata ? formerFallback : -1,
            compiled.fallback,
            zone,
          );
    this.nodes[node + NODE.fallback] = fallback;
    this.nodes[node + NODE.any] = this.anyOf(node, compiled, fallback);
    this.nodes[node + NODE.below] = this.belowOf(name, compiled, fallback, zone);
  }

  private anyOf(node: number, { anyType }: CompiledNode, fallback: number): number {
    this.nodes[node + NODE.fallback] = fallback;
    return anyType === undefined ? fallback : this.answerOf(node, anyType);
  }

  private belowOf(name: Name, { below }: CompiledNode, fallback: number, zone: number): number {
    if (below === "fallback") return fallback;
    const wildcard = below === "wildcard" ? this.nodeOf(`\x01*${name}` as Name) : -1;
    return wildcard >= 0 ? -1 - wildcard : (this.nxdomainAnswers[zone] as number);
  }

  /** Room for `count` types; answers that stood there before stay at hand, to be overwritten. */
  private reserveTypes(node: number, count: number): number {
    const formerAt = this.nodes[node + NODE.typesAt] as number;
    const capacity = this.nodes[node + NODE.typeCapacity] as number;
    if (count <= capacity) return formerAt;
    const at = this.typesUsed;
    this.typesUsed += 2 * count;
    if (this.typesUsed > this.types.length) this.types = grown(this.types, this.typesUsed);
    this.types.copyWithin(at, formerAt, formerAt + 2 * capacity);
    this.nodes[node + NODE.typesAt] = at;
    this.nodes[node + NODE.typeCapacity] = count;
    return at;
  }

  /** Stores an answer, in place of `former` (-1: a new one); returns its offset in `answers`. */
  private putAnswer(former: number, answer: CompiledAnswer, zone: number): number {
    let at = former;
    if (at < 0) {
      at = this.answersUsed;
      this.answersUsed += ANSWER.words;
      if (this.answersUsed > this.answers.length) this.answers = grown(this.answers, this.answersUsed);
      // So that workers, siblings and restarts do not all begin with the same target.
      this.answers[at + ANSWER.nextRotation] = Math.floor(Math.random() * 0x10000);
    }
    const { body, pointers, rotation } = answer;
    const needed = body.length + 2 * pointers.length;
    let bodyAt = this.answers[at + ANSWER.bodyAt] as number;
    if (needed > (this.answers[at + ANSWER.capacity] as number)) {
      this.octetsWasted += this.answers[at + ANSWER.capacity] as number;
      bodyAt = this.reserve(needed);
      this.answers[at + ANSWER.capacity] = needed;
    }
    this.octets.set(body, bodyAt);
    pointers.forEach((pointer, i) => {
      this.octets[bodyAt + body.length + 2 * i] = pointer >>> 8;
      this.octets[bodyAt + body.length + 2 * i + 1] = pointer & 0xff;
    });
    const { answers } = this;
    answers[at + ANSWER.bodyAt] = bodyAt;
    answers[at + ANSWER.bodyLength] = body.length;
    answers[at + ANSWER.flags] = answer.flags;
    answers[at + ANSWER.answerCount] = answer.answerCount;
    answers[at + ANSWER.authorityCount] = answer.authorityCount;
    answers[at + ANSWER.additionalCount] = answer.additionalCount;
    answers[at + ANSWER.baseLength] = answer.baseLength;
    answers[at + ANSWER.pointerCount] = pointers.length;
    answers[at + ANSWER.serialAt] = answer.serialAt;
    answers[at + ANSWER.requiredLength] = answer.requiredLength;
    answers[at + ANSWER.requiredAdditional] = answer.requiredAdditional;
    answers[at + ANSWER.rotationAt] = rotation.at;
    answers[at + ANSWER.rotationCount] = rotation.count;
    answers[at + ANSWER.rotationStride] = rotation.stride;
    answers[at + ANSWER.rotationSent] = rotation.sent;
    answers[at + ANSWER.zone] = zone;
    return at;
  }

  private reserve(length: number): number {
    const at = this.octetsUsed;
    this.octetsUsed += (length + 3) & ~3;
    if (this.octetsUsed > this.octets.length) {
      this.octets = grown(this.octets, this.octetsUsed);
      this.words = wordsOf(this.octets);
    }
    return at;
  }

  /** Moves all that is in use together, so that answers which outgrew their place do not add up. */
  private compact(): void {
    const old = this.octets;
    this.octets = new Uint8Array(old.length);
    this.words = wordsOf(this.octets);
    this.octetsUsed = 0;
    this.octetsWasted = 0;
    for (let node = 0; node < this.nodesUsed; node += NODE.words) {
      this.nodes[node + NODE.nameAt] = this.move(
        old,
        this.nodes[node + NODE.nameAt] as number,
        this.nodes[node + NODE.nameLength] as number,
      );
    }
    for (let at = 0; at < this.answersUsed; at += ANSWER.words) {
      this.answers[at + ANSWER.bodyAt] = this.move(
        old,
        this.answers[at + ANSWER.bodyAt] as number,
        this.answers[at + ANSWER.capacity] as number,
      );
    }
  }

  private move(from: Uint8Array, at: number, length: number): number {
    const to = this.reserve(length);
    this.octets.set(from.subarray(at, at + length), to);
    return to;
  }
}

import { TYPE } from "../wire/constants.js";
import { grown } from "../wire/growing-arrays.js";
import type { Name } from "../wire/name.js";
import { ANSWER, BELOW, NONE, WordReader, type Words } from "./codec.js";
import type { LookupName } from "./lookup-name.js";
import { NameIndex, NODE } from "./name-index.js";
import { OctetHeap } from "./octet-heap.js";
import { Slots } from "./slots.js";

/** What a table knows of a zone besides its names. */
interface ZoneEntry {
  readonly name: Name;
  readonly index: number;
  /** One of its nodes, from which {@link NODE}`.next` leads through all; -1 without any. */
  ring: number;
  /** Offsets in `answers`. */
  nodata: number;
  nxdomain: number;
}

/**
 * Every answer of every zone, packed into a few typed arrays: what a query needs is a hash, a comparison and a copy.
 *
 * A class, since its fields are read for every packet and must keep one shape; it holds no other state than the table.
 * Not shared between threads: each has its own, and applies the same messages (`table-messages.ts`), each as a whole
 * between two queries. A change costs what it touches, however many zones there are.
 */
export class AnswerTable {
  /** By zone index; unsigned. */
  serials = new Uint32Array(64);

  /** Result of {@link find}: offset in `answers`. */
  found = -1;

  private readonly heap = new OctetHeap();
  private readonly slots = new Slots(ANSWER.words);
  private readonly names = new NameIndex(this.heap);
  private readonly zones = new Map<Name, ZoneEntry>();
  private readonly freeIndexes: number[] = [];

  /** @param random 0 to 1: where rotations begin, so that threads, siblings and restarts do not all name the same target first */
  constructor(private readonly random: () => number = Math.random) {}

  /** Names (lower case, wire form), bodies and pointer lists; each begins at a whole word. */
  get octets(): Uint8Array {
    return this.heap.octets;
  }

  /** The same memory by words. */
  get words(): Int32Array {
    return this.heap.words;
  }

  /** {@link ANSWER}`.words` for each answer. */
  get answers(): Int32Array {
    return this.slots.words;
  }

  /** Octets of memory that all arrays take. */
  get memoryOctets(): number {
    return this.heap.octets.length + this.slots.words.byteLength + this.names.memoryOctets + this.serials.byteLength;
  }

  /**
   * Adds a zone, or replaces the one of that name.
   *
   * @param names every existing name, lower case
   * @param words packed: the zone's NODATA and NXDOMAIN, then a node for each name
   */
  setZone(name: Name, serial: number, names: readonly Name[], words: Words): void {
    this.removeZone(name);
    const index = this.freeIndexes.pop() ?? this.zones.size;
    if (index >= this.serials.length) this.serials = grown(this.serials, index + 1);
    this.serials[index] = serial;
    const reader = new WordReader(words);
    const nodata = this.readAnswers(reader, NONE, index, 0);
    const nxdomain = this.readAnswers(reader, NONE, index, 0);
    const zone: ZoneEntry = { name, index, ring: NONE, nodata, nxdomain };
    this.zones.set(name, zone);
    this.fillNodes(zone, names, reader);
  }

  /**
   * Changes answers of a zone, adds names and removes names; passed over if the table lacks the zone.
   *
   * @param names with answers that are new, lower case
   * @param words packed: a node for each of `names`
   * @param removed names that do not exist any more; those that the table lacks are passed over
   */
  changeZone(name: Name, serial: number, names: readonly Name[], words: Words, removed: readonly Name[]): void {
    const zone = this.zones.get(name);
    if (zone === undefined) return;
    this.serials[zone.index] = serial;
    this.fillNodes(zone, names, new WordReader(words));
    for (const gone of removed) {
      const node = this.names.nodeOf(gone, zone.index);
      if (node >= 0) this.removeNode(zone, node);
    }
  }

  /** Removes a zone with all its names, if the table has it. */
  removeZone(name: Name): void {
    const zone = this.zones.get(name);
    if (zone === undefined) return;
    while (zone.ring !== NONE) this.removeNode(zone, zone.ring);
    this.giveAnswers(zone.nodata);
    this.giveAnswers(zone.nxdomain);
    this.zones.delete(name);
    this.freeIndexes.push(zone.index);
  }

  /**
   * Finds the answer for a question; the result stands in {@link found}.
   *
   * @param site the client's site, from 0
   * @param dnssecOk whether the client wants signatures (DO)
   * @returns whether the name lies in a zone of the table; if not, `found` is -1
   */
  find(name: LookupName, type: number, site = 0, dnssecOk = false): boolean {
    const { names } = this;
    let node = names.lookUp(name, 0);
    if (node >= 0) {
      this.found = this.formOf(this.answerOf(node, type), site, dnssecOk);
      return true;
    }
    for (let label = 1; label < name.labels; label += 1) {
      node = names.lookUp(name, label);
      if (node < 0) continue;
      const wildcard = names.nodes[node + NODE.wildcard] as number;
      const answer = wildcard >= 0 ? this.answerOf(wildcard, type) : (names.nodes[node + NODE.below] as number);
      this.found = this.formOf(answer, site, dnssecOk);
      return true;
    }
    this.found = -1;
    return false;
  }

  /** Whether a name is that of a zone: it has an SOA of its own. */
  isZone(name: LookupName): boolean {
    const node = this.names.lookUp(name, 0);
    return node >= 0 && this.ownAnswer(node, TYPE.SOA) >= 0;
  }

  /** Offset in `answers` of what a node answers for `type`, in its first form. */
  private answerOf(node: number, type: number): number {
    const { nodes } = this.names;
    if (type === TYPE.ANY) return nodes[node + NODE.any] as number;
    const answer = this.ownAnswer(node, type);
    return answer >= 0 ? answer : (nodes[node + NODE.fallback] as number);
  }

  private ownAnswer(node: number, type: number): number {
    const { nodes } = this.names;
    const answers = this.slots.words;
    let answer = nodes[node + NODE.first] as number;
    while (answer >= 0 && answers[answer + ANSWER.type] !== type) answer = answers[answer + ANSWER.next] as number;
    return answer;
  }

  /** The form of an answer for a client; a site that is not told apart counts as site 0. */
  private formOf(answer: number, site: number, dnssecOk: boolean): number {
    const answers = this.slots.words;
    const forms = answers[answer + ANSWER.dnssecForms] as number;
    const row = site < (answers[answer + ANSWER.sites] as number) ? site : 0;
    return answer + ANSWER.words * (row * forms + (dnssecOk ? forms - 1 : 0));
  }

  /** Adds the names that are new, then reads the node of each: a wildcard may stand behind the name it serves. */
  private fillNodes(zone: ZoneEntry, names: readonly Name[], reader: WordReader): void {
    const nodes = names.map((name) => {
      const present = this.names.nodeOf(name, zone.index);
      return present >= 0 ? present : this.addNode(zone, name);
    });
    nodes.forEach((node, i) => {
      this.readNode(zone, names[i] as Name, node, reader);
    });
  }

  private addNode(zone: ZoneEntry, name: Name): number {
    const node = this.names.add(name, zone.index, zone.name.length);
    const { nodes } = this.names;
    const after = zone.ring === NONE ? node : zone.ring;
    const before = zone.ring === NONE ? node : (nodes[after + NODE.previous] as number);
    nodes[node + NODE.next] = after;
    nodes[node + NODE.previous] = before;
    nodes[before + NODE.next] = node;
    nodes[after + NODE.previous] = node;
    nodes[node + NODE.first] = NONE;
    nodes[node + NODE.fallback] = zone.nodata;
    nodes[node + NODE.any] = zone.nodata;
    nodes[node + NODE.below] = zone.nxdomain;
    nodes[node + NODE.wildcard] = NONE;
    zone.ring = node;
    return node;
  }

  private removeNode(zone: ZoneEntry, node: number): void {
    const { nodes } = this.names;
    const next = nodes[node + NODE.next] as number;
    const previous = nodes[node + NODE.previous] as number;
    nodes[previous + NODE.next] = next;
    nodes[next + NODE.previous] = previous;
    zone.ring = next === node ? NONE : next;
    const answers = this.slots.words;
    for (let at = nodes[node + NODE.first] as number; at >= 0; ) {
      const following = answers[at + ANSWER.next] as number;
      this.giveAnswers(at);
      at = following;
    }
    this.giveOwn(zone, node);
    this.names.remove(node);
  }

  /** Gives back the answers of a node for types it lacks and names below, where they are not the zone's. */
  private giveOwn(zone: ZoneEntry, node: number): void {
    const { nodes } = this.names;
    const fallback = nodes[node + NODE.fallback] as number;
    const below = nodes[node + NODE.below] as number;
    if (fallback !== zone.nodata) this.giveAnswers(fallback);
    if (below !== zone.nxdomain && below !== fallback) this.giveAnswers(below);
  }

  /** Reads the answers of a node; those of types that it had before keep their place and their rotation. */
  private readNode(zone: ZoneEntry, name: Name, node: number, reader: WordReader): void {
    const { nodes } = this.names;
    const below = reader.number();
    const anyType = reader.number();
    const hasFallback = reader.number() === 1;
    const types = reader.number();
    this.giveOwn(zone, node);
    nodes[node + NODE.fallback] = hasFallback ? this.readAnswers(reader, NONE, zone.index, 0) : zone.nodata;
    nodes[node + NODE.below] =
      below === BELOW.own
        ? this.readAnswers(reader, NONE, zone.index, 0)
        : below === BELOW.fallback
          ? (nodes[node + NODE.fallback] as number)
          : zone.nxdomain;
    nodes[node + NODE.wildcard] =
      below === BELOW.wildcard ? this.names.nodeOf(`\x01*${name}` as Name, zone.index) : NONE;
    this.readTypes(node, types, zone.index, reader);
    nodes[node + NODE.any] = anyType === NONE ? (nodes[node + NODE.fallback] as number) : this.answerOf(node, anyType);
  }

  private readTypes(node: number, count: number, zone: number, reader: WordReader): void {
    const { nodes } = this.names;
    let former = nodes[node + NODE.first] as number;
    let last = NONE;
    nodes[node + NODE.first] = NONE;
    for (let i = 0; i < count; i += 1) {
      const type = reader.number();
      // Both are in ascending order.
      while (former >= 0 && (this.slots.words[former + ANSWER.type] as number) < type) former = this.giveFirst(former);
      const isSame = former >= 0 && this.slots.words[former + ANSWER.type] === type;
      const following = isSame ? (this.slots.words[former + ANSWER.next] as number) : former;
      const answer = this.readAnswers(reader, isSame ? former : NONE, zone, type);
      former = following;
      this.slots.words[answer + ANSWER.next] = NONE;
      if (last === NONE) nodes[node + NODE.first] = answer;
      else this.slots.words[last + ANSWER.next] = answer;
      last = answer;
    }
    while (former >= 0) former = this.giveFirst(former);
  }

  /** Gives an answer of a chain back; returns the next one. */
  private giveFirst(answer: number): number {
    const next = this.slots.words[answer + ANSWER.next] as number;
    this.giveAnswers(answer);
    return next;
  }

  /** Reads an answer in all its forms, in place of `former` if that has as many; returns its offset in `answers`. */
  private readAnswers(reader: WordReader, former: number, zone: number, type: number): number {
    const sites = reader.number();
    const dnssecForms = reader.number();
    const count = sites * dnssecForms;
    let at = former;
    if (former >= 0 && this.formCount(former) !== count) {
      this.giveAnswers(former);
      at = NONE;
    }
    const isNew = at < 0;
    if (isNew) at = this.slots.take(count);
    const answers = this.slots.words;
    for (let form = at; form < at + count * ANSWER.words; form += ANSWER.words) {
      if (isNew) answers[form + ANSWER.nextRotation] = Math.floor(this.random() * 0x10000);
      this.readForm(reader, form);
      answers[form + ANSWER.zone] = zone;
      answers[form + ANSWER.type] = type;
    }
    answers[at + ANSWER.sites] = sites;
    answers[at + ANSWER.dnssecForms] = dnssecForms;
    return at;
  }

  private readForm(reader: WordReader, at: number): void {
    const answers = this.slots.words;
    reader.copyAnswer(answers, at);
    const body = reader.octets(answers, at);
    const capacity = answers[at + ANSWER.capacity] as number;
    if (OctetHeap.sizeOf(body.length) !== capacity) {
      if (capacity > 0) this.heap.give(answers[at + ANSWER.bodyAt] as number, capacity);
      answers[at + ANSWER.bodyAt] = this.heap.take(body.length);
      answers[at + ANSWER.capacity] = OctetHeap.sizeOf(body.length);
    }
    this.heap.octets.set(body, answers[at + ANSWER.bodyAt] as number);
  }

  private formCount(answer: number): number {
    const answers = this.slots.words;
    return (answers[answer + ANSWER.sites] as number) * (answers[answer + ANSWER.dnssecForms] as number);
  }

  /** Gives back an answer in all its forms. */
  private giveAnswers(answer: number): void {
    const answers = this.slots.words;
    const count = this.formCount(answer);
    for (let form = answer; form < answer + count * ANSWER.words; form += ANSWER.words) {
      this.heap.give(answers[form + ANSWER.bodyAt] as number, answers[form + ANSWER.capacity] as number);
    }
    this.slots.give(answer, count);
  }
}

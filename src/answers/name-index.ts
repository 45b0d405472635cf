import type { Name } from "../wire/name.js";
import { LookupName } from "./lookup-name.js";
import type { OctetHeap } from "./octet-heap.js";
import { Slots } from "./slots.js";

/** Words of one name of one zone, its node. */
export const NODE = {
  hash: 0,
  /** Offset of the name in the heap's octets. */
  nameAt: 1,
  nameLength: 2,
  /** Index of the zone. */
  zone: 3,
  /** Offsets of answers: of the first type, for types without one, for ANY, and for names below that do not exist. */
  first: 4,
  fallback: 5,
  any: 6,
  below: 7,
  /** The node whose answers serve names below that do not exist; -1: `below` does. */
  wildcard: 8,
  /** The nodes of one zone in a ring. */
  next: 9,
  previous: 10,
  words: 11,
} as const;

/** Every name of every zone, found by hash. Names come and go; nothing is walked but the names on the way. */
export class NameIndex {
  private readonly slots = new Slots(NODE.words);
  private buckets = new Int32Array(1 << 9);
  private mask = (1 << 9) - 1;
  private count = 0;
  private readonly nameRoom = new LookupName();
  /** Octets of the apex by zone. */
  private readonly depths: number[] = [];

  /** @param heap holds the names */
  constructor(private readonly heap: OctetHeap) {}

  /** {@link NODE}`.words` for each name; the array is another one after {@link add}. */
  get nodes(): Int32Array<ArrayBuffer> {
    return this.slots.words;
  }

  /** Octets of memory that the arrays take. */
  get memoryOctets(): number {
    return this.slots.words.byteLength + this.buckets.byteLength;
  }

  /** Node of the name that begins with a label, or -1; of two zones that hold it, the deeper one's. */
  lookUp(name: LookupName, label: number): number {
    const { buckets, mask } = this;
    const nodes = this.slots.words;
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

  /** Node of a name of a zone, or -1. */
  nodeOf(name: Name, zone: number): number {
    const { nameRoom, buckets, mask, nodes } = this;
    nameRoom.set(name);
    const hash = nameRoom.hashes[0] as number;
    for (let slot = hash & mask; buckets[slot] !== 0; slot = (slot + 1) & mask) {
      const node = (buckets[slot] as number) - 1;
      if (nodes[node + NODE.hash] !== hash || nodes[node + NODE.zone] !== zone) continue;
      if (nodes[node + NODE.nameLength] !== name.length) continue;
      if (this.isName(nameRoom, 0, nodes[node + NODE.nameAt] as number, name.length)) return node;
    }
    return -1;
  }

  /**
   * Adds a name that the zone does not have yet; all other words of its node are zero.
   *
   * @param depth octets of the zone's apex: where zones lie in each other, the deeper one is found
   */
  add(name: Name, zone: number, depth: number): number {
    const node = this.slots.take(1);
    const nameAt = this.heap.take(name.length);
    for (let i = 0; i < name.length; i += 1) this.heap.octets[nameAt + i] = name.charCodeAt(i);
    const { nodes } = this;
    this.nameRoom.set(name);
    nodes[node + NODE.hash] = this.nameRoom.hashes[0] as number;
    nodes[node + NODE.nameAt] = nameAt;
    nodes[node + NODE.nameLength] = name.length;
    nodes[node + NODE.zone] = zone;
    this.depths[zone] = depth;
    this.count += 1;
    // At most half full, so that a miss ends soon.
    if (this.count * 2 > this.buckets.length) this.rehash(this.buckets.length * 2);
    this.link(node);
    return node;
  }

  remove(node: number): void {
    const { nodes } = this;
    this.unlink(node);
    this.heap.give(nodes[node + NODE.nameAt] as number, nodes[node + NODE.nameLength] as number);
    this.slots.give(node, 1);
    this.count -= 1;
  }

  private isName(name: LookupName, start: number, nameAt: number, length: number): boolean {
    const { octets, words } = this.heap;
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

  /** Puts a node where it is found: before the same name of a zone that lies above. */
  private link(added: number): void {
    const { buckets, mask, nodes } = this;
    let node = added;
    for (let slot = (nodes[node + NODE.hash] as number) & mask; ; slot = (slot + 1) & mask) {
      const entry = buckets[slot] as number;
      if (entry === 0) {
        buckets[slot] = node + 1;
        return;
      }
      if (nodes[entry - 1 + NODE.hash] !== nodes[node + NODE.hash] || !this.isDeeper(node, entry - 1)) continue;
      buckets[slot] = node + 1;
      node = entry - 1;
    }
  }

  private isDeeper(node: number, other: number): boolean {
    const { nodes, depths } = this;
    return (
      (depths[nodes[node + NODE.zone] as number] as number) > (depths[nodes[other + NODE.zone] as number] as number)
    );
  }

  /** Closes the gap that the node leaves, so that every other one is still found from its own place on. */
  private unlink(node: number): void {
    const { buckets, mask, nodes } = this;
    let gap = (nodes[node + NODE.hash] as number) & mask;
    while (buckets[gap] !== node + 1) gap = (gap + 1) & mask;
    for (let slot = (gap + 1) & mask; buckets[slot] !== 0; slot = (slot + 1) & mask) {
      const home = (nodes[(buckets[slot] as number) - 1 + NODE.hash] as number) & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      buckets[gap] = buckets[slot] as number;
      gap = slot;
    }
    buckets[gap] = 0;
  }

  private rehash(size: number): void {
    const { buckets } = this;
    this.buckets = new Int32Array(size);
    this.mask = size - 1;
    for (const entry of buckets) if (entry !== 0) this.link(entry - 1);
  }
}

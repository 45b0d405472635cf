import { grown } from "../wire/growing-arrays.js";
import { wordsOf } from "../wire/words.js";

/** Sizes of blocks: 16, 32, 48, 64, and from there on two for each doubling. */
const SIZES = Array.from({ length: 64 }, (_, index) =>
  index < 2 ? 16 * (index + 1) : (index % 2 === 0 ? 48 : 64) * 2 ** ((index >>> 1) - 1),
);

/**
 * Octets in one array, taken and given back in blocks of a few sizes. A block that was given back serves the next one
 * of its size, or is cut up for smaller ones: however long blocks of changing length come and go, the array does not
 * grow beyond what the sizes need at their peaks.
 */
export class OctetHeap {
  octets = new Uint8Array(1 << 16);
  /** The same memory by words; every block begins at a whole word. */
  words = wordsOf(this.octets);
  private used = 0;
  /** Offsets of free blocks by size. */
  private readonly free: number[][] = SIZES.map(() => []);
  /** No free block is larger than those of this size. */
  private largestFree = -1;

  /** Octets of the block that holds `length`. */
  static sizeOf(length: number): number {
    return SIZES[sizeIndex(length)] as number;
  }

  /** Offset of a block for `length` octets. */
  take(length: number): number {
    const index = sizeIndex(length);
    const own = this.free[index]?.pop();
    if (own !== undefined) return own;
    const size = SIZES[index] as number;
    for (let larger = index + 1; larger <= this.largestFree; larger += 1) {
      const at = this.free[larger]?.pop();
      if (at === undefined) continue;
      this.giveRest(at + size, (SIZES[larger] as number) - size);
      return at;
    }
    this.largestFree = Math.min(this.largestFree, index);
    const at = this.used;
    this.used += size;
    if (this.used > this.octets.length) {
      this.octets = grown(this.octets, this.used);
      this.words = wordsOf(this.octets);
    }
    return at;
  }

  /** Gives back the block at `at` that was taken for `length` octets. */
  give(at: number, length: number): void {
    const index = sizeIndex(length);
    this.free[index]?.push(at);
    this.largestFree = Math.max(this.largestFree, index);
  }

  /** Cuts what is left of a block into blocks; all sizes are multiples of 16. */
  private giveRest(from: number, length: number): void {
    let at = from;
    for (let left = length; left > 0; ) {
      let index = sizeIndex(left);
      if ((SIZES[index] as number) > left) index -= 1;
      const size = SIZES[index] as number;
      this.free[index]?.push(at);
      at += size;
      left -= size;
    }
  }
}

/** Index of the smallest size that holds `length` octets. */
function sizeIndex(length: number): number {
  if (length <= 16) return 0;
  if (length <= 32) return 1;
  const log = 31 - Math.clz32(length - 1);
  return 2 * (log - 4) + (length <= 3 * 2 ** (log - 1) ? 0 : 1);
}

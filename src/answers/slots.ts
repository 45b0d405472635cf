import { grown } from "../wire/growing-arrays.js";

/** Slots of equal size in one array of words, taken and given back singly or in runs. */
export class Slots {
  words: Int32Array<ArrayBuffer>;
  private used = 0;
  /** Offsets of runs that were given back, by their number of slots. */
  private readonly free = new Map<number, number[]>();

  /** @param size words of a slot */
  constructor(private readonly size: number) {
    this.words = new Int32Array(size << 8);
  }

  /** Words used so far, given-back ones included: every slot lies below. */
  get end(): number {
    return this.used;
  }

  /** Offset of `count` slots in a row, all zero. */
  take(count: number): number {
    const length = count * this.size;
    const freed = this.free.get(count)?.pop();
    if (freed !== undefined) {
      this.words.fill(0, freed, freed + length);
      return freed;
    }
    const at = this.used;
    this.used += length;
    if (this.used > this.words.length) this.words = grown(this.words, this.used);
    return at;
  }

  give(at: number, count: number): void {
    const runs = this.free.get(count);
    if (runs === undefined) this.free.set(count, [at]);
    else runs.push(at);
  }
}

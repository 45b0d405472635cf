import { CLASS, HEADER_OCTETS } from "./constants.js";
import { grown } from "./growing-arrays.js";
import { lowerName, type Name, parentName } from "./name.js";
import { namesInside, type ResourceRecord } from "./rdata.js";

/** Stands for "the name in the question" as an owner: always a pointer to it, however long it is. */
export const QNAME = Symbol("the name in the question");

/** A record to encode; the owner may be the question's name, whatever that will be. */
export interface EncodableRecord extends Omit<ResourceRecord, "name"> {
  readonly name: Name | typeof QNAME;
}

/** A compression pointer to the question's name, which always begins behind the header (RFC 1035 §4.1.4). */
const POINTER_TO_QUESTION = 0xc000 | HEADER_OCTETS;

/** Pointers have 14 bits (RFC 1035 §4.1.4); the room left is for a longer question than the one encoded for. */
const LAST_POINTER_TARGET = 0x3fff - 255;

/**
 * Writes records one behind the other, names compressed (RFC 1035 §4.1.4) where RFC 3597 §4 allows it. One writer serves
 * many messages, one after the other; its room grows to the longest.
 */
export class RecordWriter {
  /** Holds what has been written in its first {@link length} octets. */
  room: Uint8Array = new Uint8Array(1 << 12);
  length = 0;
  /** Offsets of the compression pointers, without those to the beginning of the question's name. */
  readonly pointers: number[] = [];
  /** Offset in the message of the first octet that is written. */
  private base = 0;
  private readonly known = new Map<Name, number>();
  /** The names in `known` that came with records, in the order in which they were written. */
  private readonly added: { readonly name: Name; readonly at: number }[] = [];

  /** Begins anew. @param base offset in the message of what is written @param question whose name may be pointed to */
  begin(base: number, question?: Name): void {
    this.base = base;
    this.length = 0;
    this.pointers.length = 0;
    this.added.length = 0;
    this.known.clear();
    if (question === undefined) return;
    for (let at: Name | undefined = lowerName(question), offset = HEADER_OCTETS; at !== undefined && at.length > 1; ) {
      this.known.set(at, offset);
      offset += 1 + at.charCodeAt(0);
      at = parentName(at);
    }
  }

  /** Takes back what was written from `length` octets on. */
  cutTo(length: number): void {
    this.length = length;
    while ((this.pointers.at(-1) ?? -1) >= length) this.pointers.pop();
    for (let last = this.added.at(-1); last !== undefined && last.at >= length; last = this.added.at(-1)) {
      this.known.delete(last.name);
      this.added.pop();
    }
  }

  record(record: EncodableRecord): void {
    if (record.name === QNAME) this.u16(POINTER_TO_QUESTION);
    else this.name(record.name, true);
    this.u16(record.type);
    this.u16(CLASS.IN);
    this.u16(record.ttl >>> 16);
    this.u16(record.ttl & 0xffff);
    const lengthAt = this.length;
    this.u16(0);
    let copied = 0;
    for (const { offset, length: octets, compressible, name } of namesInside(record.type, record.rdata)) {
      for (; copied < offset; copied += 1) this.u8(record.rdata[copied] as number);
      copied += octets;
      this.name(name, compressible);
    }
    for (; copied < record.rdata.length; copied += 1) this.u8(record.rdata[copied] as number);
    const rdataLength = this.length - lengthAt - 2;
    this.room[lengthAt] = rdataLength >>> 8;
    this.room[lengthAt + 1] = rdataLength;
  }

  private name(name: Name, compressible: boolean): void {
    const { known } = this;
    for (let at: Name | undefined = name; at !== undefined; at = parentName(at)) {
      const key = lowerName(at);
      const target = compressible ? known.get(key) : undefined;
      if (target !== undefined) {
        this.pointers.push(this.length);
        this.u16(0xc000 | target);
        return;
      }
      const offset = this.base + this.length;
      if (key.length > 1 && !known.has(key) && offset <= LAST_POINTER_TARGET) {
        known.set(key, offset);
        this.added.push({ name: key, at: this.length });
      }
      const end = at.charCodeAt(0);
      for (let i = 0; i <= end; i += 1) this.u8(at.charCodeAt(i));
    }
  }

  private u8(value: number): void {
    if (this.length === this.room.length) this.room = grown(this.room, this.length + 1);
    this.room[this.length] = value;
    this.length += 1;
  }

  private u16(value: number): void {
    this.u8(value >>> 8);
    this.u8(value);
  }
}

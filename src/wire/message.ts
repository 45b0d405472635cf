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

/** What stands behind the question of a message. */
export interface Sections {
  readonly answer: readonly EncodableRecord[];
  readonly authority: readonly EncodableRecord[];
  readonly additional: readonly EncodableRecord[];
}

/** The encoded sections, and what it takes to put them behind another question than the one they were encoded for. */
export interface EncodedSections {
  /** Everything behind the question. */
  readonly octets: Uint8Array;
  /**
   * Offsets in `octets` of the compression pointers that move with the length of the question's name; the pointers to
   * its beginning do not.
   */
  readonly pointers: readonly number[];
  /** Offset in `octets` of each record: answer, authority, additional. */
  readonly records: readonly number[];
}

/** Octets of a question beside its name: type and class (RFC 1035 §4.1.2). */
export const QUESTION_TAIL_OCTETS = 4;

/** A compression pointer to the question's name, which always begins behind the header (RFC 1035 §4.1.4). */
const POINTER_TO_QUESTION = 0xc000 | HEADER_OCTETS;

/** Pointers have 14 bits (RFC 1035 §4.1.4); the room left is for a longer question than the one encoded for. */
const LAST_POINTER_TARGET = 0x3fff - 255;

/** Where messages are encoded, one after the other; grows to the longest. */
let room: Uint8Array = new Uint8Array(1 << 12);

/**
 * Encodes the sections of a message whose question is `question`, names compressed (RFC 1035 §4.1.4) where RFC 3597 §4
 * allows it. The codec of `dns2` is not used here: it compresses SRV targets, which RFC 2782 forbids, cannot carry a
 * dot inside a label, and does not tell where it wrote pointers (see `test/wire/message.test.ts`).
 *
 * Encoded for a name, the result also fits behind every longer name that ends in it, once {@link EncodedSections.pointers}
 * have been moved by the difference.
 */
export function encodeSections(question: Name, sections: Sections): EncodedSections {
  /** Octets written so far, in {@link room}. */
  let length = 0;
  const pointers: number[] = [];
  const records: number[] = [];
  const base = HEADER_OCTETS + question.length + QUESTION_TAIL_OCTETS;
  const known = new Map<Name, number>();
  for (let at: Name | undefined = lowerName(question), offset = HEADER_OCTETS; at !== undefined && at.length > 1; ) {
    known.set(at, offset);
    offset += 1 + at.charCodeAt(0);
    at = parentName(at);
  }

  const u8 = (value: number): void => {
    if (length === room.length) room = grown(room, length + 1);
    room[length] = value;
    length += 1;
  };
  const u16 = (value: number): void => {
    u8(value >>> 8);
    u8(value);
  };
  const writeName = (name: Name, compressible: boolean): void => {
    for (let at: Name | undefined = name; at !== undefined; at = parentName(at)) {
      const key = lowerName(at);
      const target = compressible ? known.get(key) : undefined;
      if (target !== undefined) {
        pointers.push(length);
        u16(0xc000 | target);
        return;
      }
      const offset = base + length;
      if (key.length > 1 && !known.has(key) && offset <= LAST_POINTER_TARGET) known.set(key, offset);
      const end = at.charCodeAt(0);
      for (let i = 0; i <= end; i += 1) u8(at.charCodeAt(i));
    }
  };
  const writeRecord = (record: EncodableRecord): void => {
    records.push(length);
    if (record.name === QNAME) u16(POINTER_TO_QUESTION);
    else writeName(record.name, true);
    u16(record.type);
    u16(CLASS.IN);
    u16(record.ttl >>> 16);
    u16(record.ttl & 0xffff);
    const lengthAt = length;
    u16(0);
    let copied = 0;
    for (const { offset, length: octets, compressible, name } of namesInside(record.type, record.rdata)) {
      for (; copied < offset; copied += 1) u8(record.rdata[copied] as number);
      copied += octets;
      writeName(name, compressible);
    }
    for (; copied < record.rdata.length; copied += 1) u8(record.rdata[copied] as number);
    const rdataLength = length - lengthAt - 2;
    room[lengthAt] = rdataLength >>> 8;
    room[lengthAt + 1] = rdataLength;
  };

  for (const record of sections.answer) writeRecord(record);
  for (const record of sections.authority) writeRecord(record);
  for (const record of sections.additional) writeRecord(record);
  return { octets: Uint8Array.from(room.subarray(0, length)), pointers, records };
}

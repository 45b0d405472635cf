import { HEADER_OCTETS } from "./constants.js";
import type { Name } from "./name.js";
import { type EncodableRecord, RecordWriter } from "./record-writer.js";

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

/** Where messages are encoded, one after the other. */
const writer = new RecordWriter();

/**
 * Encodes the sections of a message whose question is `question`, names compressed (RFC 1035 §4.1.4) where RFC 3597 §4
 * allows it. The codec of `dns2` is not used here: it compresses SRV targets, which RFC 2782 forbids, cannot carry a
 * dot inside a label, and does not tell where it wrote pointers (see `test/wire/message.test.ts`).
 *
 * Encoded for a name, the result also fits behind every longer name that ends in it, once {@link EncodedSections.pointers}
 * have been moved by the difference.
 */
export function encodeSections(question: Name, sections: Sections): EncodedSections {
  const records: number[] = [];
  writer.begin(HEADER_OCTETS + question.length + QUESTION_TAIL_OCTETS, question);
  for (const record of [...sections.answer, ...sections.authority, ...sections.additional]) {
    records.push(writer.length);
    writer.record(record);
  }
  const octets = Uint8Array.from(writer.room.subarray(0, writer.length));
  return { octets, pointers: [...writer.pointers], records };
}

import type { Name } from "../wire/name.js";

/**
 * An answer, encoded but for what only a query can tell: id, RD, the question's spelling, EDNS.
 *
 * It is compiled for a question name of `baseLength` octets, and serves every longer name that ends in that one: the
 * compression pointers listed in `pointers` are then moved by the difference. All fields are plain data, so that an
 * answer can be posted to another thread.
 */
export interface CompiledAnswer {
  /** The header's second word without QR and RD: AA and the response code. */
  readonly flags: number;
  readonly answerCount: number;
  readonly authorityCount: number;
  readonly additionalCount: number;
  /** Everything behind the question, without OPT. */
  readonly body: Uint8Array;
  /** Octets of the question's name this was compiled for, root label included. */
  readonly baseLength: number;
  /** Offsets in `body` of the compression pointers that move when the question's name is longer. */
  readonly pointers: readonly number[];
  /** Offset in `body` of the zone's serial, which is written as the answer is sent; -1 without one. */
  readonly serialAt: number;
  /** Octets of `body` that must be sent whole; what follows is additional data that may be left out (RFC 2181 §9). */
  readonly requiredLength: number;
  /** Records in the additional section within `requiredLength`. */
  readonly requiredAdditional: number;
  /** The block of equally long address records whose order changes from query to query. */
  readonly rotation: Rotation;
}

export interface Rotation {
  /** Offset in `body` of the first of them. */
  readonly at: number;
  /** Number of records; below 2 nothing is reordered. */
  readonly count: number;
  /** Octets of each. */
  readonly stride: number;
  /** How many of them are sent: the first of each order, `count` unless the endpoint caps its answers. */
  readonly sent: number;
}

/** Nothing to reorder. */
export const NO_ROTATION: Rotation = { at: 0, count: 0, stride: 0, sent: 0 };

/** Everything that can be asked of one name. */
export interface CompiledNode {
  /** The types that have an answer of their own. */
  readonly types: readonly { readonly type: number; readonly answer: CompiledAnswer }[];
  /** For every other type: the zone's NODATA, the end of a chain of aliases, or the referral at a cut. */
  readonly fallback: CompiledAnswer | "nodata";
  /** The type whose answer serves the query type ANY (RFC 8482 §4.1: one RRset of those there are); none: `fallback`. */
  readonly anyType?: number;
  /** For names below this one that do not exist: the zone's NXDOMAIN, the node of its wildcard, or the referral. */
  readonly below: "nxdomain" | "wildcard" | "fallback";
}

/** A name with its answers. */
export interface NamedNode {
  /** Lower case. */
  readonly name: Name;
  readonly node: CompiledNode;
}

/** All answers of a zone. */
export interface CompiledZone {
  /** Apex, lower case. */
  readonly name: Name;
  readonly serial: number;
  /** For a type that an existing name lacks; compiled for the apex, fits behind every name of the zone. */
  readonly nodata: CompiledAnswer;
  /** For names that do not exist; likewise. */
  readonly nxdomain: CompiledAnswer;
  /** Every existing name. */
  readonly nodes: readonly NamedNode[];
}

/** A change of health as the table sees it: new answers for names it has, and the serial they come with. */
export interface ZoneUpdate {
  readonly zone: Name;
  readonly serial: number;
  readonly nodes: readonly NamedNode[];
}

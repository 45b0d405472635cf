import type { Name } from "../wire/name.js";

/**
 * An answer, encoded but for what only a query can tell: id, RD, the question's spelling, EDNS.
 *
 * It is compiled for a question name of `baseLength` octets, and serves every longer name that ends in that one: the
 * compression pointers listed in `pointers` are then moved by the difference. Its numbers are the packed words of
 * `codec.ts`, by name; all fields are plain data.
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
  /**
   * Offset in `body` of the zone's serial, which is written as the answer is sent; -1 without one. A signature of the
   * SOA (RFC 4034 §3) covers the serial: it would be written at the same moment, at an offset of its own beside this one.
   */
  readonly serialAt: number;
  /** Octets of `body` that must be sent whole; what follows is additional data that may be left out (RFC 2181 §9). */
  readonly requiredLength: number;
  /** Records in the additional section within `requiredLength`. */
  readonly requiredAdditional: number;
  /**
   * Offset in `body` of the rotated block: equally long address records whose order changes from query to query. It may
   * stand anywhere; what follows it moves up when not all of it is sent.
   */
  readonly rotationAt: number;
  /** Records in the block; below 2 nothing is reordered. */
  readonly rotationCount: number;
  /** Octets of each record of the block. */
  readonly rotationStride: number;
  /**
   * Records of the block that one reply holds. Less than `rotationCount` makes sliding windows: `rotationCount` of
   * them, each of so many neighbours, the first after the last.
   */
  readonly rotationSent: number;
}

/** An answer in several forms, chosen by two small indexes: the client's site, and whether it set DO (RFC 3225). */
export interface AnswerVariants {
  /** Sites that are told apart, at least 1; every other site is answered as site 0. */
  readonly sites: number;
  /** Whether clients with DO get another form. */
  readonly byDnssec: boolean;
  /** Site by site: the form without DO, then, with `byDnssec`, the one with it. */
  readonly forms: readonly CompiledAnswer[];
}

/** What is answered: the same to everyone, or one of several forms. */
export type Answers = CompiledAnswer | AnswerVariants;

/** Everything that can be asked of one name. */
export interface CompiledNode {
  /** The types that have an answer of their own. */
  readonly types: readonly { readonly type: number; readonly answer: Answers }[];
  /** For every other type: the zone's NODATA, or one of its own: the end of a chain of aliases, the referral at a cut. */
  readonly fallback: Answers | "nodata";
  /** The type whose answer serves the query type ANY (RFC 8482 §4.1: one RRset of those there are); none: `fallback`. */
  readonly anyType?: number;
  /**
   * For names below this one that do not exist: the zone's NXDOMAIN, the node of its wildcard, the referral, or an
   * NXDOMAIN of its own.
   */
  readonly below: Answers | "nxdomain" | "wildcard" | "fallback";
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
  readonly nodata: Answers;
  /** For names that do not exist; likewise. */
  readonly nxdomain: Answers;
  /** Every existing name. */
  readonly nodes: readonly NamedNode[];
}

/** What a change of a zone does to its answers. */
export interface ZoneUpdate {
  readonly zone: Name;
  readonly serial: number;
  /** Names with new answers; those that the table lacks are added. */
  readonly nodes: readonly NamedNode[];
  /** Names that do not exist any more. */
  readonly removed: readonly Name[];
}

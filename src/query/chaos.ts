import { CLASS, FLAG, HEADER_OCTETS, TYPE } from "../wire/constants.js";
import { lowerName, type Name, parseName } from "../wire/name.js";
import type { Question } from "./parse.js";
import type { QueryPolicy } from "./policy.js";

/** Names of class CHAOS that servers answer about themselves (RFC 4892 §2, and BIND's custom before it). */
const IDENTITY_NAMES: ReadonlySet<Name> = new Set([parseName("id.server."), parseName("hostname.bind.")]);
const VERSION_NAMES: ReadonlySet<Name> = new Set([parseName("version.server."), parseName("version.bind.")]);

/** What a CHAOS question is answered with; undefined if it is to be refused, as all are unless configured. */
export function chaosText(
  request: Uint8Array,
  question: Question,
  policy: QueryPolicy | undefined,
): Uint8Array | undefined {
  if (policy === undefined || (question.type !== TYPE.TXT && question.type !== TYPE.ANY)) return undefined;
  if (policy.identity === undefined && policy.version === undefined) return undefined;
  const octets = request.subarray(HEADER_OCTETS, HEADER_OCTETS + question.nameLength);
  const name = lowerName(String.fromCharCode(...octets) as Name);
  if (IDENTITY_NAMES.has(name)) return policy.identity;
  return VERSION_NAMES.has(name) ? policy.version : undefined;
}

/**
 * Writes the reply to a CHAOS question, whose own octets stand in the reply already: one TXT record of one string with
 * TTL 0.
 *
 * @param text at most 255 octets
 * @param flags RD, if it was set
 * @returns the end of the reply
 */
export function writeChaos(reply: Uint8Array, question: Question, text: Uint8Array, flags: number): number {
  const word = FLAG.QR | FLAG.AA | flags;
  reply[2] = word >>> 8;
  reply[3] = word & 0xff;
  reply.set([0, 1, 0, 1, 0, 0, 0, 0], 4);
  const at = question.end;
  const length = text.length + 1;
  reply.set([0xc0, HEADER_OCTETS, 0, TYPE.TXT, 0, CLASS.CH, 0, 0, 0, 0, length >>> 8, length & 0xff, text.length], at);
  reply.set(text, at + 13);
  return at + 13 + text.length;
}

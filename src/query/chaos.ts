import { type ReplyPlace, writeHeader } from "../answers/encode.js";
import { CLASS, FLAG, HEADER_OCTETS, TYPE } from "../wire/constants.js";
import { type Name, parseName } from "../wire/name.js";
import type { Query } from "./decode.js";
import type { QueryPolicy } from "./policy.js";

/** Names of class CHAOS that servers answer about themselves (RFC 4892 §2, and BIND's custom before it). */
const IDENTITY_NAMES: readonly Name[] = [parseName("id.server."), parseName("hostname.bind.")];
const VERSION_NAMES: readonly Name[] = [parseName("version.server."), parseName("version.bind.")];

/** Octets of a record with a compressed owner, and of the length of its one string, in front of the text. */
const TEXT_AT = 13;

/** What a CHAOS question is answered with; undefined if it is to be refused, as all are unless configured. */
export function chaosText({ type, name }: Query, policy: QueryPolicy | undefined): Uint8Array | undefined {
  if (policy === undefined || (type !== TYPE.TXT && type !== TYPE.ANY)) return undefined;
  for (const own of IDENTITY_NAMES) if (name.is(own)) return policy.identity;
  for (const own of VERSION_NAMES) if (name.is(own)) return policy.version;
  return undefined;
}

/**
 * Writes the reply to a CHAOS question, whose own octets stand in the reply already: one TXT record of one string with
 * TTL 0.
 *
 * @param text at most 255 octets
 * @returns octets of the reply so far
 */
export function writeChaos(reply: ReplyPlace, query: Query, text: Uint8Array): number {
  const { octets, at } = reply;
  writeHeader(reply, FLAG.QR | FLAG.AA | (query.flags & FLAG.RD), 1, 0, 0);
  const recordAt = at + query.questionEnd;
  octets.fill(0, recordAt, recordAt + TEXT_AT);
  octets[recordAt] = 0xc0;
  octets[recordAt + 1] = HEADER_OCTETS;
  octets[recordAt + 3] = TYPE.TXT;
  octets[recordAt + 5] = CLASS.CH;
  octets[recordAt + 10] = (text.length + 1) >>> 8;
  octets[recordAt + 11] = text.length + 1;
  octets[recordAt + 12] = text.length;
  octets.set(text, recordAt + TEXT_AT);
  return query.questionEnd + TEXT_AT + text.length;
}

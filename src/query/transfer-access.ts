import type { TransferRequest } from "../transfer/request.js";
import { addressText } from "../wire/address.js";
import { FLAG, HEADER_OCTETS, RECORD_FIXED_OCTETS, TYPE } from "../wire/constants.js";
import { lowerName, type Name, NameError, readName } from "../wire/name.js";
import type { TsigKey } from "../wire/tsig.js";
import { SOA_SERIAL_FROM_END } from "../zone/live-zone.js";
import { isWithinPrefixes, type Prefix } from "./access-list.js";
import type { Client } from "./client.js";
import { type Query, u16 } from "./decode.js";

/** Who may transfer a zone: an address, and a key if one is named. */
export interface TransferRule extends Prefix {
  /** Must have signed the request. Absent = the address suffices. Lower case. */
  readonly key?: Name;
}

/** Who may transfer what; plain data, so that it can be posted to threads. */
export interface TransferPolicy {
  /** By name, lower case. */
  readonly keys: ReadonlyMap<Name, TsigKey>;
  /** Rules by zone, lower case; nobody may transfer a zone that is not named. */
  readonly zones: ReadonlyMap<Name, readonly TransferRule[]>;
}

/** Whether a type asks for a transfer. */
export function isTransferType(type: number): boolean {
  return type === TYPE.AXFR || type === TYPE.IXFR;
}

/**
 * Whether one of the rules lets a client transfer a zone.
 *
 * @param key that signed the request validly; undefined = it is not signed
 */
export function mayTransfer(rules: readonly TransferRule[], client: Client, key: Name | undefined): boolean {
  for (const rule of rules) {
    if ((rule.key === undefined || rule.key === key) && isWithinPrefixes(client, [rule])) return true;
  }
  return false;
}

/** The rules of the zone that a query names; undefined if there are none. */
export function rulesOf(query: Query, policy: TransferPolicy | undefined): readonly TransferRule[] | undefined {
  if (policy === undefined || policy.zones.size === 0) return undefined;
  return policy.zones.get(lowerName(questionName(query)));
}

/**
 * What a query for a transfer asks for.
 *
 * @returns undefined if it asks for an incremental one without saying from where (RFC 1995 §3)
 */
export function readTransferRequest(
  query: Query,
  signature: TransferRequest["signature"],
): TransferRequest | undefined {
  const { message, at, flags, client, type, hasEdns } = query;
  const serial = type === TYPE.IXFR ? readSerial(query) : undefined;
  if (type === TYPE.IXFR && serial === undefined) return undefined;
  return {
    id: u16(message, at),
    zone: questionName(query),
    type,
    ...(serial === undefined ? {} : { serial }),
    rd: (flags & FLAG.RD) !== 0,
    hasEdns,
    client: addressText(client.octets.subarray(client.at, client.at + client.length)),
    ...(signature && { signature }),
  };
}

function questionName({ message, at }: Query): Name {
  return readName(message.subarray(at), HEADER_OCTETS).name;
}

/** The serial in the SOA record of the authority section, which begins it; undefined without one. */
function readSerial({ message, at, length, questionEnd, answerRecords }: Query): number | undefined {
  if (answerRecords !== 0 || u16(message, at + 8) === 0) return undefined;
  const octets = message.subarray(at, at + length);
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  try {
    const { end: typeAt } = readName(octets, questionEnd);
    if (view.getUint16(typeAt) !== TYPE.SOA) return undefined;
    const rdataAt = typeAt + RECORD_FIXED_OCTETS;
    const rdataEnd = rdataAt + view.getUint16(typeAt + 8);
    const numbersAt = readName(octets, readName(octets, rdataAt).end).end;
    return numbersAt + SOA_SERIAL_FROM_END === rdataEnd ? view.getUint32(numbersAt) : undefined;
  } catch (error) {
    if (error instanceof NameError || error instanceof RangeError) return undefined;
    throw error;
  }
}

import { createHmac, timingSafeEqual } from "node:crypto";
import { CLASS, HEADER_OCTETS, RECORD_FIXED_OCTETS, TYPE } from "./constants.js";
import { lowerName, type Name, NameError, nameOctets, parseName, readName } from "./name.js";

/** Transaction signatures (RFC 8945): reading, verifying and writing the TSIG record of a message. */

/** The algorithms that are used here: those of RFC 8945 §6 that must be implemented, and the longest. */
export const TSIG_ALGORITHMS = ["hmac-sha256", "hmac-sha512"] as const;

export type TsigAlgorithm = (typeof TSIG_ALGORITHMS)[number];

/** A secret that two servers share. */
export interface TsigKey {
  /** Lower case. */
  readonly name: Name;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Uint8Array;
}

/** Values of the Error field (RFC 8945 §3). */
export const TSIG_ERROR = { NONE: 0, BADSIG: 16, BADKEY: 17, BADTIME: 18, BADTRUNC: 22 } as const;

/** Seconds that two clocks may differ (RFC 8945 §10). */
const TSIG_FUDGE_SECONDS = 300;

/** A TSIG record as it was read. */
export interface TsigRecord {
  /** Where the record begins in the message, and with it what is not signed. */
  readonly start: number;
  /** Lower case. */
  readonly keyName: Name;
  /** Lower case; may be one that is not known here. */
  readonly algorithm: Name;
  /** Seconds since 1970, 48 bits. */
  readonly timeSigned: number;
  /** Seconds. */
  readonly fudge: number;
  readonly mac: Uint8Array;
  readonly originalId: number;
  readonly error: number;
  readonly other: Uint8Array;
}

/** What the verification of a message comes to. */
export type TsigVerdict =
  | { readonly kind: "valid"; readonly key: TsigKey }
  /** The error is told without a signature. */
  | { readonly kind: "unknown-key" | "bad-signature" }
  /** The key is right, so the error is told with a signature. */
  | { readonly kind: "bad-time" | "truncated"; readonly key: TsigKey }
  /** The MAC has a length that it cannot have (RFC 8945 §5.2.2.1). */
  | { readonly kind: "malformed" };

const ALGORITHM_NAMES: Readonly<Record<TsigAlgorithm, Name>> = {
  "hmac-sha256": parseName("hmac-sha256"),
  "hmac-sha512": parseName("hmac-sha512"),
};

const HASHES: Readonly<Record<TsigAlgorithm, { readonly hash: string; readonly octets: number }>> = {
  "hmac-sha256": { hash: "sha256", octets: 32 },
  "hmac-sha512": { hash: "sha512", octets: 64 },
};

/** Octets of the fields between algorithm and MAC: time, fudge, MAC size (RFC 8945 §4.2). */
const FIELDS_BEFORE_MAC = 10;

/** Octets of the fields between MAC and other data: original ID, error, other length. */
const FIELDS_BEHIND_MAC = 6;

/** Shortest MAC that any policy may accept, in octets (RFC 8945 §5.2.2.1); half the hash is longer for both. */
const LEAST_MAC_OCTETS = 10;

/** Octets of the server's time in the other data of BADTIME (RFC 8945 §5.2.3). */
const TIME_OCTETS = 6;

/**
 * Reads a TSIG record.
 *
 * @param message ends with the record
 * @param start where the record begins
 * @returns undefined if it is malformed
 */
export function readTsig(message: Uint8Array, start: number): TsigRecord | undefined {
  try {
    const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
    const { name, end: typeAt } = readName(message, start);
    if (view.getUint16(typeAt) !== TYPE.TSIG) return undefined;
    if (view.getUint16(typeAt + 2) !== CLASS.ANY || view.getUint32(typeAt + 4) !== 0) return undefined;
    const rdataAt = typeAt + RECORD_FIXED_OCTETS;
    if (rdataAt + view.getUint16(typeAt + 8) !== message.length) return undefined;
    const { name: algorithm, end: timeAt } = readName(message, rdataAt);
    const macAt = timeAt + FIELDS_BEFORE_MAC;
    const macEnd = macAt + view.getUint16(timeAt + 8);
    const otherAt = macEnd + FIELDS_BEHIND_MAC;
    if (otherAt + view.getUint16(macEnd + 4) !== message.length) return undefined;
    return {
      start,
      keyName: lowerName(name),
      algorithm: lowerName(algorithm),
      timeSigned: view.getUint16(timeAt) * 2 ** 32 + view.getUint32(timeAt + 2),
      fudge: view.getUint16(timeAt + 6),
      mac: copyOf(message, macAt, macEnd),
      originalId: view.getUint16(macEnd),
      error: view.getUint16(macEnd + 2),
      other: copyOf(message, otherAt, message.length),
    };
  } catch (error) {
    if (error instanceof NameError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Verifies a request, or a response that is one message, in the order of RFC 8945 §5.2: key, MAC, time, truncation. A MAC
 * that is shorter than its hash is refused even where it is right.
 *
 * @param record of `message`
 * @param keys by name
 * @param nowSeconds seconds since 1970
 * @param requestMac MAC of the request, if this is a response
 */
export function verifyTsig(
  message: Uint8Array,
  record: TsigRecord,
  keys: ReadonlyMap<Name, TsigKey>,
  nowSeconds: number,
  requestMac?: Uint8Array,
): TsigVerdict {
  const key = keys.get(record.keyName);
  if (key === undefined || ALGORITHM_NAMES[key.algorithm] !== record.algorithm) return { kind: "unknown-key" };
  const { octets } = HASHES[key.algorithm];
  const { length } = record.mac;
  if (length > octets || length < Math.max(LEAST_MAC_OCTETS, octets / 2)) {
    // An error without a signature has no MAC at all, which is no malformed one.
    return length === 0 ? { kind: "bad-signature" } : { kind: "malformed" };
  }
  const digest = createHmac(HASHES[key.algorithm].hash, key.secret);
  if (requestMac !== undefined) digest.update(withLength(requestMac));
  digest.update(unsignedHeader(message, record.originalId));
  digest.update(message.subarray(HEADER_OCTETS, record.start));
  digest.update(variables(key, record));
  if (!timingSafeEqual(digest.digest().subarray(0, length), record.mac)) return { kind: "bad-signature" };
  if (Math.abs(nowSeconds - record.timeSigned) > record.fudge) return { kind: "bad-time", key };
  if (length < octets) return { kind: "truncated", key };
  return { kind: "valid", key };
}

/** Octets that the TSIG record of a key takes in a message. @param isBadTime with the server's time as other data */
export function tsigOctets(key: TsigKey, isBadTime = false): number {
  return tsigRecordOctets(key.name, ALGORITHM_NAMES[key.algorithm], HASHES[key.algorithm].octets, isBadTime);
}

/** Octets of the record that tells an error without a signature. */
export function unsignedTsigOctets({ keyName, algorithm }: TsigRecord): number {
  return tsigRecordOctets(keyName, algorithm, 0, false);
}

function tsigRecordOctets(name: Name, algorithm: Name, mac: number, isBadTime: boolean): number {
  const fixed = RECORD_FIXED_OCTETS + FIELDS_BEFORE_MAC + FIELDS_BEHIND_MAC;
  return name.length + algorithm.length + fixed + mac + (isBadTime ? TIME_OCTETS : 0);
}

/** What one message is signed with. */
export interface Signing {
  readonly key: TsigKey;
  /** Seconds since 1970. */
  readonly timeSigned: number;
  /** MAC of the request, or of the message before in a response of several; absent in a request. */
  readonly priorMac?: Uint8Array;
  /** Whether this is a later message of a response of several: then only the timers are signed (RFC 8945 §5.3.1). */
  readonly isLater?: boolean;
  /** Default none. */
  readonly error?: number;
  /** Default: nothing. */
  readonly other?: Uint8Array;
}

/**
 * Signs the message that begins `room`: writes the TSIG record behind it and counts it in the header.
 *
 * @param length octets of the message; behind them there is room for {@link tsigOctets}
 * @returns the new length and the MAC
 */
export function signMessage(
  room: Uint8Array,
  length: number,
  signing: Signing,
): { readonly length: number; readonly mac: Uint8Array } {
  const { key, timeSigned, priorMac, isLater = false, error = TSIG_ERROR.NONE, other = NOTHING } = signing;
  const digest = createHmac(HASHES[key.algorithm].hash, key.secret);
  if (priorMac !== undefined) digest.update(withLength(priorMac));
  digest.update(room.subarray(0, length));
  const timers = { timeSigned, fudge: TSIG_FUDGE_SECONDS };
  digest.update(isLater ? timerOctets(timers) : variables(key, { ...timers, error, other }));
  const mac = Uint8Array.from(digest.digest());
  const originalId = ((room[0] as number) << 8) | (room[1] as number);
  const algorithm = ALGORITHM_NAMES[key.algorithm];
  const fields = { keyName: key.name, algorithm, ...timers, mac, originalId, error, other };
  return { length: appendTsig(room, length, fields), mac };
}

/** Writes the record that tells an error without a signature (RFC 8945 §5.3.2). @returns the new length */
export function appendUnsigned(room: Uint8Array, length: number, request: TsigRecord, error: number): number {
  return appendTsig(room, length, { ...request, mac: NOTHING, other: NOTHING, error });
}

/** The other data of BADTIME: the server's time. */
export function timeAsOther(seconds: number): Uint8Array {
  return timerOctets({ timeSigned: seconds, fudge: 0 }).subarray(0, TIME_OCTETS);
}

const NOTHING = new Uint8Array(0);

function appendTsig(room: Uint8Array, length: number, fields: Omit<TsigRecord, "start">): number {
  const { keyName, algorithm, timeSigned, fudge, mac, originalId, error, other } = fields;
  const rdataOctets = algorithm.length + FIELDS_BEFORE_MAC + mac.length + FIELDS_BEHIND_MAC + other.length;
  const head = [TYPE.TSIG, CLASS.ANY, 0, 0, rdataOctets].flatMap(twoOctets);
  const parts = [
    nameOctets(keyName),
    head,
    nameOctets(algorithm),
    timerOctets({ timeSigned, fudge }),
    withLength(mac),
    [originalId, error].flatMap(twoOctets),
    withLength(other),
  ];
  let at = length;
  for (const part of parts) {
    room.set(part, at);
    at += part.length;
  }
  const additional = (((room[10] as number) << 8) | (room[11] as number)) + 1;
  room.set(twoOctets(additional), 10);
  return at;
}

/** Octets of a message, copied: what comes over TCP is a Buffer, whose `slice` is the message itself. */
function copyOf(message: Uint8Array, start: number, end: number): Uint8Array {
  return Uint8Array.from(message.subarray(start, end));
}

/** The header as it was when the message was signed: with its own id, and without the TSIG record. */
function unsignedHeader(message: Uint8Array, originalId: number): Uint8Array {
  const header = copyOf(message, 0, HEADER_OCTETS);
  header.set(twoOctets(originalId), 0);
  header.set(twoOctets((((header[10] as number) << 8) | (header[11] as number)) - 1), 10);
  return header;
}

/** The TSIG variables (RFC 8945 §4.3.3). */
function variables(
  key: TsigKey,
  { timeSigned, fudge, error, other }: Pick<TsigRecord, "timeSigned" | "fudge" | "error" | "other">,
): Uint8Array {
  return Uint8Array.from([
    ...nameOctets(key.name),
    ...[CLASS.ANY, 0, 0].flatMap(twoOctets),
    ...nameOctets(ALGORITHM_NAMES[key.algorithm]),
    ...timerOctets({ timeSigned, fudge }),
    ...twoOctets(error),
    ...withLength(other),
  ]);
}

function timerOctets({ timeSigned, fudge }: Pick<TsigRecord, "timeSigned" | "fudge">): Uint8Array {
  const octets = new Uint8Array(TIME_OCTETS + 2);
  const view = new DataView(octets.buffer);
  view.setUint16(0, Math.floor(timeSigned / 2 ** 32));
  view.setUint32(2, timeSigned % 2 ** 32);
  view.setUint16(TIME_OCTETS, fudge);
  return octets;
}

function withLength(octets: Uint8Array): Uint8Array {
  return Uint8Array.from([...twoOctets(octets.length), ...octets]);
}

function twoOctets(value: number): [number, number] {
  return [value >>> 8, value & 0xff];
}

import { addressText } from "../wire/address.js";
import { CLASS, FLAG, HEADER_OCTETS, rcodeText, TYPE, typeText } from "../wire/constants.js";
import { formatName, lowerName, type Name, nameOctets, readName } from "../wire/name.js";
import { formatRdata } from "../wire/rdata.js";

/** One record of a reply. */
export interface ReplyRecord {
  /** Owner, lower case, without the trailing dot; `.` for the root. */
  readonly name: string;
  /** `A`, `NS`, `TYPE65280`. */
  readonly type: string;
  /** Seconds, as the server gave it. */
  readonly ttl: number;
  /** In master-file form, names absolute. */
  readonly data: string;
  /** The address of an A or AAAA record, in canonical text form. */
  readonly address?: string;
}

/** The OPT record of a reply (RFC 6891 §6.1). */
export interface ReplyEdns {
  /** Largest UDP message that the server takes, octets. */
  readonly udpOctets: number;
  readonly version: number;
  readonly options: readonly { readonly code: number; readonly data: Uint8Array }[];
}

/** A reply as read from the wire. */
export interface Reply {
  readonly id: number;
  /** `NOERROR`, `NXDOMAIN`, …; the extended bits of OPT are included. */
  readonly rcode: string;
  /** Authoritative answer (RFC 1035 §4.1.1). */
  readonly aa: boolean;
  /** Truncated. */
  readonly tc: boolean;
  /** Recursion available: the server resolves for others. */
  readonly ra: boolean;
  /** The name that was asked, as the server repeats it; absent when it repeats no question. */
  readonly question?: { readonly name: Name; readonly type: number };
  readonly answers: readonly ReplyRecord[];
  readonly authorities: readonly ReplyRecord[];
  /** Without OPT. */
  readonly additionals: readonly ReplyRecord[];
  readonly edns?: ReplyEdns;
}

/** Octets that are no DNS message. */
export class ReplyError extends Error {}

/**
 * Reads a whole message strictly: one that is cut off or does not add up is refused.
 *
 * Not read with `dns2`: it swallows what it cannot read, and takes the length of an EDNS option for a number of bits,
 * so that everything behind a cookie or an extended error is garbage (see `test/client/reply.test.ts`).
 *
 * @throws ReplyError
 */
export function readReply(octets: Uint8Array): Reply {
  try {
    return read(octets);
  } catch (error) {
    throw error instanceof ReplyError ? error : new ReplyError(error instanceof Error ? error.message : String(error));
  }
}

function read(octets: Uint8Array): Reply {
  if (octets.length < HEADER_OCTETS) throw new ReplyError("it is shorter than a header");
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  const flags = view.getUint16(2);
  if ((flags & FLAG.QR) === 0) throw new ReplyError("it is a query");
  let at = HEADER_OCTETS;
  let question: Reply["question"];
  for (let left = view.getUint16(4); left > 0; left -= 1) {
    const { name, end } = readName(octets, at);
    question ??= { name, type: view.getUint16(end) };
    at = end + 4;
  }
  let edns: ReplyEdns | undefined;
  let extended = 0;
  const section = (count: number): ReplyRecord[] => {
    const records: ReplyRecord[] = [];
    for (let left = count; left > 0; left -= 1) {
      const { name, end } = readName(octets, at);
      const type = view.getUint16(end);
      const rdata = octets.subarray(end + 10, end + 10 + view.getUint16(end + 8));
      if (rdata.length !== view.getUint16(end + 8)) throw new ReplyError("a record is cut off");
      at = end + 10 + rdata.length;
      if (type === TYPE.OPT) {
        extended = view.getUint8(end + 4);
        edns = { udpOctets: view.getUint16(end + 2), version: view.getUint8(end + 5), options: readOptions(rdata) };
      } else if (view.getUint16(end + 2) === CLASS.IN) {
        records.push(record(octets, end + 10, name, type, view.getUint32(end + 4), rdata));
      }
    }
    return records;
  };
  const answers = section(view.getUint16(6));
  const authorities = section(view.getUint16(8));
  const additionals = section(view.getUint16(10));
  return {
    id: view.getUint16(0),
    rcode: rcodeText((extended << 4) | (flags & 0xf)),
    aa: (flags & FLAG.AA) !== 0,
    tc: (flags & FLAG.TC) !== 0,
    ra: (flags & FLAG.RA) !== 0,
    ...(question === undefined ? {} : { question }),
    answers,
    authorities,
    additionals,
    ...(edns === undefined ? {} : { edns }),
  };
}

function record(
  octets: Uint8Array,
  start: number,
  owner: Name,
  type: number,
  ttl: number,
  raw: Uint8Array,
): ReplyRecord {
  const isAddress = (type === TYPE.A && raw.length === 4) || (type === TYPE.AAAA && raw.length === 16);
  return {
    name: plainName(owner),
    type: typeText(type),
    // RFC 2181 §8: the top bit is taken for zero.
    ttl: ttl > 0x7fff_ffff ? 0 : ttl,
    data: formatRdata(type, uncompressed(octets, start, type, raw)),
    ...(isAddress ? { address: addressText(raw) } : {}),
  };
}

/** Where names stand in the data of the types whose names may be compressed: octets in front, names. */
const NAMES_IN: ReadonlyMap<number, readonly [front: number, names: number]> = new Map([
  [TYPE.NS, [0, 1]],
  [TYPE.CNAME, [0, 1]],
  [TYPE.PTR, [0, 1]],
  [TYPE.SOA, [0, 2]],
  [TYPE.MX, [2, 1]],
  // Must not be compressed (RFC 2782), but some servers do.
  [TYPE.SRV, [6, 1]],
]);

function uncompressed(octets: Uint8Array, start: number, type: number, raw: Uint8Array): Uint8Array {
  const layout = NAMES_IN.get(type);
  if (layout === undefined) return raw;
  const parts: Uint8Array[] = [raw.subarray(0, layout[0])];
  let at = start + layout[0];
  for (let left = layout[1]; left > 0; left -= 1) {
    const { name, end } = readName(octets, at);
    parts.push(nameOctets(name));
    at = end;
  }
  if (at > start + raw.length) throw new ReplyError("a name runs out of its record");
  return Uint8Array.from(Buffer.concat([...parts, octets.subarray(at, start + raw.length)]));
}

function readOptions(rdata: Uint8Array): { code: number; data: Uint8Array }[] {
  const options: { code: number; data: Uint8Array }[] = [];
  const view = new DataView(rdata.buffer, rdata.byteOffset, rdata.byteLength);
  for (let at = 0; at < rdata.length; ) {
    const data = rdata.subarray(at + 4, at + 4 + view.getUint16(at + 2));
    if (data.length !== view.getUint16(at + 2)) throw new ReplyError("an EDNS option is cut off");
    options.push({ code: view.getUint16(at), data });
    at += 4 + data.length;
  }
  return options;
}

/** Lower case, without the trailing dot; `.` for the root. */
function plainName(name: Name): string {
  const text = formatName(lowerName(name));
  return text === "." ? text : text.slice(0, -1);
}

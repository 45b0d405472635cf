import { TYPE, typeText } from "./constants.js";
import { lowerName, type Name } from "./name.js";
import {
  CAA_TAG,
  type FieldKind,
  IPV4,
  IPV6,
  latin1,
  NAME,
  RdataError,
  REST,
  STRING,
  shown,
  type Token,
  U8,
  U16,
  U32,
} from "./rdata-text.js";

/** A record of class IN, the only class livezone serves (RFC 1035 §3.2.1). */
export interface ResourceRecord {
  /** Owner, in the letter case it was written in. */
  readonly name: Name;
  /** 0 to 65 535. */
  readonly type: number;
  /** Seconds, 0 to 2 147 483 647 (RFC 2181 §8). */
  readonly ttl: number;
  /** Wire form with every name uncompressed, at most 65 535 octets. */
  readonly rdata: Uint8Array;
}

/** A domain name inside record data. */
export interface EmbeddedName {
  /** Octets from the start of the record data. */
  readonly offset: number;
  /** Octets of the uncompressed name, root label included. */
  readonly length: number;
  /** Whether a message may compress it: the types of RFC 1035 only (RFC 3597 §4; for SRV also RFC 2782). */
  readonly compressible: boolean;
}

/** RDLENGTH has 16 bits (RFC 1035 §3.2.1). */
const MAX_RDATA_OCTETS = 0xffff;

interface Field {
  readonly label: string;
  readonly kind: FieldKind;
  /** Once or more, to the end; only the last field. */
  readonly repeats?: true;
}

interface Layout {
  readonly fields: readonly Field[];
  /** Its names may be compressed in messages. */
  readonly compressible: boolean;
}

/** The fields of every type livezone knows, in wire order, which is also the order of the text. */
const LAYOUTS: ReadonlyMap<number, Layout> = new Map([
  layout(TYPE.A, [["address", IPV4]]),
  layout(TYPE.NS, [["name server", NAME]], "compressible"),
  layout(TYPE.CNAME, [["canonical name", NAME]], "compressible"),
  layout(
    TYPE.SOA,
    [
      ["primary", NAME],
      ["contact", NAME],
      ["serial", U32],
      ["refresh", U32],
      ["retry", U32],
      ["expire", U32],
      ["minimum", U32],
    ],
    "compressible",
  ),
  layout(TYPE.PTR, [["target", NAME]], "compressible"),
  layout(
    TYPE.MX,
    [
      ["preference", U16],
      ["exchange", NAME],
    ],
    "compressible",
  ),
  layout(TYPE.TXT, [["string", STRING, "repeats"]]),
  layout(TYPE.AAAA, [["address", IPV6]]),
  layout(TYPE.SRV, [
    ["priority", U16],
    ["weight", U16],
    ["port", U16],
    ["target", NAME],
  ]),
  layout(TYPE.CAA, [
    ["flags", U8],
    ["tag", CAA_TAG],
    ["value", REST],
  ]),
]);

function layout(
  type: number,
  fields: readonly (readonly [label: string, kind: FieldKind, repeats?: "repeats"])[],
  compressible?: "compressible",
): [number, Layout] {
  return [
    type,
    {
      fields: fields.map(([label, kind, repeats]) => ({ label, kind, ...(repeats && { repeats: true as const }) })),
      compressible: compressible !== undefined,
    },
  ];
}

/**
 * Record data from the words behind the type, in the type's own form or in the generic one, `\# length hex…`
 * (RFC 3597 §5), which every type accepts and an unknown type needs.
 *
 * @param origin completes relative names
 * @throws RdataError
 */
export function parseRdata(type: number, tokens: readonly Token[], origin: Name): Uint8Array {
  const [first] = tokens;
  if (first !== undefined && isGenericMark(first)) return parseGeneric(type, first, tokens.slice(1));
  const known = LAYOUTS.get(type);
  if (known === undefined) {
    throw new RdataError(
      `The fields of ${typeText(type)} are not known here.`,
      `Write the data as \\# length hexadecimal (RFC 3597): TYPE${type} \\# 2 abcd.`,
      "RECORD_GENERIC",
      first,
    );
  }
  const rdata = concat(parseFields(type, known, tokens, origin));
  if (rdata.length > MAX_RDATA_OCTETS) {
    throw new RdataError(
      `The ${typeText(type)} data takes ${rdata.length} octets, more than ${MAX_RDATA_OCTETS}.`,
      "Shorten it.",
      "RECORD_TOO_LONG",
      first,
    );
  }
  return rdata;
}

function parseFields(type: number, { fields }: Layout, tokens: readonly Token[], origin: Name): Uint8Array[] {
  const usage = `Write: ${typeText(type)} ${fields.map(({ label }) => `<${label}>`).join(" ")}.`;
  const parsed: Uint8Array[] = [];
  let at = 0;
  for (const { label, kind, repeats } of fields) {
    do {
      const token = tokens[at];
      if (token === undefined) {
        throw new RdataError(`The ${typeText(type)} record lacks its ${label}.`, usage, "RECORD_FIELD_MISSING");
      }
      parsed.push(kind.parse(token, `${typeText(type)} ${label}`, origin));
      at += 1;
    } while (repeats && at < tokens.length);
  }
  const surplus = tokens[at];
  if (surplus !== undefined) {
    const message = `${shown(surplus)} is one word too many for ${typeText(type)}.`;
    throw new RdataError(message, usage, "RECORD_FIELD_SURPLUS", surplus);
  }
  return parsed;
}

/** `\#` as the first word announces the generic form (RFC 3597 §5). */
export function isGenericMark(token: Token): boolean {
  return token.text === "\\#" && !token.quoted;
}

function parseGeneric(type: number, mark: Token, words: readonly Token[]): Uint8Array {
  const [length, ...hexWords] = words;
  const fail = (message: string, token: Token): never => {
    throw new RdataError(message, "Write \\# length hexadecimal, such as \\# 4 c0000214.", "RECORD_GENERIC", token);
  };
  if (length === undefined) return fail("The length behind \\# is missing.", mark);
  if (!/^\d{1,5}$/.test(length.text) || Number(length.text) > MAX_RDATA_OCTETS) {
    return fail(`The length behind \\# is ${shown(length)}, not a number from 0 to ${MAX_RDATA_OCTETS}.`, length);
  }
  for (const word of hexWords) {
    if (word.quoted || !/^[0-9a-f]+$/i.test(word.text)) fail(`${shown(word)} is not hexadecimal.`, word);
  }
  const hex = hexWords.map((word) => word.text).join("");
  if (hex.length !== 2 * Number(length.text)) {
    fail(`The length behind \\# is ${length.text}, but ${hex.length} hexadecimal digits follow.`, length);
  }
  const rdata = Uint8Array.from(Buffer.from(hex, "hex"));
  const flaw = checkRdata(type, rdata);
  if (flaw !== undefined) fail(`The octets are not ${typeText(type)} data: ${flaw}.`, hexWords[0] ?? length);
  return rdata;
}

/** Text form, names absolute; `\# length hex` for an unknown type and for octets that do not fit their type. */
export function formatRdata(type: number, octets: Uint8Array): string {
  const fields = splitRdata(type, octets);
  if (fields === undefined || typeof fields === "string") return formatGeneric(octets);
  return fields.map(({ kind, start, end }) => kind.format(octets.subarray(start, end))).join(" ");
}

/** `\# length hex` (RFC 3597 §5). */
export function formatGeneric(octets: Uint8Array): string {
  const hex = Buffer.from(octets).toString("hex");
  return hex === "" ? "\\# 0" : `\\# ${octets.length} ${hex}`;
}

/** What is wrong with record data in wire form; undefined if nothing, or if the type's fields are not known here. */
export function checkRdata(type: number, octets: Uint8Array): string | undefined {
  if (octets.length > MAX_RDATA_OCTETS) return `it takes ${octets.length} octets, more than ${MAX_RDATA_OCTETS}`;
  const fields = splitRdata(type, octets);
  return typeof fields === "string" ? fields : undefined;
}

/** The names in sound record data, in order; none for a type whose fields are not known here (RFC 3597 §4). */
export function embeddedNames(type: number, rdata: Uint8Array): readonly EmbeddedName[] {
  const fields = splitRdata(type, rdata);
  if (fields === undefined || typeof fields === "string") return [];
  const compressible = LAYOUTS.get(type)?.compressible ?? false;
  return fields
    .filter(({ kind }) => kind === NAME)
    .map(({ start, end }) => ({ offset: start, length: end - start, compressible }));
}

/** An {@link EmbeddedName} with its wire form, in the letter case of the data. */
export interface ReadName extends EmbeddedName {
  readonly name: Name;
}

const readNames = new WeakMap<Uint8Array, { readonly type: number; readonly names: readonly ReadName[] }>();

/** {@link embeddedNames} with the names themselves. Remembered as long as the data live, which must not change. */
export function namesInside(type: number, rdata: Uint8Array): readonly ReadName[] {
  const known = readNames.get(rdata);
  if (known?.type === type) return known.names;
  const names = embeddedNames(type, rdata).map((place): ReadName => {
    const octets = rdata.subarray(place.offset, place.offset + place.length);
    return { ...place, name: String.fromCharCode(...octets) as Name };
  });
  readNames.set(rdata, { type, names });
  return names;
}

/**
 * A string that two record data of one type share exactly when they are the same data: letter case in names does
 * not count (RFC 4343, RFC 2181 §5), in everything else it does.
 */
export function rdataKey(type: number, rdata: Uint8Array): string {
  let key = latin1(rdata);
  for (const { offset, length } of embeddedNames(type, rdata)) {
    const name = lowerName(key.slice(offset, offset + length) as Name);
    key = key.slice(0, offset) + name + key.slice(offset + length);
  }
  return key;
}

interface FieldPlace {
  readonly kind: FieldKind;
  readonly start: number;
  readonly end: number;
}

/** Where each field lies; what is wrong, if the octets do not fit; undefined for an unknown type. */
function splitRdata(type: number, octets: Uint8Array): readonly FieldPlace[] | string | undefined {
  const known = LAYOUTS.get(type);
  if (known === undefined) return undefined;
  const places: FieldPlace[] = [];
  let start = 0;
  for (const { label, kind, repeats } of known.fields) {
    do {
      const end = kind.end(octets, start);
      if (typeof end === "string") return `${label}: ${end}`;
      places.push({ kind, start, end });
      start = end;
    } while (repeats && start < octets.length);
  }
  return start === octets.length ? places : `${octets.length - start} octets too many`;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

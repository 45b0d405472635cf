import type { Position } from "../config/config.js";
import type { Problem } from "../lib/errors.js";
import { TYPE, typeNumber, typeText } from "../wire/constants.js";
import { formatName, isWithin, lowerName, type Name, NameError, parseName, ROOT } from "../wire/name.js";
import { embeddedNames, isGenericMark, parseRdata, type ResourceRecord, rdataKey } from "../wire/rdata.js";
import { latin1, RdataError, shown, type Token } from "../wire/rdata-text.js";
import { type Mistake, readEntries } from "./master-file.js";

/** A record as a person wrote it; its TTL is 1 to 86 400. */
export interface ZoneRecord extends ResourceRecord {
  /** Where the first word of the record's line stands. */
  readonly position: Position;
}

/** Longest TTL of a record, in seconds: a day, as for every TTL in the configuration. */
const MAX_TTL_SECONDS = 86_400;

/** What {@link parseRecords} has to know of the zone. */
export interface RecordsOptions {
  /** The zone's name. */
  readonly origin: Name;
  /** TTL of a line that names none; seconds, 1 to 86 400. */
  readonly defaultTtl: number;
  /** Position in the file of a place in the text; line and column from 1. */
  locate(line: number, column: number): Position;
}

/**
 * Reads the `records:` of a zone: master-file lines of class IN, relative to the zone (RFC 1035 §5.1, RFC 3597 §5).
 *
 * A line that begins with white space belongs to the owner before. TTL and class may be left out and stand in either
 * order; BIND's units (`1h30m`) are read. Records of one name and type must have one TTL (RFC 2181 §5.2) and differ
 * in their data (§5). How records agree with each other beyond that, and with endpoints, is judged where the zone
 * is put together.
 *
 * Reading goes on behind a mistake: `problems` holds one per entry at most (and warnings), in the order of the text.
 * `records` leaves out every record with an error; with one among the problems, the rest is not fit to serve.
 */
export function parseRecords(text: string, options: RecordsOptions): { records: ZoneRecord[]; problems: Problem[] } {
  const { origin, defaultTtl } = options;
  const records: ZoneRecord[] = [];
  const problems: Problem[] = [];
  const report = ({ line, column, message, remedy, code }: Mistake, severity?: "warning") =>
    problems.push({ ...options.locate(line, column), message, remedy, code, ...(severity && { severity }) });
  const addToSet = recordSets();
  let owner: Name | "none yet" | "unreadable" = "none yet";

  for (const { tokens, ownerOmitted, mistake } of readEntries(text)) {
    const [first] = tokens;
    if (mistake !== undefined) {
      report(mistake);
      if (!ownerOmitted && mistake.code !== "RECORD_DIRECTIVE") owner = "unreadable";
      continue;
    }
    if (first === undefined) continue;
    try {
      if (!ownerOmitted) {
        owner = "unreadable"; // and stays so for the lines that continue it, if the next one throws
        owner = readOwner(first, origin);
      } else if (owner === "none yet") {
        throw ownerMissing(first);
      }
      const line = readLine(ownerOmitted ? tokens : tokens.slice(1), origin);
      if (owner === "unreadable") continue;
      refuseAtApex(line, owner, origin);
      const { type, rdata, ttl = defaultTtl } = line;
      const record = { name: owner, type, ttl, rdata, position: options.locate(first.line, first.column) };
      addToSet(record, first, line.ttlToken);
      records.push(record);
      for (const warning of doubledNames(line, ownerOmitted ? undefined : { token: first, name: owner }, origin)) {
        report(warning, "warning");
      }
    } catch (error) {
      report(asMistake(error, tokens.at(-1) ?? first));
    }
  }
  return { records, problems };
}

/** @param last where to point when words are missing at the end */
function asMistake(error: unknown, last: Token): Mistake {
  if (!(error instanceof RdataError)) throw error;
  const { message, remedy, code, token = last } = error;
  return { line: token.line, column: token.column, message, remedy, code };
}

function readOwner(token: Token, origin: Name): Name {
  const fail = (message: string, code = "RECORD_OWNER_NAME") =>
    new RdataError(message, `Write a name relative to ${formatName(origin)}, or @ for the zone itself.`, code, token);
  if (token.quoted) throw fail(`The owner ${shown(token)} is in quotes.`);
  let name: Name;
  try {
    name = parseName(token.text, origin);
  } catch (error) {
    if (!(error instanceof NameError)) throw error;
    throw fail(`The owner ${shown(token)} is not a name: ${error.message}.`);
  }
  if (!isWithin(name, origin)) {
    throw fail(`${shown(token)} is not inside the zone ${formatName(origin)}`, "RECORD_OUT_OF_ZONE");
  }
  return name;
}

function ownerMissing(token: Token): RdataError {
  return new RdataError(
    "The line begins with white space, but there is no line before whose owner it could take.",
    "Begin it with the record's name, or @ for the zone itself.",
    "RECORD_OWNER_MISSING",
    token,
  );
}

interface Line {
  readonly ttl?: number;
  readonly ttlToken?: Token;
  readonly type: number;
  readonly typeToken: Token;
  /** The words behind the type. */
  readonly fields: readonly Token[];
  readonly rdata: Uint8Array;
}

/** Reads what stands behind the owner: TTL and class in either order, the type, its fields. */
function readLine(words: readonly Token[], origin: Name): Line {
  let at = 0;
  let ttlToken: Token | undefined;
  let classSeen = false;
  for (; at < words.length; at += 1) {
    const word = words[at] as Token;
    if (!word.quoted && ttlToken === undefined && /^[+-]?\d+([smhdw]\d*)*$/i.test(word.text)) {
      ttlToken = word;
    } else if (!word.quoted && !classSeen && isClass(word)) {
      classSeen = true;
    } else {
      break;
    }
  }
  const ttl = ttlToken && { ttl: readTtl(ttlToken), ttlToken };
  const typeToken = words[at];
  if (typeToken === undefined) {
    throw new RdataError(
      "The line has no type.",
      `Write: name [ttl] [IN] type data; ${TYPES_READ}`,
      "RECORD_TYPE_MISSING",
    );
  }
  const type = readType(typeToken);
  const fields = words.slice(at + 1);
  return { ...ttl, type, typeToken, fields, rdata: parseRdata(type, fields, origin) };
}

/** Whether the word is a class; every class but IN is refused. */
function isClass(token: Token): boolean {
  if (/^(IN|CLASS1)$/i.test(token.text)) return true;
  if (!/^(CH|CS|HS|CHAOS|HESIOD|NONE|CLASS\d+)$/i.test(token.text)) return false;
  const message = `The class is ${shown(token)}, but zones of livezone are of class IN only.`;
  throw new RdataError(message, "Write IN, or leave the class out.", "RECORD_CLASS", token);
}

const SECONDS_OF_UNIT = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

function readTtl(token: Token): number {
  const fail = (why: string) =>
    new RdataError(
      `The TTL is ${shown(token)}${why}.`,
      `Write whole seconds from 1 to ${MAX_TTL_SECONDS}, or with units such as 30m or 1h.`,
      "RECORD_TTL",
      token,
    );
  let ttl = Number(token.text);
  if (!/^\d+$/.test(token.text)) {
    if (!/^(\d+[smhdw])+$/i.test(token.text)) throw fail(", not a whole number of seconds");
    ttl = 0;
    for (const [, count, unit] of token.text.toLowerCase().matchAll(/(\d+)([smhdw])/g)) {
      ttl += Number(count) * SECONDS_OF_UNIT[unit as keyof typeof SECONDS_OF_UNIT];
    }
  }
  if (ttl === 0) throw fail(": some resolvers mishandle answers that may not be cached at all");
  if (ttl > 0x7fff_ffff) throw fail(", more than the 31 bits a TTL has (RFC 2181 §8)");
  if (ttl > MAX_TTL_SECONDS) throw fail(", more than a day");
  return ttl;
}

const TYPES_READ = "A, AAAA, NS, CNAME, MX, TXT, SRV, PTR, CAA, or TYPEnnn with \\# data (RFC 3597).";

/** Types that stand for a record of a signed zone (RFC 4034, RFC 5155); livezone's zones are unsigned. */
const SIGNING_TYPES: ReadonlySet<number> = new Set([TYPE.RRSIG, TYPE.NSEC, TYPE.NSEC3, TYPE.NSEC3PARAM]);

function readType(token: Token): number {
  const fail = (message: string, remedy: string, code = "RECORD_TYPE_REFUSED") =>
    new RdataError(message, remedy, code, token);
  const type = token.quoted ? undefined : typeNumber(token.text);
  if (type === undefined) {
    const message = `${shown(token)} stands where the type is expected, and is none that is read here.`;
    throw fail(message, `Write ${TYPES_READ}`, "RECORD_TYPE_UNKNOWN");
  }
  if (type === TYPE.SOA) {
    throw fail("The zone's `soa:` says what its SOA record holds.", "Remove the record and set `soa:`.", "RECORD_SOA");
  }
  if (SIGNING_TYPES.has(type)) {
    throw fail(`${typeText(type)} belongs to a signed zone; this one is unsigned.`, "Remove the record.");
  }
  // RFC 6895 §3.1: 0 and 65535 are reserved, 128 to 255 are for questions and metadata; so is OPT.
  if (type === 0 || type === TYPE.OPT || (type >= 128 && type <= 255) || type === 0xffff) {
    throw fail(`${typeText(type)} is not a type of record that a zone can hold.`, `Write ${TYPES_READ}`);
  }
  return type;
}

function refuseAtApex({ type, typeToken }: Line, owner: Name, origin: Name): void {
  if (lowerName(owner) !== lowerName(origin)) return;
  if (type === TYPE.NS) {
    const message = "The zone's own name servers come from `nameservers:`.";
    throw new RdataError(message, "Remove the record and list them there.", "RECORD_APEX_NS", typeToken);
  }
  if (type === TYPE.DS) {
    const message = "A DS record of the zone itself belongs into the parent zone (RFC 4035 §2.4).";
    throw new RdataError(message, "Remove the record.", "RECORD_APEX_DS", typeToken);
  }
}

/** Judges each record against those before it with the same name and type. */
function recordSets(): (record: ZoneRecord, first: Token, ttlToken: Token | undefined) => void {
  const sets = new Map<string, { readonly start: ZoneRecord; readonly places: Map<string, Position> }>();
  return (record, first, ttlToken) => {
    const { name, type, ttl, rdata, position } = record;
    const key = `${type} ${lowerName(name)}`;
    const set = sets.get(key) ?? { start: record, places: new Map<string, Position>() };
    sets.set(key, set);
    const dataKey = rdataKey(type, rdata);
    const twin = set.places.get(dataKey);
    const what = `${formatName(name)} ${typeText(type)}`;
    if (twin !== undefined) {
      const message = `The same ${what} record stands at ${twin.file}:${twin.line}.`;
      throw new RdataError(message, "Remove one of the two.", "RECORD_DUPLICATE", first);
    }
    set.places.set(dataKey, position);
    if (ttl !== set.start.ttl) {
      const { file, line } = set.start.position;
      throw new RdataError(
        `The TTL of this ${what} record is ${ttl}, but ${set.start.ttl} at ${file}:${line}: records of one name and type share their TTL.`,
        `Write ${set.start.ttl} here, or change the other.`,
        "RECORD_TTL_DIFFERS",
        ttlToken ?? first,
      );
    }
  };
}

interface WrittenName {
  readonly token: Token;
  readonly name: Name;
}

/** The name in the record's data, which every type has as its last field, if written as a name. */
function lastName({ type, fields, rdata }: Line): WrittenName | undefined {
  const place = embeddedNames(type, rdata).at(-1);
  const token = fields.at(-1);
  if (place === undefined || token === undefined || fields.some(isGenericMark)) return undefined;
  return { token, name: latin1(rdata.subarray(place.offset, place.offset + place.length)) as Name };
}

/** Names written without a dot at their end that repeat the zone's name: `www.example.com` in `example.com`. */
function doubledNames(line: Line, owner: WrittenName | undefined, origin: Name): Mistake[] {
  if (origin === ROOT) return [];
  const twice = (origin.slice(0, -1) + origin) as Name;
  return [owner, lastName(line)]
    .filter((written) => written !== undefined)
    .filter(({ token, name }) => !token.text.endsWith(".") && isWithin(name, twice))
    .map(({ token: { line, column }, name }) => ({
      line,
      column,
      message: `The name has no dot at its end, so it stands for ${formatName(name)}`,
      remedy: `If that is not meant, add the dot, or leave ${formatName(origin)} out.`,
      code: "RECORD_NAME_DOUBLED",
    }));
}

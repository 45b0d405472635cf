import { MAX_LABEL_OCTETS, MAX_NAME_OCTETS } from "./constants.js";

/**
 * A domain name as a value: the octets of its uncompressed wire form, one per character (0 to 255), root label
 * included: `"\x03api\x07example\x00"`. At most 255 octets (RFC 1035 §3.1).
 *
 * Two names are the same name when their {@link lowerName} strings are equal (RFC 4343), so names serve as map keys.
 */
export type Name = string & { readonly [brand]: true };
declare const brand: unique symbol;

/** The root: no labels. */
export const ROOT = "\0" as Name;

/** Text or octets that are not a domain name; the message says why, in plain words. */
export class NameError extends Error {}

/**
 * Reads a name in the text form of RFC 1035 §5.1: `\.` and `\DDD` escapes, `@` for the origin.
 *
 * @param origin completes a name without a trailing dot; without it such a name is taken as absolute
 * @throws NameError
 */
export function parseName(text: string, origin: Name = ROOT): Name {
  if (text === "@") return origin;
  if (text === ".") return ROOT;
  if (text === "") throw new NameError("a name cannot be empty");
  let wire = "";
  let label = "";
  let absolute = false;
  for (let i = 0; i < text.length; i += 1) {
    const character = text.charAt(i);
    if (character === ".") {
      wire += encodeLabel(label, text);
      label = "";
      absolute = i === text.length - 1;
    } else if (character === "\\") {
      const { octet, end } = readEscape(text, i);
      if (octet.charCodeAt(0) > 0x7f && text.charAt(i + 1) === octet) requireAscii(octet);
      label += octet;
      i = end - 1;
    } else {
      requireAscii(character);
      label += character;
    }
  }
  if (!absolute) wire += encodeLabel(label, text);
  const name = absolute ? `${wire}\0` : wire + origin;
  if (name.length > MAX_NAME_OCTETS) {
    throw new NameError(`the name takes ${name.length} octets, more than ${MAX_NAME_OCTETS}`);
  }
  return name as Name;
}

function requireAscii(character: string): void {
  if (character.charCodeAt(0) > 0x7f)
    throw new NameError(`"${character}" is not ASCII: write the name in its xn-- form`);
}

function encodeLabel(label: string, text: string): string {
  if (label === "") throw new NameError(`"${text}" has an empty label`);
  if (label.length > MAX_LABEL_OCTETS) {
    throw new NameError(
      `the label "${label.slice(0, 20)}…" takes ${label.length} octets, more than ${MAX_LABEL_OCTETS}`,
    );
  }
  return String.fromCharCode(label.length) + label;
}

/** Reads `\X` or `\DDD` (RFC 1035 §5.1) at `start`; `end` is the place behind it. X may be any UTF-16 unit. @throws NameError */
export function readEscape(text: string, start: number): { readonly octet: string; readonly end: number } {
  const digits = text.slice(start + 1, start + 4);
  if (/^\d{3}$/.test(digits)) {
    const value = Number(digits);
    if (value > 255) throw new NameError(`the escape "\\${digits}" is above 255`);
    return { octet: String.fromCharCode(value), end: start + 4 };
  }
  const next = text.charAt(start + 1);
  if (next === "" || /\d/.test(next)) {
    throw new NameError(
      `the escape "${text.slice(start, start + 4)}" is neither "\\" and a character nor "\\" and three digits`,
    );
  }
  return { octet: next, end: start + 2 };
}

/** The text form with a trailing dot; octets outside printable ASCII become `\DDD`, special ones `\X`. */
export function formatName(name: Name): string {
  if (name === ROOT) return ".";
  let text = "";
  for (const label of labelsOf(name)) {
    for (const octet of label) text += formatOctet(octet);
    text += ".";
  }
  return text;
}

/** The same without the trailing dot, as configuration, log and status write names. The root is empty. */
export function nameWithoutDot(name: Name): string {
  return formatName(name).slice(0, -1);
}

function formatOctet(octet: string): string {
  const value = octet.charCodeAt(0);
  if (value <= 0x20 || value >= 0x7f) return `\\${String(value).padStart(3, "0")}`;
  return '.\\"();@$'.includes(octet) ? `\\${octet}` : octet;
}

/** ASCII letters in lower case, everything else as it is (RFC 4343 §3). Length octets are never letters: at most 63. */
export function lowerName(name: Name): Name {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) as Name;
}

/** The labels from the leftmost on, without the root. */
export function labelsOf(name: Name): string[] {
  const labels: string[] = [];
  for (let at = 0; ; ) {
    const length = name.charCodeAt(at);
    if (length === 0 || Number.isNaN(length)) return labels;
    labels.push(name.slice(at + 1, at + 1 + length));
    at += 1 + length;
  }
}

/** Number of labels, the root not counted. */
export function labelCount(name: Name): number {
  return labelsOf(name).length;
}

/** The name without its leftmost label; undefined for the root. */
export function parentName(name: Name): Name | undefined {
  if (name === ROOT) return undefined;
  return name.slice(1 + name.charCodeAt(0)) as Name;
}

/** Whether `name` is `ancestor` or lies below it, in any letter case. */
export function isWithin(name: Name, ancestor: Name): boolean {
  const lowered = lowerName(ancestor);
  for (let at: Name | undefined = lowerName(name); at !== undefined; at = parentName(at)) {
    if (at.length <= lowered.length) return at === lowered;
  }
  return false;
}

/** Puts labels in front of a name. @throws NameError if the result is too long */
export function prependLabels(labels: readonly string[], name: Name): Name {
  const joined = labels.map((label) => encodeLabel(label, label)).join("") + name;
  if (joined.length > MAX_NAME_OCTETS)
    throw new NameError(`the name takes ${joined.length} octets, more than ${MAX_NAME_OCTETS}`);
  return joined as Name;
}

/** The octets of the wire form. */
export function nameOctets(name: Name): Uint8Array {
  const octets = new Uint8Array(name.length);
  for (let i = 0; i < name.length; i += 1) octets[i] = name.charCodeAt(i);
  return octets;
}

/**
 * Reads a name from a message, compression pointers followed (RFC 1035 §4.1.4).
 *
 * Pointers must point backwards, so that no chain of them can loop.
 *
 * @returns the name in the letter case found, and the offset behind its first part
 * @throws NameError if it is cut off, too long, or uses a reserved label type
 */
export function readName(octets: Uint8Array, offset: number): { readonly name: Name; readonly end: number } {
  let wire = "";
  let at = offset;
  let end = -1;
  let limit = offset;
  for (;;) {
    const length = octets[at];
    if (length === undefined) throw new NameError("the name runs past the end of the message");
    if (length === 0) return { name: `${wire}\0` as Name, end: end < 0 ? at + 1 : end };
    if (length >= 0xc0) {
      const target = readPointer(octets, at);
      if (target >= limit) throw new NameError("a compression pointer does not point backwards");
      if (end < 0) end = at + 2;
      limit = target;
      at = target;
    } else {
      wire += readLabel(octets, at, length);
      if (wire.length + 1 > MAX_NAME_OCTETS) throw new NameError(`the name takes more than ${MAX_NAME_OCTETS} octets`);
      at += 1 + length;
    }
  }
}

function readPointer(octets: Uint8Array, at: number): number {
  const low = octets[at + 1];
  if (low === undefined) throw new NameError("a compression pointer is cut off");
  return (((octets[at] as number) & 0x3f) << 8) | low;
}

/** A label with its length in front. */
function readLabel(octets: Uint8Array, at: number, length: number): string {
  if (length > MAX_LABEL_OCTETS) throw new NameError("the name uses a reserved label type");
  if (at + 1 + length > octets.length) throw new NameError("a label runs past the end of the message");
  return String.fromCharCode(...octets.subarray(at, at + 1 + length));
}

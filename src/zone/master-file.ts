import { NameError, readEscape } from "../wire/name.js";
import type { Token } from "../wire/rdata-text.js";

/** Something wrong at a place in the text; the fields mean what those of `Problem` do. */
export interface Mistake {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly message: string;
  readonly remedy: string;
  readonly code: string;
}

/** One entry of a master file: a line, or several that parentheses join (RFC 1035 §5.1). */
export interface Entry {
  /** At least one, except in an entry with a mistake. */
  readonly tokens: readonly Token[];
  /** The entry begins with white space, so its owner is the one before. */
  readonly ownerOmitted: boolean;
  /** Why `tokens` cannot be trusted: they end where the mistake is. */
  readonly mistake?: Mistake;
}

interface OpenEntry {
  readonly tokens: Token[];
  readonly ownerOmitted: boolean;
  /** The parenthesis that is open now; they do not nest. */
  parenthesis?: { readonly line: number; readonly column: number };
}

/**
 * Splits master-file text into entries and words: quotes, `\X` and `\DDD` escapes (checked, not resolved), `;`
 * comments, parentheses (RFC 1035 §5.1). Blank lines make no entry.
 *
 * An entry with a mistake is given as far as it was read, and reading goes on with the next line. Behind an open
 * parenthesis that is the next line which is not indented, since indented ones were meant to be inside.
 */
export function readEntries(text: string): Entry[] {
  const lines = text.split(/\r\n|\n|\r/);
  const entries: Entry[] = [];
  let open: OpenEntry | undefined;
  let skipping = false;
  for (let index = 0; index <= lines.length; index += 1) {
    const line = lines[index];
    if (skipping && line !== undefined && /^([ \t)]|$)/.test(line)) continue;
    skipping = false;
    const entry: OpenEntry = open ?? { tokens: [], ownerOmitted: /^[ \t]/.test(line ?? "") };
    const mistake = line === undefined ? unclosed(entry) : scanLine(line, index + 1, entry);
    open = undefined;
    if (mistake !== undefined) {
      entries.push({ tokens: entry.tokens, ownerOmitted: entry.ownerOmitted, mistake });
      skipping = entry.parenthesis !== undefined;
      // Lines that an open parenthesis swallowed are read again as entries of their own.
      if (mistake.code === "RECORD_PARENTHESIS_OPEN") index = mistake.line - 1;
    } else if (entry.parenthesis !== undefined) {
      open = entry;
    } else if (entry.tokens.length > 0) {
      entries.push(directive(entry));
    }
  }
  return entries;
}

/** Adds the words of one line to the entry. */
function scanLine(text: string, line: number, entry: OpenEntry): Mistake | undefined {
  for (let at = 0; at < text.length; ) {
    const character = text.charAt(at);
    if (character === ";") return undefined;
    if (character === " " || character === "\t") {
      at += 1;
    } else if (character === "(" || character === ")") {
      const mistake = turnParenthesis(character, { line, column: at + 1 }, entry);
      if (mistake !== undefined) return mistake;
      at += 1;
    } else {
      const word = readWord(text, at, line);
      if ("mistake" in word) return word.mistake;
      entry.tokens.push(word.token);
      at = word.end;
    }
  }
  return undefined;
}

function turnParenthesis(
  character: "(" | ")",
  place: { readonly line: number; readonly column: number },
  entry: OpenEntry,
): Mistake | undefined {
  if (character === "(") {
    if (entry.parenthesis !== undefined) return unclosed(entry);
    entry.parenthesis = place;
    return undefined;
  }
  if (entry.parenthesis === undefined) {
    const message = "This parenthesis closes none that is open.";
    return { ...place, message, remedy: "Remove it, or open one before it.", code: "RECORD_PARENTHESIS_STRAY" };
  }
  delete entry.parenthesis;
  return undefined;
}

function readWord(
  text: string,
  at: number,
  line: number,
): { readonly token: Token; readonly end: number } | { readonly mistake: Mistake } {
  const quoted = text.charAt(at) === '"';
  const start = quoted ? at + 1 : at;
  const { end, badEscape } = wordEnd(text, start, quoted);
  if (badEscape !== undefined) {
    const remedy = "Write \\\\ for a backslash, \\DDD (three digits, 000 to 255) for an octet.";
    return { mistake: { line, column: end + 1, message: `${badEscape}.`, remedy, code: "RECORD_ESCAPE" } };
  }
  if (quoted && end === text.length) {
    const message = "The quote that opens here is not closed on its line.";
    const remedy = 'Close it with ", and write " inside it as \\".';
    return { mistake: { line, column: at + 1, message, remedy, code: "RECORD_QUOTE_OPEN" } };
  }
  return { token: { text: text.slice(start, end), quoted, line, column: at + 1 }, end: quoted ? end + 1 : end };
}

/** Where the word that starts at `start` ends; or where an escape in it is wrong, and why. */
function wordEnd(text: string, start: number, quoted: boolean): { readonly end: number; readonly badEscape?: string } {
  const stop = quoted ? '"' : ' \t;()"';
  let at = start;
  while (at < text.length && !stop.includes(text.charAt(at))) {
    if (text.charAt(at) !== "\\") {
      at += 1;
      continue;
    }
    try {
      at = readEscape(text, at).end;
    } catch (error) {
      if (!(error instanceof NameError)) throw error;
      return { end: at, badEscape: error.message };
    }
  }
  return { end: at };
}

function unclosed({ parenthesis }: OpenEntry): Mistake | undefined {
  if (parenthesis === undefined) return undefined;
  return {
    ...parenthesis,
    message: "The parenthesis that opens here is not closed.",
    remedy: "Close it with ) before the next record; parentheses do not nest.",
    code: "RECORD_PARENTHESIS_OPEN",
  };
}

const DIRECTIVES: ReadonlyMap<string, readonly [message: string, remedy: string]> = new Map([
  [
    "$ORIGIN",
    [
      "$ORIGIN is not read: names are relative to the zone.",
      "Write names relative to the zone, or whole with a dot at their end.",
    ],
  ],
  [
    "$TTL",
    [
      "$TTL is not read: the default comes from the configuration.",
      "Set `ttl:` in the zone, or write the TTL into the records.",
    ],
  ],
  ["$INCLUDE", ["$INCLUDE is not read: a zone is one file.", "Write the records here."]],
  ["$GENERATE", ["$GENERATE is not read: it is an extension of BIND.", "Write the records out."]],
]);

function directive({ tokens, ownerOmitted }: OpenEntry): Entry {
  const [first] = tokens;
  if (first === undefined || first.quoted || !first.text.startsWith("$")) return { tokens, ownerOmitted };
  const [message, remedy] = DIRECTIVES.get(first.text.toUpperCase()) ?? [
    `"${first.text}" is not a directive.`,
    "Remove the line; for a name that begins with $, write \\$.",
  ];
  const { line, column } = first;
  return { tokens, ownerOmitted, mistake: { line, column, message, remedy, code: "RECORD_DIRECTIVE" } };
}

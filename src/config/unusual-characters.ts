import { type Document, isPair, isScalar, type Scalar, visit } from "yaml";
import type { Finding } from "./finding.js";

/** A character that an editor, a word processor or a chat program puts in the place of another one. */
interface Unusual {
  readonly name: string;
  /** What to write instead. */
  readonly remedy: string;
  /** It shows nothing, or looks like a space. */
  readonly isInvisible: boolean;
  readonly isQuote: boolean;
}

const kinds = (characters: string, name: string, remedy: string, more: Partial<Unusual> = {}) =>
  [...characters].map((one): [string, Unusual] => [one, { name, remedy, isInvisible: false, isQuote: false, ...more }]);

const INVISIBLE = { isInvisible: true };
const QUOTE = { isQuote: true };
const REMOVE = "Remove it.";
const SPACE = "Write an ordinary space.";
const HYPHEN = 'Write an ordinary hyphen "-".';
const DOUBLE = "Write an ordinary quotation mark (U+0022), or none.";
const SINGLE = "Write an ordinary apostrophe (U+0027), or none.";

/** Those with a name of their own; full-width forms are many. */
const UNUSUAL: ReadonlyMap<string, Unusual> = new Map([
  ...kinds("\u201c\u201d\u201e\u201f\u00ab\u00bb", "a curly quotation mark", DOUBLE, QUOTE),
  ...kinds("\u2018\u2019\u201a\u201b", "a curly apostrophe", SINGLE, QUOTE),
  ...kinds("\u00a0", "a no-break space", SPACE, INVISIBLE),
  ...kinds("\u202f", "a narrow no-break space", SPACE, INVISIBLE),
  ...kinds(
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u205f",
    "a typographic space",
    SPACE,
    INVISIBLE,
  ),
  ...kinds("\u3000", "an ideographic space", SPACE, INVISIBLE),
  ...kinds("\u200b", "a zero-width space", REMOVE, INVISIBLE),
  ...kinds("\u200c", "a zero-width non-joiner", REMOVE, INVISIBLE),
  ...kinds("\u200d", "a zero-width joiner", REMOVE, INVISIBLE),
  ...kinds("\u2060", "a word joiner", REMOVE, INVISIBLE),
  ...kinds("\u00ad", "a soft hyphen", REMOVE, INVISIBLE),
  ...kinds("\ufeff", "a byte-order mark", REMOVE, INVISIBLE),
  ...kinds(
    "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    "a mark of text direction",
    REMOVE,
    INVISIBLE,
  ),
  ...kinds("\u2028\u2029\u0085", "a line separator", "Write an ordinary line break.", INVISIBLE),
  ...kinds("\u2010", "a typographic hyphen", HYPHEN),
  ...kinds("\u2011", "a non-breaking hyphen", HYPHEN),
  ...kinds("\u2012\u2013\u2014\u2015", "a dash", HYPHEN),
  ...kinds("\u2212", "a minus sign", HYPHEN),
  ...kinds("\u2026", "an ellipsis", "Write full stops."),
  ...kinds("\u3002\uff61", "an ideographic full stop", 'Write an ordinary full stop ".".'),
]);

/** Full-width forms of the printable ASCII characters (Unicode, Halfwidth and Fullwidth Forms). */
const FULL_WIDTH_FIRST = 0xff01;
const FULL_WIDTH_LAST = 0xff5e;
const FULL_WIDTH_DISTANCE = 0xff01 - 0x21;

/** Options whose value is a path or free text, in which people may use what they like, but hardly what nobody sees. */
const FREE_TEXT: ReadonlySet<string> = new Set([
  ...["ca", "cert", "key", "bearerTokenFile", "tokenFile", "cookieSecretFile", "secretFile", "stateDir", "socket"],
  ...["zones", "identity", "version"],
]);

/** A finding with its offset in the text, UTF-16 units. */
export type PlacedFinding = Finding & { readonly offset: number };

/**
 * Finds characters that editors and chat programs put in, in the keys and values of a document: at most one for each.
 * They look right, and what is made of them is not: names that nobody asks for, keys that are not known.
 *
 * An escape such as `"\u00a0"` is somebody's intention and is left alone, as are comments, arguments of commands, and
 * quoted strings in `records`.
 */
export function unusualCharacters(document: Document.Parsed, text: string): readonly PlacedFinding[] {
  const findings: PlacedFinding[] = [];
  visit(document, {
    Scalar(role, node, ancestors) {
      if (!node.range || typeof node.value !== "string") return;
      const pair = ancestors.findLast(isPair);
      const option = role !== "key" && isScalar(pair?.key) ? String(pair.key.value) : undefined;
      if (option === "command") return;
      const [from, to] = node.range;
      const written = text.slice(from, to);
      const found = firstUnusual(option === "records" ? withoutStrings(written) : written, option);
      if (found === undefined) return;
      findings.push({ offset: from + found.at, ...finding(found, role === "key", node) });
    },
  });
  return findings;
}

interface Found extends Unusual {
  readonly at: number;
  readonly character: string;
}

function firstUnusual(written: string, option: string | undefined): Found | undefined {
  const isFree = option !== undefined && FREE_TEXT.has(option);
  for (let at = 0; at < written.length; at += 1) {
    const character = written[at] as string;
    if (character < "\u0080") continue;
    const unusual = unusualOf(character);
    if (unusual === undefined) continue;
    const isAtEnd = at === 0 || at === written.trimEnd().length - 1;
    if (isFree && !unusual.isInvisible && !(unusual.isQuote && isAtEnd)) continue;
    return { at, character, ...unusual };
  }
  return undefined;
}

function unusualOf(character: string): Unusual | undefined {
  const code = character.charCodeAt(0);
  if (code < FULL_WIDTH_FIRST || code > FULL_WIDTH_LAST) return UNUSUAL.get(character);
  const ordinary = String.fromCharCode(code - FULL_WIDTH_DISTANCE);
  const what = `a full-width ${JSON.stringify(ordinary)}`;
  return { name: what, remedy: `Write an ordinary ${JSON.stringify(ordinary)}.`, isInvisible: false, isQuote: false };
}

/** Master-file text with blanks for its quoted strings and comments (RFC 1035 §5.1), of the same length. */
function withoutStrings(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|;[^\n]*/g, (part) => " ".repeat(part.length));
}

function finding({ character, name, remedy, isInvisible }: Found, isKey: boolean, { value }: Scalar): Finding {
  const code = `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const shown = isInvisible ? code : `${character} (${code})`;
  const where = isKey ? `the key ${showCharacters(String(value))}` : "this value";
  return {
    message: `${where} holds ${shown}, ${name}, as editors and chat programs put it in.`,
    remedy,
    code: "CONFIG_CHARACTER",
  };
}

/** Longest key that is shown, characters. */
const MAX_SHOWN = 40;

/** A text in quotes, in which every character that is not ASCII is shown by its number. */
function showCharacters(text: string): string {
  const shown = [...text].slice(0, MAX_SHOWN).join("");
  return JSON.stringify(shown).replace(
    /[\u0080-\uffff]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

import path from "node:path";
import { type Document, LineCounter, parseDocument, visit } from "yaml";
import type { Problem } from "../lib/errors.js";
import type { Position } from "./config.js";
import type { Finding } from "./finding.js";
import { type Path, type Place, type Positions, positionsOf } from "./positions.js";
import { quote } from "./quote.js";
import { type PlacedFinding, unusualCharacters } from "./unusual-characters.js";
import { MAX_DEPTH, tooDeepAt } from "./yaml-depth.js";
import { syntaxFinding } from "./yaml-errors.js";

/** Largest YAML file, in octets: 20 000 targets are well under 1 MiB, and a wrong file is often huge. */
export const MAX_FILE_OCTETS = 4 * 1024 * 1024;

/** Most aliases that may be followed in one file, so that aliases of aliases cannot grow without bound. */
const MAX_ALIASES = 100;

/** Most syntax errors told of one file: one slip often causes many. */
const MAX_SYNTAX_PROBLEMS = 20;

/** One YAML file, read and parsed. */
export interface Source {
  /** As shown to the user. */
  readonly file: string;
  /** Absolute folder of the file: what its relative file names start from. */
  readonly directory: string;
  /** The content as plain values; not validated. */
  readonly data: unknown;
  readonly positions: Positions;
  /** A place as a {@link Position} in this file. */
  position(place: Place): Position;
}

/** Takes one problem; the caller collects them. */
export type Report = (problem: Problem) => void;

/** A finding at the value of `path` in `source`. */
export function problemAt(source: Source, where: Path, finding: Finding): Problem {
  return { file: source.file, ...source.positions.value(where), ...finding };
}

/** A finding at the key of `path` in `source`. */
export function problemAtKey(source: Source, where: Path, finding: Finding): Problem {
  return { file: source.file, ...source.positions.key(where), ...finding };
}

/**
 * Parses YAML 1.2. Of a file with syntax errors nothing but these is told: what it would mean is a guess. Characters that
 * an editor put in are told first and alone, since they cause such errors.
 *
 * @param file as shown to the user
 * @param absolute the same file, absolute
 */
export function parseSource(
  file: string,
  absolute: string,
  content: Buffer,
): { source: Source } | { problems: Problem[] } {
  const text = decodeUtf8(content);
  if (typeof text !== "string") {
    const finding = {
      message: "the file is not UTF-8 from here on.",
      remedy: "Save it as UTF-8.",
      code: "CONFIG_NOT_UTF8",
    };
    return { problems: [{ file, ...text, ...finding }] };
  }
  const deep = tooDeepAt(text);
  if (deep !== undefined) {
    const finding = {
      message: `collections are nested more than ${MAX_DEPTH} deep.`,
      remedy: "Write the options without that nesting.",
      code: "CONFIG_YAML_DEPTH",
    };
    return { problems: [{ file, ...deep, ...finding }] };
  }
  const counter = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    stringKeys: true,
    prettyErrors: false,
    // At "silent" a second document would be no error; nothing is printed at any level.
    logLevel: "error",
    lineCounter: counter,
  });
  const positions = positionsOf(document, counter, text);
  const read = readDocument(document, text);
  if ("findings" in read) {
    const problems = read.findings.map(({ offset, ...finding }) => ({ file, ...positions.offset(offset), ...finding }));
    problems.sort((a, b) => a.line - b.line || a.column - b.column);
    return { problems: problems.slice(0, MAX_SYNTAX_PROBLEMS) };
  }
  const position = (place: Place): Position => ({ file, ...place });
  return { source: { file, directory: path.dirname(absolute), data: read.data, positions, position } };
}

/** The plain values of a document, or what is wrong with its YAML. */
function readDocument(
  document: Document.Parsed,
  text: string,
): { readonly data: unknown } | { readonly findings: readonly PlacedFinding[] } {
  const unusual = unusualCharacters(document, text);
  if (unusual.length > 0) return { findings: unusual };
  const findings = [...syntaxFindings(document, text), ...aliasFindings(document)];
  if (findings.length > 0) return { findings };
  try {
    return { data: document.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch {
    const message = `aliases stand for more than ${MAX_ALIASES} copies.`;
    return { findings: [{ offset: 0, message, remedy: "Write the values out.", code: "CONFIG_YAML_ALIAS" }] };
  }
}

function syntaxFindings(document: Document.Parsed, text: string): PlacedFinding[] {
  const findings: PlacedFinding[] = [...document.errors, ...document.warnings].map((error) => ({
    ...syntaxFinding(error, text),
    offset: error.pos[0],
  }));
  const { yaml } = document.directives;
  if (yaml.explicit === true && yaml.version !== "1.2") {
    findings.push({
      offset: Math.max(0, text.indexOf("%YAML")),
      message: `the file says it is YAML ${yaml.version}, in which "yes" and "0123" mean something else.`,
      remedy: 'Remove the "%YAML" line; configuration is YAML 1.2.',
      code: "CONFIG_YAML_VERSION",
    });
  }
  return findings;
}

function aliasFindings(document: Document.Parsed): PlacedFinding[] {
  const findings: PlacedFinding[] = [];
  visit(document, {
    Alias(_key, alias, ancestors) {
      const target = alias.resolve(document);
      if (target !== undefined && !ancestors.includes(target)) return;
      findings.push({
        offset: alias.range?.[0] ?? 0,
        message:
          target === undefined
            ? `the alias ${quote(`*${alias.source}`)} has no anchor before it.`
            : `the alias ${quote(`*${alias.source}`)} stands inside its own anchor.`,
        remedy: "Write the value out.",
        code: "CONFIG_YAML_ALIAS",
      });
    },
  });
  return findings;
}

/** The text, without a byte-order mark; or the place of the first octet that is not UTF-8. */
function decodeUtf8(content: Buffer): string | Place {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    // Not worth being fast: octet by octet up to the one that fails.
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let line = 1;
    let column = 1;
    try {
      for (let offset = 0; offset < content.length; offset++) {
        for (const character of decoder.decode(content.subarray(offset, offset + 1), { stream: true })) {
          if (character === "\n") {
            line++;
            column = 1;
          } else column++;
        }
      }
    } catch {
      // The place has been counted.
    }
    return { line, column };
  }
}

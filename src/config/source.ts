import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { Lexer, LineCounter, parseDocument, visit, type YAMLError } from "yaml";
import { codeOf, type Problem } from "../lib/errors.js";
import type { Position } from "./config.js";
import { type Path, type Place, type Positions, positionsOf } from "./positions.js";
import { quote } from "./quote.js";

/** Largest YAML file, in octets: 20 000 targets are well under 1 MiB, and a wrong file is often huge. */
export const MAX_FILE_OCTETS = 4 * 1024 * 1024;

/** Deepest nesting of collections; the schema needs 6. A parser that recurses must not meet more. */
const MAX_DEPTH = 64;

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

/** What a {@link Problem} says besides its place. */
export interface Finding {
  readonly message: string;
  readonly remedy: string;
  readonly code: string;
  readonly severity?: "error" | "warning";
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
 * The octets of a regular file, or why they cannot be had, as a clause (`there is no such file`).
 *
 * @param limit largest size in octets
 */
export function readRegularFile(file: string, limit: number): { content: Buffer } | { why: string } {
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) return { why: "it is a directory" };
    // A pipe or a device would block or never end.
    if (!stat.isFile()) return { why: "it is not a regular file" };
    if (stat.size > limit) return { why: `it is larger than ${limit / 1024} KiB` };
    return { content: readFileSync(file) };
  } catch (error) {
    return { why: READ_ERRORS[codeOf(error)] ?? `the system says ${codeOf(error) || "no"}` };
  }
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EACCES: "this user may not read it",
  EPERM: "this user may not read it",
  ELOOP: "its symbolic links go in a circle",
  ENAMETOOLONG: "the name is too long",
  ERR_INVALID_ARG_VALUE: "the name holds a NUL character",
};

/**
 * Parses YAML 1.2. Of a file with syntax errors nothing but these is told: what it would mean is a guess.
 *
 * @param file as shown to the user
 * @param absolute the same file, absolute
 */
export function parseSource(
  file: string,
  absolute: string,
  content: Buffer,
): { source: Source } | { problems: Problem[] } {
  const decoded = decodeUtf8(content);
  if (typeof decoded !== "string") {
    return {
      problems: [
        {
          file,
          ...decoded,
          message: "the file is not UTF-8 from here on.",
          remedy: "Save it as UTF-8.",
          code: "CONFIG_NOT_UTF8",
        },
      ],
    };
  }
  const text = decoded;
  const counter = new LineCounter();
  const deep = tooDeepAt(text);
  if (deep !== undefined) {
    return {
      problems: [
        {
          file,
          ...deep,
          message: `collections are nested more than ${MAX_DEPTH} deep.`,
          remedy: "Write the options without that nesting.",
          code: "CONFIG_YAML_DEPTH",
        },
      ],
    };
  }
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
  const findings: (Finding & { offset: number })[] = [...document.errors, ...document.warnings].map((error) => ({
    ...syntaxFinding(error, text),
    offset: error.pos[0],
  }));
  const yaml = document.directives.yaml;
  if (yaml.explicit === true && yaml.version !== "1.2") {
    findings.push({
      offset: Math.max(0, text.indexOf("%YAML")),
      message: `the file says it is YAML ${yaml.version}, in which "yes" and "0123" mean something else.`,
      remedy: 'Remove the "%YAML" line; configuration is YAML 1.2.',
      code: "CONFIG_YAML_VERSION",
    });
  }
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
  let data: unknown;
  if (findings.length === 0) {
    try {
      data = document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch {
      findings.push({
        offset: 0,
        message: `aliases stand for more than ${MAX_ALIASES} copies.`,
        remedy: "Write the values out.",
        code: "CONFIG_YAML_ALIAS",
      });
    }
  }
  if (findings.length > 0) {
    const problems = findings.map(({ offset, ...finding }) => ({ file, ...positions.offset(offset), ...finding }));
    problems.sort((a, b) => a.line - b.line || a.column - b.column);
    return { problems: problems.slice(0, MAX_SYNTAX_PROBLEMS) };
  }
  const position = (place: Place): Position => ({ file, ...place });
  return { source: { file, directory: path.dirname(absolute), data, positions, position } };
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

/** Tokens by which the lexer tells where documents and scalars start; they are not in the text. */
const LEXER_MARKS: readonly string[] = ["\u0002", "\u0018", "\u001f"];

/**
 * Where the nesting becomes too deep to be parsed safely, if it does. The lexer does not recurse; the parser does,
 * and a line of 100 000 brackets or dashes makes it exhaust memory instead of throwing.
 */
function tooDeepAt(text: string): Place | undefined {
  let flow = 0;
  let inLine = 0;
  let line = 1;
  let column = 1;
  for (const token of new Lexer().lex(text)) {
    if (token === "[" || token === "{") flow++;
    else if (token === "]" || token === "}") flow--;
    else if (token === "-" || token === "?") inLine++;
    if (flow > MAX_DEPTH || inLine > MAX_DEPTH) return { line, column };
    const newlines = token.split("\n").length - 1;
    if (newlines > 0) {
      line += newlines;
      column = 1;
      inLine = 0;
    }
    if (!LEXER_MARKS.includes(token)) column += token.length - (token.lastIndexOf("\n") + 1);
    // Block collections nest by indentation alone.
    if (/^ +$/.test(token) && column === token.length + 1 && token.length > MAX_DEPTH * 8) return { line, column };
  }
  return undefined;
}

/** The YAML library's errors in our words; those without an entry keep its own. */
function syntaxFinding(error: YAMLError, text: string): Finding {
  const rest = text.slice(error.pos[0]).split("\n", 1)[0] ?? "";
  const code = "CONFIG_YAML_SYNTAX";
  switch (error.code) {
    case "DUPLICATE_KEY":
      return {
        message: `the key ${quote(rest.replace(/\s*:.*$/, "").replace(/^(["'])(.*)\1$/, "$2"))} is already there in this mapping.`,
        remedy: "Keep one of them.",
        code: "CONFIG_YAML_DUPLICATE_KEY",
      };
    case "TAB_AS_INDENT":
      return { message: "the line is indented with a tab, which YAML forbids.", remedy: "Use spaces.", code };
    case "MULTIPLE_DOCS":
      return {
        message: "a second document starts here, but a configuration file holds one.",
        remedy: 'Remove the "---" line, or move what follows to a file of its own.',
        code,
      };
    case "BAD_SCALAR_START":
      return {
        message: `a plain value cannot start with ${quote(rest.slice(0, 1))}.`,
        remedy: "Put it in double quotes.",
        code,
      };
    case "NON_STRING_KEY":
      return {
        message: "a key is a list or a mapping.",
        remedy: "Put values with brackets or braces in quotes.",
        code,
      };
    case "BLOCK_AS_IMPLICIT_KEY":
      return {
        message: "a value on the same line as its key holds another key.",
        remedy: "Put the mapping on lines of its own, or the value in double quotes.",
        code,
      };
    case "UNEXPECTED_TOKEN": {
      const bracket = /^Unexpected flow-(?:seq|map)-end token.*"(.)"$/.exec(error.message)?.[1];
      if (bracket === undefined) break;
      return {
        message: `${quote(bracket)} closes a bracket that is not open here.`,
        remedy: "Remove it, or write the opening bracket that belongs to it.",
        code,
      };
    }
    case "BAD_INDENT": {
      const bracket = /^Flow .* end with a (.)$/.exec(error.message)?.[1];
      if (bracket !== undefined) {
        return {
          message: `a bracket that was opened before is not closed here: a ${quote(bracket)} is missing, or the line is not indented.`,
          remedy: 'Check brackets and quotes from here upwards: each "[" needs its "]", each "{" its "}".',
          code,
        };
      }
      return { message: `${lowerFirst(error.message)}.`, remedy: "Check the indentation of this line.", code };
    }
    case "TAG_RESOLVE_FAILED":
      return { message: "tags are not used here.", remedy: 'Remove the "!…" in front of the value.', code };
  }
  return {
    message: `YAML cannot be read here: ${lowerFirst(error.message).slice(0, 160)}.`,
    remedy: "Check quotes, brackets and indentation up to here.",
    code,
  };
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, "");
}

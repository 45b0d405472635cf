import { Lexer } from "yaml";
import type { Place } from "./positions.js";

/** Deepest nesting of collections; the schema needs 6. A parser that recurses must not meet more. */
export const MAX_DEPTH = 64;

/** Tokens by which the lexer tells where documents and scalars start; they are not in the text. */
const LEXER_MARKS: readonly string[] = ["\u0002", "\u0018", "\u001f"];

/**
 * Where the nesting becomes too deep to be parsed safely, if it does. The lexer does not recurse; the parser does,
 * and a line of 100 000 brackets or dashes makes it exhaust memory instead of throwing.
 */
export function tooDeepAt(text: string): Place | undefined {
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

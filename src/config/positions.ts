import { type Document, isAlias, isCollection, isMap, isScalar, isSeq, type LineCounter, type Node } from "yaml";

/** Keys and indices from the root of a YAML document to a place in it. */
export type Path = readonly (string | number)[];

/** A place in a text; both from 1. */
export interface Place {
  readonly line: number;
  /** In characters (code points), as editors count. */
  readonly column: number;
}

/** Where the parts of one parsed YAML document stand in its text. */
export interface Positions {
  /** The value at `path`; its key if the value is empty; of what is missing, the nearest key that is there. */
  value(path: Path): Place;
  /** The key at `path`; of a list's item, the item. */
  key(path: Path): Place;
  /** A place in the text at `path` (a string value), of which `line` and `column` count from 1. */
  inText(path: Path, line: number, column: number): Place;
  /** The place of an offset in UTF-16 units. */
  offset(offset: number): Place;
  /** The keys of the mapping at `path` in the order written: JavaScript would move keys of digits to the front. */
  keys(path: Path): readonly string[];
  /** Whether a list stands at `path`, for values that may be written alone or as a list. */
  isList(path: Path): boolean;
}

/** One step of a path: its key's node, if it has one, and its value's. */
interface Step {
  readonly key: Node | undefined;
  readonly value: Node | undefined;
}

/** @param text what `document` was parsed from, with the same offsets as in `counter` */
export function positionsOf(document: Document.Parsed, counter: LineCounter, text: string): Positions {
  const root: Step = { key: undefined, value: document.contents ?? undefined };

  function offsetPlace(offset: number): Place {
    const { line, col } = counter.linePos(offset);
    // An empty text has no lines to count.
    if (line === 0) return { line: 1, column: 1 };
    const start = counter.lineStarts[line - 1] ?? 0;
    return { line, column: [...text.slice(start, start + col - 1)].length + 1 };
  }

  function resolved(node: Node | undefined): Node | undefined {
    return isAlias(node) ? node.resolve(document) : node;
  }

  /** The steps that exist, from the root on; shorter than `path` when something is missing. */
  function walk(path: Path): Step[] {
    const steps = [root];
    for (const part of path) {
      const container = resolved(steps.at(-1)?.value);
      const next = stepInto(container, part);
      if (next === undefined) break;
      steps.push(next);
    }
    return steps;
  }

  function nodePlace(node: Node | undefined): Place | undefined {
    return node?.range ? offsetPlace(node.range[0]) : undefined;
  }

  function nearest(steps: readonly Step[]): Place {
    for (const step of steps.toReversed()) {
      const place = nodePlace(step.key) ?? nodePlace(step.value);
      if (place !== undefined) return place;
    }
    return { line: 1, column: 1 };
  }

  function value(path: Path): Place {
    const steps = walk(path);
    const last = steps.at(-1);
    if (steps.length <= path.length || isEmpty(last?.value)) return nearest(steps);
    return nodePlace(last?.value) ?? nearest(steps);
  }

  return {
    value,
    key: (path) => nearest(walk(path)),
    offset: offsetPlace,
    keys(path) {
      const steps = walk(path);
      const map = steps.length > path.length ? resolved(steps.at(-1)?.value) : undefined;
      return isMap(map) ? map.items.map((pair) => keyText(pair.key)) : [];
    },
    isList(path) {
      const steps = walk(path);
      return steps.length > path.length && isSeq(resolved(steps.at(-1)?.value));
    },
    inText(path, line, column) {
      const node = resolved(walk(path).at(-1)?.value);
      // Folding, escapes and quotes lose the lines; only the literal style keeps each line of the text a line of the file.
      if (!isScalar(node) || node.type !== "BLOCK_LITERAL" || !node.range) return value(path);
      const header = counter.linePos(node.range[0]).line;
      return { line: header + line, column: literalIndent(node, header) + column };
    },
  };

  /** Columns that YAML took off every line of a literal block that starts after line `header`. */
  function literalIndent(node: Node & { value: unknown }, header: number): number {
    // Asked for each record: what is done here must not grow with the block. Before its first line stand empty ones only.
    const content = String(node.value);
    const index = content.search(/[^\n]/);
    const start = index < 0 ? undefined : counter.lineStarts[header + index];
    if (start === undefined) return 0;
    const source = lineFrom(text, start).replace(/\r$/, "");
    return Math.max(0, source.length - lineFrom(content, index).length);
  }
}

/** From an offset to the end of its line. */
function lineFrom(text: string, start: number): string {
  const end = text.indexOf("\n", start);
  return text.slice(start, end < 0 ? undefined : end);
}

function stepInto(container: Node | undefined, part: string | number): Step | undefined {
  if (isMap(container)) {
    const pair = container.items.find((item) => keyText(item.key) === String(part));
    if (pair === undefined) return undefined;
    return { key: pair.key as Node, value: (pair.value as Node | null) ?? undefined };
  }
  if (isSeq(container) && typeof part === "number") {
    const item = container.items[part];
    return item === undefined ? undefined : { key: item as Node, value: item as Node };
  }
  return undefined;
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value ?? "") : "";
}

function isEmpty(node: Node | undefined): boolean {
  if (node === undefined) return true;
  return !isCollection(node) && isScalar(node) && node.value === null && (node.source ?? "") === "";
}

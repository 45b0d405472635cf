import { posix } from "node:path";
import { importsOf } from "./layers.js";
import { codeOnly } from "./source.js";

/** Longest function, in lines of code. Data tables are listed in exceptions.ts. */
export const MAX_FUNCTION_LINES = 60;

/** Longest file, in lines. Files that are data are listed in exceptions.ts. */
export const MAX_FILE_LINES = 400;

/** The project's files that a file imports, types and workers included. */
export function importedFiles(file: string, source: string): string[] {
  return importsOf(source)
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ specifier }) => posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts"));
}

/**
 * Import circles: for each file that imports itself through others, the shortest way round, `a.ts > b.ts > a.ts`. A circle
 * is told once, from the first of its files.
 *
 * @param imports what each file imports
 */
export function importCircles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const told = new Set<string>();
  for (const start of [...imports.keys()].sort()) {
    if (told.has(start)) continue;
    const way = shortestWayRound(start, imports);
    if (way === undefined) continue;
    for (const file of way) told.add(file);
    circles.push([...way, start].join(" > "));
  }
  return circles;
}

/** The files on the shortest way from a file back to itself, the file first. */
function shortestWayRound(start: string, imports: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  // A file enters the queue at most once.
  for (const file of queue) {
    for (const next of imports.get(file) ?? []) {
      if (next === start) return wayBack(file, start, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, file);
      queue.push(next);
    }
  }
  return undefined;
}

function wayBack(last: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way: string[] = [];
  for (let file: string | undefined = last; file !== undefined && file !== start; file = cameFrom.get(file)) {
    way.unshift(file);
  }
  return [start, ...way];
}

/** Whether a file decides something: its code has a condition or a loop. A list, a type or a constant decides nothing. */
export function decides(source: string): boolean {
  const types = /^(?:export )?(?:interface|type) [\s\S]*?^(?:\}|.*;$)/gm;
  return /\b(?:if|switch|while|for)\s*(?:await\s*)?\(|\s\?\s|&&|\|\||\?\?/.test(codeOnly(source).replace(types, ""));
}

/**
 * Whether a file of `src/` has a test in the mirror tree: below the same folder of `test/`, with a name that begins with the
 * file's, or that imports it.
 *
 * @param tests what each test imports
 */
export function hasMirrorTest(file: string, tests: ReadonlyMap<string, readonly string[]>): boolean {
  const folder = `test/${posix.dirname(file).split("/").slice(1).join("/")}/`.replace("//", "/");
  const name = posix.basename(file, ".ts");
  return [...tests].some(([test, imported]) => {
    if (!test.startsWith(folder)) return false;
    const testName = posix.basename(test, ".test.ts");
    return testName === name || testName.startsWith(`${name}-`) || imported.includes(file);
  });
}

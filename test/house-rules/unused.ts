import { codeOnly } from "./source.js";

const EXPORT = /^export (?:abstract |async )*(function\*?|const|let|class|interface|type)\s+(\w+)/gm;

/** How many times each word stands in a file's code. Templates count: they call functions. */
function wordsIn(source: string): Map<string, number> {
  const count = new Map<string, number>();
  const templates = [...source.matchAll(/\$\{[^}]*\}/g)].map(([text]) => text).join("\n");
  for (const [word] of `${codeOnly(source)}\n${templates}`.matchAll(/\w+/g)) {
    count.set(word, (count.get(word) ?? 0) + 1);
  }
  return count;
}

/**
 * Exports of `src/` that nothing needs, as `file: name`. A value is needed when another file names it. A type may also be
 * there for the signature of something else in its file: it is needed when anything but its own declaration names it.
 *
 * @param sources code of `src/` by file
 * @param users other code that may import from there, such as tests
 */
export function unusedExports(sources: ReadonlyMap<string, string>, users: Iterable<string>): string[] {
  const words = new Map([...sources].map(([file, source]) => [file, wordsIn(source)]));
  /** In how many files each word stands. */
  const files = new Map<string, number>();
  for (const counted of [...words.values(), ...[...users].map(wordsIn)]) {
    for (const word of counted.keys()) files.set(word, (files.get(word) ?? 0) + 1);
  }
  return [...sources].flatMap(([file, source]) =>
    [...source.matchAll(EXPORT)].flatMap(([, kind = "", name = ""]) => {
      const isType = kind === "interface" || kind === "type";
      const isNamedElsewhere = (files.get(name) ?? 0) > 1;
      const isNamedHere = isType && (words.get(file)?.get(name) ?? 0) > 1;
      return isNamedElsewhere || isNamedHere ? [] : [`${file}: ${name}`];
    }),
  );
}

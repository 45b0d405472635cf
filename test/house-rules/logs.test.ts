import { describe, expect, test } from "vitest";
import { codeOnly, lineAt, sourceFiles, textOf, withoutComments } from "./source.js";

/** One line that the program may write to its log. */
interface LogCall {
  /** Where, as `file:line`. */
  readonly at: string;
  readonly level: string;
  readonly msg: string;
  /** Fields that are written out beside it; what a function adds is not seen here. */
  readonly fields: readonly string[];
}

/**
 * What comes between an opening bracket and its closing one, cut at the commas that stand in no inner bracket.
 *
 * @param code of `source`, with strings blanked out, so that nothing in them counts
 */
function partsInside(code: string, source: string, open: number): { readonly start: number; readonly end: number }[] {
  const parts: { start: number; end: number }[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = open; at < code.length; at += 1) {
    const character = code[at] ?? "";
    if ("([{".includes(character)) depth += 1;
    if (")]}".includes(character)) depth -= 1;
    if (depth === 0 || (depth === 1 && character === ",")) {
      if (source.slice(start, at).trim() !== "") parts.push({ start, end: at });
      start = at + 1;
    }
    if (depth === 0) break;
  }
  return parts;
}

/** Names of the properties of an object literal. */
function keysOf(code: string, source: string, open: number): string[] {
  return partsInside(code, source, open).flatMap(
    ({ start, end }) => /^\s*(\w+)/.exec(code.slice(start, end))?.[1] ?? [],
  );
}

/** The messages that an argument may come to; what a template takes from elsewhere is shown as `…`. */
function messagesIn(argument: string, source: string): string[] {
  const plain = [...argument.matchAll(/"([^"\\\n]+)"/g)].map(([, msg]) => msg ?? "");
  if (plain.length > 0) return plain;
  const template = /^\s*`([^`]+)`\s*$/.exec(source)?.[1];
  return [template?.replaceAll(/\$\{[^}]*\}/g, "…") ?? "(not written out)"];
}

/** Every line that a file may log. A message that is neither string nor template counts as `(not written out)`. */
function logCalls(file: string, source: string): LogCall[] {
  const code = codeOnly(source);
  const text = withoutComments(source);
  return [...code.matchAll(/\blog(?:ger)?\.(trace|debug|info|warn|error|fatal)(\()/g)].flatMap((call) => {
    const parts = partsInside(code, source, call.index + call[0].length - 1);
    const [first, last] = [parts[0], parts.at(-1)];
    if (first === undefined || last === undefined) return [];
    const argument = code.slice(first.start, first.end);
    const literal = argument.trim().startsWith("{") ? first.start + argument.indexOf("{") : undefined;
    const named = code.lastIndexOf(`const ${argument.trim()} = {`, call.index);
    const object = literal ?? (named < 0 ? undefined : code.indexOf("{", named));
    const fields = object === undefined || parts.length < 2 ? [] : keysOf(code, source, object);
    const messages = messagesIn(text.slice(last.start, last.end), source.slice(last.start, last.end));
    const at = `${file}:${lineAt(source, call.index)}`;
    return messages.map((msg) => ({ at, level: call[1] ?? "", msg, fields }));
  });
}

/**
 * The entries of `docs/logs.md`: a heading with the message, then the level, and all that is set as code there or at
 * the beginning of its chapter.
 */
function documented(text: string): Map<string, { readonly level: string; readonly fields: readonly string[] }> {
  const chapters = text.split(/^## /m).map((chapter) => chapter.split(/^### /m));
  return new Map(
    chapters.flatMap(([shared = "", ...entries]) =>
      entries.map((entry) => {
        const [, msg = "", level = "", body = ""] = /^(.*)\n\n`(\w+)`([\s\S]*)/.exec(entry) ?? [];
        return [msg, { level, fields: [...`${shared}${body}`.matchAll(/`([^`]+)`/g)].map(([, field]) => field ?? "") }];
      }),
    ),
  );
}

describe("docs/logs.md", () => {
  const calls = sourceFiles().flatMap((file) => logCalls(file, textOf(file)));
  const entries = documented(textOf("docs/logs.md"));

  test("has every message that the source can log, with its level and its fields", () => {
    expect(calls.length).toBeGreaterThan(10);
    const wrong = calls.flatMap(({ at, level, msg, fields }) => {
      const entry = entries.get(msg);
      if (entry === undefined) return [`${at}: "${msg}" is not in docs/logs.md`];
      const absent = fields.filter((field) => !entry.fields.includes(field));
      return [
        ...(entry.level === level ? [] : [`${at}: "${msg}" is ${level} here and ${entry.level} in docs/logs.md`]),
        ...absent.map((field) => `${at}: "${msg}" has a field ${field}, which docs/logs.md does not name`),
      ];
    });
    expect(wrong).toEqual([]);
  });

  test("has no message that the source does not log", () => {
    const messages = new Set(calls.map(({ msg }) => msg));
    expect([...entries.keys()].filter((msg) => !messages.has(msg))).toEqual([]);
  });
});

describe("the reader of log calls", () => {
  const read = (source: string) => logCalls("a.ts", source).map(({ level, msg, fields }) => [level, msg, fields]);

  test.each([
    ['log.info({ a: f(1, 2), b, ...c }, "it happened");', [["info", "it happened", ["a", "b"]]]],
    ['log.warn(\n  { a: { x: 1 } },\n  "it\'s here, (really)",\n);', [["warn", "it's here, (really)", ["a"]]]],
    ['log.error("alone");', [["error", "alone", []]]],
    [
      'const fields = {\n  a: 1,\n};\nif (b) log.info(fields, c ? "one" : "two");',
      [
        ["info", "one", ["a"]],
        ["info", "two", ["a"]],
      ],
    ],
    ["log.info({}, message);", [["info", "(not written out)", []]]],
    [`log.info({}, \`it \${a}\`);`, [["info", "it …", []]]],
    ['// log.info({}, "in a comment")\nconst a = \'log.info({}, "in a string")\';', []],
  ])("reads %j", (source, expected) => {
    expect(read(source)).toEqual(expected);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Entry, readEntries } from "../../src/zone/master-file.js";

/** Words of an entry: quoted ones in quotes, `+` in front where the owner is left out, the code of a mistake at the end. */
function shown({ tokens, ownerOmitted, mistake }: Entry): string {
  const words = tokens.map(({ text, quoted }) => (quoted ? `"${text}"` : text)).join(" ");
  const wrong = mistake === undefined ? "" : ` !${mistake.code}@${mistake.line}:${mistake.column}`;
  return `${ownerOmitted ? "+" : ""}${words}${wrong}`;
}

const read = (text: string) => readEntries(text).map(shown);

describe("entries (RFC 1035 §5.1)", () => {
  test.each([
    { name: "nothing", text: "", entries: [] },
    { name: "blank lines and comments", text: "\n  \t\n; nothing\n  ; here\n", entries: [] },
    { name: "lines of Unix, Windows and old Macs", text: "a\nb\r\nc\rd", entries: ["a", "b", "c", "d"] },
    {
      name: "an owner that is left out",
      text: "www A 192.0.2.1\n  A 192.0.2.2",
      entries: ["www A 192.0.2.1", "+A 192.0.2.2"],
    },
    { name: "a comment behind a word", text: "a b;c d", entries: ["a b"] },
    { name: "a comment sign in quotes", text: 'a "b;c" d', entries: ['a "b;c" d'] },
    { name: "quotes that touch", text: 'a"b""c"d', entries: ['a "b" "c" d'] },
    { name: "empty quotes", text: 'a ""', entries: ['a ""'] },
    { name: "escapes, not resolved", text: 'a\\;b\\ c "d\\"e" \\065', entries: ['a\\;b\\ c "d\\"e" \\065'] },
    { name: "parentheses over lines", text: "a (\nb ; why\n  c )\nd", entries: ["a b c", "d"] },
    { name: "parentheses that touch words", text: "a(b\nc)d", entries: ["a b c d"] },
    { name: "parentheses in quotes", text: 'a "(" b', entries: ['a "(" b'] },
    { name: "two pairs of parentheses", text: "a (b\n) (\nc)", entries: ["a b c"] },
  ])("$name", ({ text, entries }) => {
    expect(read(text)).toEqual(entries);
  });

  test("tell where each word stands", () => {
    const [entry] = readEntries('a "b c" (\n  d)');
    expect(entry?.tokens.map(({ text, line, column }) => [text, line, column])).toEqual([
      ["a", 1, 1],
      ["b c", 1, 3],
      ["d", 2, 3],
    ]);
  });
});

describe("mistakes", () => {
  test.each([
    { name: "a stray parenthesis", text: "a ) b\nc", entries: ["a !RECORD_PARENTHESIS_STRAY@1:3", "c"] },
    { name: "a parenthesis in another", text: "a ( b ( c", entries: ["a b !RECORD_PARENTHESIS_OPEN@1:3"] },
    {
      name: "a parenthesis that stays open",
      text: "a (\n b\nc d\n",
      entries: ["a b c d !RECORD_PARENTHESIS_OPEN@1:3", "c d"],
    },
    { name: "a quote that stays open", text: 'a "b\nc', entries: ["a !RECORD_QUOTE_OPEN@1:3", "c"] },
    { name: "an escape of no octet", text: "a \\256 b\nc", entries: ["a !RECORD_ESCAPE@1:3", "c"] },
    { name: "an escape of nothing", text: "a \\", entries: ["a !RECORD_ESCAPE@1:3"] },
    {
      name: "a mistake inside parentheses, with which the indented lines go",
      text: 'a ( b\n "c\n d )\ne',
      entries: ["a b !RECORD_QUOTE_OPEN@2:2", "e"],
    },
  ])("$name", ({ text, entries }) => {
    expect(read(text)).toEqual(entries);
  });

  test.each([
    ["$ORIGIN example.com.", "names are relative to the zone"],
    ["$ttl 300", "default comes from the configuration"],
    ["$INCLUDE other", "a zone is one file"],
    ["$GENERATE 1-9 a$ A 192.0.2.$", "an extension of BIND"],
    ["$NOTHING", '"$NOTHING" is not a directive'],
  ])("%s is not read, and says why", (text, says) => {
    const [entry] = readEntries(text);
    expect(entry?.mistake).toMatchObject({ code: "RECORD_DIRECTIVE", line: 1, column: 1 });
    expect(entry?.mistake?.message).toContain(says);
  });

  test.each(['"$ORIGIN" x', "\\$ORIGIN x", "a $ORIGIN"])("%s is no directive", (text) => {
    expect(readEntries(text)[0]?.mistake).toBeUndefined();
  });
});

test("any text is read to its end, and every place that is told is in it", () => {
  const piece = fc.constantFrom("a", " ", "\t", "\n", "\r\n", "(", ")", '"', ";", "\\", "\\065", "$TTL", "é");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join("");
      const lines = text.split(/\r\n|\n|\r/);
      for (const { tokens, mistake } of readEntries(text)) {
        for (const { text: word, line, column, quoted } of tokens) {
          const at = lines[line - 1]?.slice(column - 1 + Number(quoted)) ?? "";
          expect(at.startsWith(word)).toBe(true);
        }
        if (mistake !== undefined) expect(lines[mistake.line - 1]?.length).toBeGreaterThanOrEqual(mistake.column - 1);
      }
    }),
    { seed: 17, numRuns: 300 },
  );
});

import { describe, expect, test } from "vitest";
import { loadRight, loadWrong, MAIN, ZONE } from "./folder.js";

/** What is said of a zone file or a main file in which `¦` marks the place of the character. */
function found(files: { readonly zone?: string; readonly main?: string }) {
  const { zone = ZONE, main = MAIN } = files;
  const problems = loadWrong({ "zone.yaml": zone.replace("¦", ""), "livezone.yaml": main.replace("¦", "") });
  const marked = zone.includes("¦") ? zone : main;
  const before = marked.slice(0, marked.indexOf("¦")).split("\n");
  expect(problems[0]).toMatchObject({
    code: "CONFIG_CHARACTER",
    line: before.length,
    column: [...(before.at(-1) ?? "")].length + 1,
  });
  expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(["CONFIG_CHARACTER"]));
  return `${problems[0]?.message} ${problems[0]?.remedy}`;
}

const zoneNamed = (name: string) => ZONE.replace("k8s.example.com", name);

describe("characters that editors and chat programs put in are refused", () => {
  test.each([
    ["curly quotes", "¦“k8s.example.com”", /holds “ \(U\+201C\), a curly quotation mark.* Write an ordinary quotation/],
    ["curly apostrophes", "¦‘k8s.example.com’", /a curly apostrophe/],
    ["a no-break space", "k8s.example.com¦\u00a0", /holds U\+00A0, a no-break space.* Write an ordinary space/],
    ["a narrow no-break space", "k8s¦\u202f.example.com", /holds U\+202F, a narrow no-break space/],
    ["a zero-width space", "k8s¦\u200b.example.com", /holds U\+200B, a zero-width space.* Remove it/],
    ["a zero-width non-joiner", "k8s¦\u200c.example.com", /U\+200C/],
    ["a zero-width joiner", "k8s¦\u200d.example.com", /U\+200D/],
    ["a word joiner", "k8s¦\u2060.example.com", /holds U\+2060, a word joiner/],
    ["a soft hyphen", "k8s¦\u00ad.example.com", /holds U\+00AD, a soft hyphen/],
    ["a non-breaking hyphen", "k8s¦\u2011a.example.com", /U\+2011\), a non-breaking hyphen.* ordinary hyphen "-"/],
    ["a dash", "k8s¦–a.example.com", /holds – \(U\+2013\), a dash/],
    ["a full-width letter", "¦ｋ8s.example.com", /holds ｋ \(U\+FF4B\), a full-width "k".* Write an ordinary "k"/],
    ["a full-width full stop", "k8s¦．example.com", /a full-width "\."/],
    ["an ideographic full stop", "k8s¦。example.com", /an ideographic full stop/],
    ["a byte-order mark", "k8s¦\ufeff.example.com", /holds U\+FEFF, a byte-order mark/],
    ["a mark of direction", "k8s¦\u200e.example.com", /a mark of text direction/],
  ])("%s in a value", (_name, value, words) => {
    expect(found({ zone: zoneNamed(value) })).toMatch(words);
  });

  test("in a key, which is shown with the character's number", () => {
    expect(found({ zone: ZONE.replace("nameservers", "¦\u00a0nameservers") })).toMatch(
      /the key "\\u00a0nameservers" holds U\+00A0/,
    );
  });

  test("even where YAML cannot be read for it", () => {
    expect(found({ zone: ZONE.replace("zone: k8s", "¦zone:\u00a0k8s").replace("¦zone:", "zone:¦") })).toMatch(
      /U\+00A0/,
    );
  });

  test("in an item of a list, and in the main file", () => {
    expect(found({ main: `${MAIN}listen: ["127.0.0.1:5300", 127.0.0.1¦：5301]\n` })).toMatch(/a full-width ":"/);
  });

  test("in records, outside comments and quoted strings", () => {
    const records = (line: string) => `${ZONE}records: |\n  a TXT "say “hi”" ; “so”\n  ${line}\n`;
    expect(found({ zone: records("b TXT ¦“hi”") })).toMatch(/a curly quotation mark/);
    expect(() => loadRight({ "zone.yaml": records('b TXT "hi"') })).not.toThrow();
  });

  test("but not in comments, escapes, or inside paths and arguments", () => {
    const probe = 'probe: { type: exec, command: ["true", "“ok” – \u00a0"] }';
    const zone = `# “quoted” –\u00a0\n${ZONE}    ${probe} # ‘so’\n`;
    expect(() => loadRight({ "zone.yaml": zone, "livezone.yaml": `${MAIN}stateDir: état（one）\n` })).not.toThrow();
  });

  test("a path in curly quotes is", () => {
    expect(found({ main: `${MAIN}stateDir: ¦“state”\n` })).toMatch(/a curly quotation mark/);
  });
});

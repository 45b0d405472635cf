import { describe, expect, test } from "vitest";
import { z } from "zod";
import { oneOrMany, text, wholeNumber } from "../../src/config/option.js";
import { validate } from "../../src/config/validate.js";
import { formatProblem } from "../../src/lib/errors.js";
import { brief, collecting, sourceOf } from "./source.js";

const word = text("a word", { about: "A word." });
const count = wholeNumber({ min: 1, max: 9 }, { about: "How many." });

/** A schema with one of each shape; sections have names of the real schema, whose keys are suggested. */
const schema = z.strictObject(
  {
    zone: word,
    ttl: count.optional(),
    names: oneOrMany(word).optional(),
    list: z.array(count).min(1).optional(),
    soa: z.strictObject({ refresh: count.optional(), retry: count.optional() }, { error: () => "soa" }).optional(),
    targets: z
      .record(
        z.string(),
        z.union([word, z.strictObject({ addresses: word, disabled: count.optional() }, { error: () => "target" })]),
      )
      .optional(),
    clientCertificate: z.strictObject({ cert: word, key: word }, { error: () => "clientCertificate" }).optional(),
  },
  { error: () => "zone" },
);

/** What is left of a text, and what is told. */
function validated(yaml: string) {
  const { problems, report } = collecting();
  const valid = validate(schema, sourceOf(yaml), report);
  return { valid, problems, told: problems.map(brief) };
}

test("a file that is right is its values, and nothing is damaged", () => {
  const { valid, told } = validated("zone: a\nttl: 5\nnames: b\n");
  expect(told).toEqual([]);
  expect(valid?.value).toEqual({ zone: "a", ttl: 5, names: ["b"] });
  expect([[], ["zone"], ["ttl"]].map((path) => valid?.damaged(path))).toEqual([false, false, false]);
});

test.each(["", "# a comment\n", "~\n", "null\n"])("%j is an empty file", (yaml) => {
  expect(validated(yaml)).toMatchObject({ valid: undefined, told: ["1:1 CONFIG_EMPTY"] });
});

describe("what is wrong", () => {
  test.each([
    {
      yaml: "zone: a\nttl: 10\n",
      says: "main.yaml:2:6: ttl is 10: the most is 9.\nWrite a whole number from 1 to 9. [CONFIG_RANGE]",
    },
    {
      yaml: "ttl: 1\n",
      says: 'main.yaml:1:1: zone is missing.\nAdd "zone". Write for example "zone: k8s.example.com". [CONFIG_MISSING]',
    },
    {
      yaml: "zone: a\nclientCertificate: { cert: c }\n",
      says: 'main.yaml:2:1: clientCertificate.key is missing.\nAdd "key". It names the PEM file of the private key. [CONFIG_MISSING]',
    },
    {
      yaml: "zone: a\ntargets: { b: { disabled: 1 } }\n",
      says: 'main.yaml:2:12: targets.b.addresses is missing.\nAdd "addresses". Write a word. [CONFIG_MISSING]',
    },
    {
      yaml: "zone:\n",
      says: 'main.yaml:1:1: zone has no value.\nWrite a value after "zone:", or remove the key. [CONFIG_EMPTY_VALUE]',
    },
    {
      yaml: "zone: a\nlist: []\n",
      says: "main.yaml:2:7: list is an empty list.\nWrite at least one value. [CONFIG_EMPTY_LIST]",
    },
    {
      yaml: "zone: a\nlist: 3\n",
      says: 'main.yaml:2:7: list is 3, where a list is needed.\nWrite it in brackets, such as "[200]", or as lines that start with "- ". [CONFIG_TYPE]',
    },
    {
      yaml: "zone: a\nsoa: [1]\n",
      says: 'main.yaml:2:6: soa is a list, where a mapping is needed.\nWrite "key: value" lines, indented below the key. [CONFIG_TYPE]',
    },
    {
      yaml: "- a\n",
      says: 'main.yaml:1:1: the file is a list, where a mapping is needed.\nWrite "key: value" lines, indented below the key. [CONFIG_TYPE]',
    },
    {
      yaml: "zone: a\nlist: [1, 2, 30]\n",
      says: "main.yaml:2:14: list[2] is 30: the most is 9.\nWrite a whole number from 1 to 9. [CONFIG_RANGE]",
    },
  ])("is told with its place and what to write: $yaml", ({ yaml, says }) => {
    expect(validated(yaml).problems.map(formatProblem)).toEqual([says]);
  });

  test("is told all at once", () => {
    const { told } = validated("ttl: 0\nlist: [0, 1, 10]\nfoo: 1\nsoa: { refresh: x }\n");
    expect(told.sort()).toEqual([
      "1:1 CONFIG_MISSING",
      "1:6 CONFIG_RANGE",
      "2:14 CONFIG_RANGE",
      "2:8 CONFIG_RANGE",
      "3:1 CONFIG_UNKNOWN_KEY",
      "4:17 CONFIG_TYPE",
    ]);
  });
});

describe("a key that is not known", () => {
  test.each([
    { name: "is the beginning of one", key: "endp", remedy: 'Did you mean "endpoints"?' },
    { name: "is a misspelt one", key: "nameserver_ttl", remedy: 'Did you mean "nameserverTtl"?' },
    { name: "belongs elsewhere", key: "refresh", remedy: '"refresh" belongs under "soa" of a zone file.' },
    { name: "is YAML's merge key", key: "<<", remedy: "YAML 1.2 has no merge keys; write the options out." },
    { name: "is like none", key: "colour", remedy: /^Use one of zone, .*endpoints/ },
  ])("$name", ({ key, remedy }) => {
    const [problem] = validated(`zone: a\n${key}: b\n`).problems;
    expect(problem).toMatchObject({ line: 2, column: 1, message: `unknown key "${key}".`, code: "CONFIG_UNKNOWN_KEY" });
    expect(problem?.remedy).toEqual(typeof remedy === "string" ? remedy : expect.stringMatching(remedy));
  });

  test("is told with the section it stands in, also behind an alternative", () => {
    const { problems } = validated("zone: a\nsoa: { retri: 1 }\ntargets: { b: { addresses: c, disable: 1 } }\n");
    expect(problems.map(({ message, remedy }) => [message, remedy])).toEqual([
      ['unknown key "retri" in soa.', 'Did you mean "retry"?'],
      ['unknown key "disable" in targets.b.', 'Did you mean "disabled"?'],
    ]);
  });
});

describe("of alternatives", () => {
  test.each([
    { name: "the one that fails inside was meant", targets: "{ b: { addresses: 1 } }", told: ["2:28 CONFIG_TYPE"] },
    {
      name: "a key too many is a fault inside",
      targets: "{ b: { addresses: c, x: 1 } }",
      told: ["2:31 CONFIG_UNKNOWN_KEY"],
    },
    { name: "the first was meant when all fail as a whole", targets: "{ b: 5 }", told: ["2:15 CONFIG_TYPE"] },
  ])("$name", ({ targets, told }) => {
    expect(validated(`zone: a\ntargets: ${targets}\n`).told).toEqual(told);
  });
});

describe("what was wrong is left out, so that the rest can be checked further", () => {
  test("a value", () => {
    const { valid } = validated("zone: a\nttl: 0\nsoa: { refresh: 0, retry: 1 }\n");
    expect(valid?.value).toEqual({ zone: "a", soa: { retry: 1 } });
    expect(valid?.damaged(["ttl"])).toBe(true);
    // What holds a damaged value is damaged too; what stands beside it is not.
    expect(valid?.damaged(["soa"])).toBe(true);
    expect(valid?.damaged(["soa", "refresh"])).toBe(true);
    expect(valid?.damaged(["soa", "retry"])).toBe(false);
    expect(valid?.damaged(["zone"])).toBe(false);
  });

  test("the whole list of a bad item, so that the places of the others stay", () => {
    const { valid } = validated("zone: a\nlist: [1, 0]\n");
    expect(valid?.value).toEqual({ zone: "a" });
    expect(valid?.damaged(["list"])).toBe(true);
  });

  test("an unknown key, and nothing of what stands beside it", () => {
    expect(validated("zone: a\nsoa: { refresh: 1, foo: 2 }\n").valid?.value).toEqual({
      zone: "a",
      soa: { refresh: 1 },
    });
  });

  test("what it leaves incomplete goes too, and is not told again", () => {
    const { valid, told } = validated("zone: a\nclientCertificate: { cert: 1, key: k }\n");
    expect(told).toEqual(["2:28 CONFIG_TYPE"]);
    expect(valid?.value).toEqual({ zone: "a" });
  });

  test("nothing remains when what a file cannot be without is wrong", () => {
    expect(validated("zone: 1\nttl: 1\n")).toMatchObject({ valid: undefined, told: ["1:7 CONFIG_TYPE"] });
  });

  test("an alias's other place is left alone", () => {
    const { valid, told } = validated("zone: a\ntargets: { b: &t { addresses: c, foo: 1 }, d: *t }\n");
    expect(told).toHaveLength(2);
    expect(valid?.value).toEqual({ zone: "a", targets: { b: { addresses: "c" }, d: { addresses: "c" } } });
  });
});

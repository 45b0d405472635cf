import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  builtIn,
  choice,
  duration,
  flag,
  httpPath,
  leaf,
  oneOrMany,
  text,
  ttl,
  wholeNumber,
} from "../../src/config/option.js";

const about = { about: "A test." };

/** What an entry makes of a value: the value, or what is wrong with it as `CODE: why. Remedy`. */
function read(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue?.code !== "custom") return issue?.code;
  const { code, why, remedy } = issue.params as { code: string; why: string; remedy: string };
  return `${code}: ${why}. ${remedy}`;
}

/** A row of a table: an entry of the schema, a value as YAML gives it, and what it is read as. */
interface Row {
  readonly option: z.ZodType;
  readonly value: unknown;
  readonly is: unknown;
}

/** Rows for one entry. */
const rows = (option: z.ZodType, cases: readonly (readonly [value: unknown, is: unknown])[]): Row[] =>
  cases.map(([value, is]) => ({ option, value, is }));

describe("true or false", () => {
  const neither = (remedy: string) => `CONFIG_TYPE: that is neither true nor false. Write ${remedy}.`;
  test.each(
    rows(flag(about), [
      [true, true],
      [false, false],
      ["yes", neither("true")],
      ["On", neither("true")],
      [1, neither("true")],
      ["no", neither("false")],
      ["OFF", neither("false")],
      [0, neither("false")],
      ["maybe", neither("true or false")],
      [null, neither("true or false")],
    ]),
  )("$value is $is", ({ option, value, is }) => {
    expect(read(option, value)).toBe(is);
  });
});

describe("a whole number", () => {
  const seconds = wholeNumber({ min: 5, max: 10, unit: "seconds" }, about);
  const bare = wholeNumber({ min: 0, max: 10 }, about);
  const none = "that is not a number. Write a whole number of seconds from 5 to 10.";
  test.each([
    ...rows(seconds, [
      [5, 5],
      [10, 10],
      [4, "CONFIG_RANGE: the least is 5. Write a whole number of seconds from 5 to 10."],
      [11, "CONFIG_RANGE: the most is 10. Write a whole number of seconds from 5 to 10."],
      [5.5, "CONFIG_TYPE: that is not a whole number. Write a whole number of seconds from 5 to 10."],
      [Number.NaN, "CONFIG_TYPE: that is not a whole number. Write a whole number of seconds from 5 to 10."],
      ["7", "CONFIG_TYPE: that is text, not a number. Write 7."],
      [" 007 ", "CONFIG_TYPE: that is text, not a number. Write 7."],
      ["7s", "CONFIG_TYPE: it is a number of seconds, without a unit. Write 7."],
      // Another unit, so that the number is another one.
      ["7m", `CONFIG_TYPE: ${none}`],
      ["seven", `CONFIG_TYPE: ${none}`],
      ["9".repeat(16), `CONFIG_TYPE: ${none}`],
      [true, `CONFIG_TYPE: ${none}`],
      [[7], `CONFIG_TYPE: ${none}`],
    ]),
    ...rows(bare, [
      [0, 0],
      [-1, "CONFIG_RANGE: the least is 0. Write a whole number from 0 to 10."],
      ["7s", "CONFIG_TYPE: that is not a number. Write a whole number from 0 to 10."],
    ]),
  ])("$value is $is", ({ option, value, is }) => {
    expect(read(option, value)).toBe(is);
  });
});

describe("a TTL", () => {
  test.each(
    rows(ttl(about), [
      [1, 1],
      [86_400, 86_400],
      [86_401, "CONFIG_RANGE: the most is 86400. Write a whole number of seconds from 1 to 86400."],
      [-1, "CONFIG_RANGE: the least is 1. Write a whole number of seconds from 1 to 86400."],
      ["5s", "CONFIG_TYPE: it is a number of seconds, without a unit. Write 5."],
    ]),
  )("$value is $is", ({ option, value, is }) => {
    expect(read(option, value)).toBe(is);
  });

  test("of 0 is told why it is refused", () => {
    expect(read(ttl(about), 0)).toBe(
      "CONFIG_TTL_ZERO: several resolvers misbehave with a TTL of 0, and a TTL of 1 is as fresh. Write 1 to 86400; 5 suits most.",
    );
  });
});

describe("a duration", () => {
  test.each(
    rows(duration({ min: "100ms", max: "1h" }, about), [
      ["100ms", 100],
      ["60m", 3_600_000],
      ["99ms", "CONFIG_RANGE: the least is 100ms. Write a duration from 100ms to 1h."],
      ["61m", "CONFIG_RANGE: the most is 1h. Write a duration from 100ms to 1h."],
    ]),
  )("$value is $is", ({ option, value, is }) => {
    expect(read(option, value)).toBe(is);
  });

  test("without its unit is refused, and a limit that is no duration is a defect", () => {
    expect(read(duration({ min: "1s", max: "1h" }, about), 5)).toMatch(/^CONFIG_DURATION_UNIT: /);
    expect(() => duration({ min: "1", max: "1h" }, about)).toThrow("not a duration: 1");
  });
});

describe("a choice", () => {
  test.each(
    rows(choice(["healthy", "all", "none"], about), [
      ["all", "all"],
      ["heathy", 'CONFIG_CHOICE: there is no such choice. Did you mean "healthy"? The choices are healthy, all, none.'],
      ["everything", "CONFIG_CHOICE: there is no such choice. Write one of healthy, all, none."],
      [true, "CONFIG_CHOICE: there is no such choice. Write one of healthy, all, none."],
    ]),
  )("$value is $is", ({ option, value, is }) => {
    expect(read(option, value)).toBe(is);
  });
});

describe("text", () => {
  test.each(
    rows(text("the path of a file", about), [
      ["ca.crt", "ca.crt"],
      ["", "CONFIG_EMPTY_VALUE: that is empty. Write the path of a file."],
      [1.2, "CONFIG_TYPE: that is not text. Write the path of a file."],
    ]),
  )("$value is $is", ({ option, value, is }) => {
    expect(read(option, value)).toBe(is);
  });
});

describe("the path of a request", () => {
  const none = 'CONFIG_PATH: that is not the path of an HTTP request. Write a path such as "/readyz".';
  test.each(
    rows(httpPath(about), [
      ["/", "/"],
      ["/readyz?exclude=etcd", "/readyz?exclude=etcd"],
      [`/${"a".repeat(1023)}`, `/${"a".repeat(1023)}`],
      [`/${"a".repeat(1024)}`, none],
      ["readyz", 'CONFIG_PATH: a path starts with "/". Write "/readyz".'],
      ["https://api/readyz", none],
      ["/a b", none],
      ["/é", none],
      ["", none],
      [8080, none],
    ]),
  )("$value is $is", ({ option, value, is }) => {
    expect(read(option, value)).toBe(is);
  });
});

test("one value or several are a list once read, and none is refused", () => {
  const option = oneOrMany(text("a word", about));
  expect(read(option, "a")).toEqual(["a"]);
  expect(read(option, ["a", "b"])).toEqual(["a", "b"]);
  expect(option.safeParse([]).success).toBe(false);
});

describe("what an entry says of itself", () => {
  const option = wholeNumber({ min: 1, max: 9 }, { about: "How many.", default: 3 });

  test("is in its JSON Schema", () => {
    expect(z.toJSONSchema(option, { io: "input" })).toMatchObject({
      type: "integer",
      minimum: 1,
      maximum: 9,
      description: "How many.",
      default: 3,
    });
    expect(z.toJSONSchema(flag(about), { io: "input" })).not.toHaveProperty("default");
  });

  test("is the default, read as if it had been written", () => {
    expect(builtIn(option.optional())).toBe(3);
    expect(builtIn(duration({ min: "1s", max: "1h" }, { about: "Time.", default: "2s" }))).toBe(2000);
    expect(builtIn(z.array(option).meta({ default: [1, 2] }))).toEqual([1, 2]);
  });

  test("is no default where none is named", () => {
    expect(() => builtIn(flag(about).optional())).toThrow("no default");
    expect(() => builtIn(leaf({}, about, (value) => ({ value })))).toThrow("no default");
  });
});

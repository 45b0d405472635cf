import { z } from "zod";
import { parseAddress, parseListenAddress } from "./address.js";
import { DURATION_PATTERN, formatDuration, parseDuration } from "./duration.js";
import { parseContact, parseName } from "./name.js";
import type { Verdict } from "./parse-result.js";
import { quote } from "./quote.js";
import { suggest } from "./suggest.js";

/** What an entry of the schema says of itself. */
export interface About {
  /** Meaning, for the JSON Schema and the reference. One or two sentences. */
  readonly about: string;
  /** What holds when the option is left out, as it would be written. */
  readonly default?: unknown;
}

/**
 * A value that is not a collection: the JSON Schema of what may be written, and the function that reads it.
 *
 * zod walks the structure; values are read here, so that every message is ours.
 */
export function leaf<T>(
  json: Record<string, unknown>,
  { about, default: fallback }: About,
  read: (value: unknown) => Verdict<T>,
) {
  const meta = { ...json, description: about, ...(fallback === undefined ? {} : { default: fallback }) };
  return z
    .unknown()
    .meta(meta)
    .transform((value, context): T => {
      const verdict = read(value);
      if ("value" in verdict) return verdict.value;
      context.addIssue({ code: "custom", params: { ...verdict } });
      return z.NEVER;
    });
}

/** One value, or a list of such values; always a list once read. */
export function oneOrMany<T>(one: z.ZodType<T>) {
  return z
    .union([one, z.array(one).min(1)])
    .transform((value): readonly T[] => (Array.isArray(value) ? value : [value]) as T[]);
}

/** `true` or `false`. YAML 1.2 reads `yes` and `on` as text, so they get a hint. */
export function flag(about: About) {
  return leaf({ type: "boolean" }, about, (value) => {
    if (typeof value === "boolean") return { value };
    const meant = /^(yes|on|true|1)$/i.test(String(value)) ? "true" : undefined;
    const denied = /^(no|off|false|0)$/i.test(String(value)) ? "false" : undefined;
    return {
      why: "that is neither true nor false",
      remedy: `Write ${meant ?? denied ?? "true or false"}.`,
      code: "CONFIG_TYPE",
    };
  });
}

/** A whole number from `min` to `max`. @param unit what it counts, in the plural, e.g. `seconds` */
export function wholeNumber(range: { min: number; max: number; unit?: string }, about: About) {
  const { min, max, unit } = range;
  return leaf({ type: "integer", minimum: min, maximum: max }, about, (value) => readWhole(value, min, max, unit));
}

function readWhole(value: unknown, min: number, max: number, unit: string | undefined): Verdict<number> {
  const span = `from ${min} to ${max}`;
  const remedy = `Write a whole number${unit === undefined ? "" : ` of ${unit}`} ${span}.`;
  if (typeof value !== "number") {
    const digits = typeof value === "string" ? /^\s*(\d{1,15})\s*(s|m|h|ms)?\s*$/.exec(value) : null;
    if (digits?.[1] !== undefined && (digits[2] === undefined || (digits[2] === "s" && unit === "seconds"))) {
      const why = digits[2] === undefined ? "that is text, not a number" : `it is a number of ${unit}, without a unit`;
      return { why, remedy: `Write ${Number(digits[1])}.`, code: "CONFIG_TYPE" };
    }
    return { why: "that is not a number", remedy, code: "CONFIG_TYPE" };
  }
  if (!Number.isInteger(value)) return { why: "that is not a whole number", remedy, code: "CONFIG_TYPE" };
  if (value < min) return { why: `the least is ${min}`, remedy, code: "CONFIG_RANGE" };
  if (value > max) return { why: `the most is ${max}`, remedy, code: "CONFIG_RANGE" };
  return { value };
}

/** A TTL: whole seconds, 1 to 86 400 (a day). */
export function ttl(about: About) {
  return leaf({ type: "integer", minimum: 1, maximum: 86_400 }, about, (value) =>
    value === 0
      ? {
          why: "several resolvers misbehave with a TTL of 0, and a TTL of 1 is as fresh",
          remedy: "Write 1 to 86400; 5 suits most.",
          code: "CONFIG_TTL_ZERO",
        }
      : readWhole(value, 1, 86_400, "seconds"),
  );
}

/** A duration with its unit; milliseconds once read. @param range as written, e.g. `{ min: "100ms", max: "1h" }` */
export function duration(range: { min: string; max: string }, about: About) {
  const min = durationMs(range.min);
  const max = durationMs(range.max);
  return leaf({ type: "string", pattern: DURATION_PATTERN }, about, (value): Verdict<number> => {
    const verdict = parseDuration(value);
    if (!("value" in verdict)) return verdict;
    if (verdict.value >= min && verdict.value <= max) return verdict;
    const low = verdict.value < min;
    return {
      why: low ? `the least is ${formatDuration(min)}` : `the most is ${formatDuration(max)}`,
      remedy: `Write a duration from ${formatDuration(min)} to ${formatDuration(max)}.`,
      code: "CONFIG_RANGE",
    };
  });
}

function durationMs(text: string): number {
  const verdict = parseDuration(text);
  if (!("value" in verdict)) throw new Error(`not a duration: ${text}`);
  return verdict.value;
}

/** One of a few words. */
export function choice<const T extends string>(words: readonly T[], about: About) {
  return leaf({ type: "string", enum: [...words] }, about, (value): Verdict<T> => {
    const found = words.find((word) => word === value);
    if (found !== undefined) return { value: found };
    const close = typeof value === "string" ? suggest(value, words) : undefined;
    return {
      why: "there is no such choice",
      remedy:
        close === undefined
          ? `Write one of ${words.join(", ")}.`
          : `Did you mean ${quote(close)}? The choices are ${words.join(", ")}.`,
      code: "CONFIG_CHOICE",
    };
  });
}

/** Text of at least one character. @param wanted what it is, e.g. `the path of a file` */
export function text(wanted: string, about: About) {
  return leaf({ type: "string", minLength: 1 }, about, (value): Verdict<string> => {
    if (typeof value !== "string") return { why: "that is not text", remedy: `Write ${wanted}.`, code: "CONFIG_TYPE" };
    return value === "" ? { why: "that is empty", remedy: `Write ${wanted}.`, code: "CONFIG_EMPTY_VALUE" } : { value };
  });
}

/** An IPv4 or IPv6 literal, canonical once read. */
export function address(about: About) {
  return leaf({ type: "string" }, about, parseAddress);
}

/** An address and a port. */
export function listenAddress(about: About) {
  return leaf({ type: "string" }, about, parseListenAddress);
}

/** A domain name; lower case without the trailing dot once read. */
export function domainName(kind: "hostname" | "any", about: About) {
  return leaf({ type: "string" }, about, (value) => parseName(value, kind));
}

/** A mailbox, as the SOA record spells it once read. */
export function contact(about: About) {
  return leaf({ type: "string" }, about, parseContact);
}

/** The path of an HTTP request: starts with `/`, printable ASCII without spaces, at most 1024 characters. */
export function httpPath(about: About) {
  return leaf({ type: "string", pattern: "^/[\\x21-\\x7e]*$", maxLength: 1024 }, about, (value): Verdict<string> => {
    if (typeof value === "string" && /^\/[\x21-\x7e]{0,1023}$/.test(value)) return { value };
    const bare = typeof value === "string" && /^[\x21-\x7e]{1,1023}$/.test(value) && !/^https?:/.test(value);
    return {
      why: bare ? 'a path starts with "/"' : "that is not the path of an HTTP request",
      remedy: bare ? `Write ${quote(`/${value}`)}.` : 'Write a path such as "/readyz".',
      code: "CONFIG_PATH",
    };
  });
}

/** The default that an entry of the schema names, read as if it had been written. @throws Error if it names none */
export function builtIn<S extends z.ZodType>(schema: S): NonNullable<z.output<S>> {
  const fallback = defaultOf(schema);
  if (fallback === undefined) throw new Error("this option has no default");
  return schema.parse(fallback) as NonNullable<z.output<S>>;
}

/** The default that an entry of the schema names, as it would be written; `undefined` when it names none. */
function defaultOf(schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodOptional) return defaultOf(schema.unwrap());
  const meta = z.globalRegistry.get(schema);
  if (meta?.default !== undefined) return meta.default;
  return schema instanceof z.ZodPipe ? defaultOf(schema.in) : undefined;
}

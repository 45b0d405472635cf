import type { z } from "zod";
import type { Problem } from "../lib/errors.js";
import type { Finding } from "./finding.js";
import type { Path } from "./positions.js";
import { formatPath, quote } from "./quote.js";
import { SECTIONS } from "./schema.js";
import { problemAt, problemAtKey, type Report, type Source } from "./source.js";
import { suggest } from "./suggest.js";

/** What is left of a file after {@link validate}. */
export interface Valid<T> {
  readonly value: T;
  /** Whether something at or below `path` was wrong and has been left out: what depends on it cannot be judged. */
  damaged(path: Path): boolean;
}

/**
 * Checks a file against its schema and reports everything that is wrong with it. What was wrong is then left out,
 * so that the rest can still be checked further: `undefined` only if nothing is left.
 */
export function validate<S extends z.ZodType>(
  schema: S,
  source: Source,
  report: Report,
): Valid<z.output<S>> | undefined {
  const damage: Path[] = [];
  let data = source.data;
  if (data === null || data === undefined) {
    report(
      problemAt(source, [], {
        message: "the file is empty.",
        remedy: "Write the configuration into it.",
        code: "CONFIG_EMPTY",
      }),
    );
    return undefined;
  }
  for (let round = 0; ; round++) {
    const result = schema.safeParse(data);
    if (round === 0) refuseHiddenKeys(source, result.success ? [] : flatten(result.error.issues), report);
    if (result.success) {
      return {
        value: result.data,
        damaged: (path) => damage.some((broken) => path.every((key, index) => broken[index] === key)),
      };
    }
    const issues = flatten(result.error.issues);
    // Later rounds only find what the removals of earlier ones left incomplete.
    if (round === 0) for (const issue of issues) translate(issue, source).forEach(report);
    for (const issue of issues) {
      for (const path of brokenPaths(issue, data)) {
        if (path.length === 0) return undefined;
        damage.push(path);
        data = without(data, path);
      }
    }
  }
}

type Issue = z.core.$ZodIssue;

/** The key that zod passes over in mappings of names, so that what stands below it would be lost in silence. */
const HIDDEN_KEY = "__proto__";

function refuseHiddenKeys(source: Source, issues: readonly Issue[], report: Report): void {
  const told = issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" && issue.keys.includes(HIDDEN_KEY) ? [formatPath(pathOf(issue))] : [],
  );
  for (const parent of parentsOfHidden(source.data, [])) {
    const name = formatPath(parent);
    if (told.includes(name)) continue;
    report(
      problemAtKey(source, [...parent, HIDDEN_KEY], {
        message: `"${HIDDEN_KEY}" in ${name} cannot be a name.`,
        remedy: "Choose another one.",
        code: "CONFIG_UNKNOWN_KEY",
      }),
    );
  }
}

function parentsOfHidden(value: unknown, path: Path): Path[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([key, one]) =>
    parentsOfHidden(one, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return Object.hasOwn(value, HIDDEN_KEY) ? [path, ...below] : below;
}

/** Issues of unions replaced by those of the alternative that the value was meant to be. */
function flatten(issues: readonly Issue[]): Issue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== "invalid_union") return [issue];
    // An alternative that fails as a whole was not meant; one that fails further inside was. Else the first.
    const meant =
      issue.errors.find((errors) =>
        errors.every((error) => error.path.length > 0 || error.code === "unrecognized_keys"),
      ) ?? issue.errors[0];
    const inner = (meant ?? []).map((error) => ({ ...error, path: [...issue.path, ...error.path] }) as Issue);
    return flatten(inner);
  });
}

function pathOf(issue: Issue): (string | number)[] {
  return issue.path.map((key) => (typeof key === "number" ? key : String(key)));
}

/** What to leave out so that the issue is gone; the whole list of a bad item, so that indices keep their meaning. */
function brokenPaths(issue: Issue, data: unknown): Path[] {
  const path = pathOf(issue);
  const unknown = issue.code === "unrecognized_keys" ? issue.keys : undefined;
  if (unknown === undefined && lookUp(data, path) === undefined) path.pop();
  const list = path.findIndex((key) => typeof key === "number");
  if (list >= 0) return [path.slice(0, list)];
  return unknown === undefined ? [path] : unknown.map((key) => [...path, key]);
}

function translate(issue: Issue, source: Source): Problem[] {
  const path = pathOf(issue);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => problemAtKey(source, [...path, key], unknownKey(key, issue.message, path)));
  }
  const value = lookUp(source.data, path);
  if (value === undefined) return missing(issue, path, source);
  const name = formatPath(path) || "the file";
  if (value === null) {
    return [
      problemAt(source, path, {
        message: `${name} has no value.`,
        remedy: `Write a value after "${path.at(-1)}:", or remove the key.`,
        code: "CONFIG_EMPTY_VALUE",
      }),
    ];
  }
  if (issue.code === "custom") {
    const { why, remedy, code } = issue.params as { why: string; remedy: string; code: string };
    return [problemAt(source, path, { message: `${name} is ${quote(value)}: ${why}.`, remedy, code })];
  }
  if (issue.code === "too_small") {
    return [
      problemAt(source, path, {
        message: `${name} is an empty list.`,
        remedy: "Write at least one value.",
        code: "CONFIG_EMPTY_LIST",
      }),
    ];
  }
  const list = issue.code === "invalid_type" && issue.expected === "array";
  return [
    problemAt(source, path, {
      message: `${name} is ${quote(value)}, where ${list ? "a list" : "a mapping"} is needed.`,
      remedy: list
        ? 'Write it in brackets, such as "[200]", or as lines that start with "- ".'
        : 'Write "key: value" lines, indented below the key.',
      code: "CONFIG_TYPE",
    }),
  ];
}

function missing(issue: Issue, path: Path, source: Source): Problem[] {
  const key = String(path.at(-1));
  const custom = issue.code === "custom" ? (issue.params as { remedy: string }).remedy : undefined;
  const example = MISSING_EXAMPLES[key] ?? (custom === undefined ? "" : ` ${custom}`);
  return [
    problemAt(source, path, {
      message: `${formatPath(path)} is missing.`,
      remedy: `Add ${quote(key)}.${example}`,
      code: "CONFIG_MISSING",
    }),
  ];
}

const MISSING_EXAMPLES: Readonly<Record<string, string>> = {
  zone: ' Write for example "zone: k8s.example.com".',
  zones: ' Write for example "zones: [zones/*.yaml]".',
  nameservers: ' Write the names and addresses that the parent zone delegates to, such as "ns1: 192.0.2.53" below it.',
  secretFile: " It names the file with the shared secret.",
  peers: ' Write the other servers below it, such as "ns2: 198.51.100.53:9854".',
  cert: " It names the PEM file of the certificate.",
  key: " It names the PEM file of the private key.",
};

function unknownKey(key: string, section: string, path: Path): Finding {
  const place = path.length === 0 ? "" : ` in ${formatPath(path)}`;
  const keys = SECTIONS[section]?.keys ?? [];
  const code = "CONFIG_UNKNOWN_KEY";
  const message = `unknown key ${quote(key)}${place}.`;
  if (key === "<<") return { message, remedy: "YAML 1.2 has no merge keys; write the options out.", code };
  // The beginning of a key that belongs here is most likely; then the key in the wrong place, then a misspelt one.
  const begun = keys.find((known) => known.startsWith(key));
  if (begun !== undefined) return { message, remedy: `Did you mean ${quote(begun)}?`, code };
  const elsewhere = Object.values(SECTIONS).find((other) => other.keys.includes(key));
  if (elsewhere !== undefined) return { message, remedy: `${quote(key)} belongs ${elsewhere.where}.`, code };
  const close = suggest(key, keys);
  return {
    message,
    remedy: close === undefined ? `Use one of ${keys.join(", ")}.` : `Did you mean ${quote(close)}?`,
    code,
  };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function lookUp(data: unknown, path: Path): unknown {
  let value = data;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/** A copy of `data` without the value at `path`; aliases make parts of it shared, so nothing is changed in place. */
function without(data: unknown, path: Path): unknown {
  const [key, ...rest] = path;
  if (key === undefined || !isMapping(data) || !Object.hasOwn(data, key)) return data;
  const entries = Object.entries(data).filter(([name]) => rest.length > 0 || name !== key);
  return Object.fromEntries(entries.map(([name, value]) => [name, name === key ? without(value, rest) : value]));
}

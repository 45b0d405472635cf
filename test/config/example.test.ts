import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { configJsonSchema } from "../../src/config/json-schema.js";

const EXAMPLE = ["zones/example/livezone.yaml", "zones/example/zones/k8s.example.com.yaml"]
  .map((file) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"))
  .join("\n");

/** Every name of an option in a JSON Schema. */
function optionNames(schema: unknown, into = new Set<string>()): Set<string> {
  if (Array.isArray(schema)) for (const part of schema) optionNames(part, into);
  else if (typeof schema === "object" && schema !== null) {
    for (const [key, value] of Object.entries(schema)) {
      if (key === "properties") for (const name of Object.keys(value as object)) into.add(name);
      optionNames(value, into);
    }
  }
  return into;
}

describe("the example configuration", () => {
  test("shows every option", () => {
    const names = [...optionNames(configJsonSchema())];
    expect(names.length).toBeGreaterThan(50);
    // Classes of results that have a threshold of their own are listed in docs/health.md.
    const classes =
      /^(not-ready|overloaded|auth-required|unexpected-status|refused|reset|unreachable|timeout|tls-.*|malformed-response)$/;
    const missing = names.filter((name) => !classes.test(name) && !new RegExp(`\\b${name}:`).test(EXAMPLE));
    expect(missing).toEqual([]);
  });
});

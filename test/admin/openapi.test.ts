import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openApiDocument, openApiText } from "../../src/admin/openapi.js";
import { ROUTES } from "../../src/admin/routes.js";
import { root } from "../house-rules/source.js";

/** Every `$ref` in a document. */
function refsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "$ref" && typeof inner === "string" ? [inner] : refsIn(inner),
  );
}

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly responses: Readonly<Record<string, unknown>>;
}

describe("livezone.openapi.json", () => {
  const document = openApiDocument() as {
    openapi: string;
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, object> };
  };

  // To write it anew: npx vitest run test/admin/openapi.test.ts --update
  test("is what the server serves", async () => {
    await expect(openApiText()).toMatchFileSnapshot(`${root}livezone.openapi.json`);
  });

  test("describes every route", () => {
    for (const { method, path, operation } of ROUTES) {
      expect(document.paths[path]?.[method.toLowerCase()]?.operationId).toBe(operation);
    }
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }) => operationId ?? []),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const path of Object.values(document.paths)) {
      for (const { summary, responses } of Object.values(path)) {
        expect(summary).toBeTruthy();
        expect(responses).toHaveProperty("200");
      }
    }
  });

  test("names nothing that it does not hold", () => {
    const names = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    const refs = refsIn(document);
    expect(refs.length).toBeGreaterThan(20);
    expect(refs.filter((ref) => !names.includes(ref))).toEqual([]);
    // Each schema is used, directly or by another.
    expect(names.filter((name) => !refs.includes(name))).toEqual([]);
  });

  test("holds schemas that a validator takes", () => {
    const { schemas } = document.components;
    const definitions = JSON.parse(JSON.stringify(schemas).replaceAll("#/components/schemas/", "#/$defs/"));
    const error = z.fromJSONSchema({ $defs: definitions, ...definitions.Error });
    expect(error.safeParse({ error: { code: "A", message: "b" } }).success).toBe(true);
    expect(error.safeParse({ error: { code: 1 } }).success).toBe(false);
  });

  test("is shipped", () => {
    expect(JSON.parse(readFileSync(`${root}package.json`, "utf8")).files).toContain("livezone.openapi.json");
  });
});

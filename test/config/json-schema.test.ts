import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { configJsonSchema } from "../../src/config/json-schema.js";
import { adminOptions, defaultsOptions, logOptions, mainOptions } from "../../src/config/schema.js";
import { probeOptions } from "../../src/config/schema-probe.js";
import { endpointOptions, soaOptions, zoneOptions } from "../../src/config/schema-zone.js";
import { configurationReference, optionsOf } from "./reference.js";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What a file may hold, by the JSON Schema alone. */
const file = z.fromJSONSchema(JSON.parse(JSON.stringify(configJsonSchema())));

function readYaml(name: string): Record<string, unknown> {
  return parse(readFileSync(root + name, "utf8"));
}

describe("livezone.schema.json", () => {
  // To write it anew: npx vitest run test/config/json-schema.test.ts --update
  test("is what the options say", async () => {
    await expect(`${JSON.stringify(configJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(`${root}livezone.schema.json`);
  });

  // Written anew by the same command.
  test("is what docs/configuration.md shows, option by option", async () => {
    const schema = JSON.parse(JSON.stringify(configJsonSchema()));
    await expect(configurationReference(schema)).toMatchFileSnapshot(`${root}docs/configuration.md`);
    const paths = [schema.definitions.main, schema.definitions.zone].flatMap((one) =>
      optionsOf(one).map(({ path }) => path),
    );
    expect(paths).toEqual(
      expect.arrayContaining(["listen", "admin.http", "endpoints.<name>.targets", "probe.interval"]),
    );
    const undescribed = optionsOf(schema.definitions.main).filter(
      ({ schema: { description } }) => description === undefined,
    );
    expect(undescribed.map(({ path }) => path)).toEqual([]);
  });

  test.each([
    "zones/example/livezone.yaml",
    "zones/example/zones/k8s.example.com.yaml",
    "zones/demo/livezone.yaml",
    "zones/demo/zones/k8s.example.test.yaml",
  ])("admits %s", (name) => {
    expect(file.safeParse(readYaml(name)).error).toBeUndefined();
  });

  test.each([
    { name: "an unknown key", change: { intervall: 1 } },
    { name: "a TTL of 0", change: { ttl: 0 } },
    { name: "a number as duration", change: { probe: { interval: 5 } } },
    { name: "a duration without a unit", change: { probe: { interval: "5" } } },
    { name: "another probe type", change: { probe: { type: "icmp" } } },
    { name: "no zone", change: { zone: undefined } },
  ])("refuses a zone file with $name", ({ change }) => {
    const zone = readYaml("zones/example/zones/k8s.example.com.yaml");
    const changed = JSON.parse(JSON.stringify({ ...zone, ...change }));
    expect(file.safeParse(changed).success).toBe(false);
  });

  test("describes every option", () => {
    const sections = [
      adminOptions,
      defaultsOptions,
      endpointOptions,
      logOptions,
      mainOptions,
      probeOptions,
      soaOptions,
      zoneOptions,
    ];
    const silent = sections.flatMap((options) =>
      Object.entries<z.ZodType>(options).flatMap(([name, schema]) => {
        const { description } = z.toJSONSchema(schema, { io: "input" });
        return typeof description === "string" && description.endsWith(".") ? [] : [name];
      }),
    );
    expect(silent).toEqual([]);
  });
});

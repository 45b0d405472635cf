import { z } from "zod";
import { mainSchema } from "./schema.js";
import { zoneSchema } from "./schema-zone.js";

/**
 * The JSON Schema of the configuration files, as shipped in `livezone.schema.json` for editors: a file is a main
 * file or a zone file. It is looser than `livezone check`, which also knows what options mean together.
 */
export function configJsonSchema(): Record<string, unknown> {
  return {
    // Editors' YAML support understands draft 7 best.
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "livezone configuration",
    description: "The main file livezone.yaml, or a zone file.",
    anyOf: [{ $ref: "#/definitions/main" }, { $ref: "#/definitions/zone" }],
    definitions: { main: fileSchema(mainSchema), zone: fileSchema(zoneSchema) },
  };
}

function fileSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", target: "draft-7", reused: "inline" });
  return rest;
}

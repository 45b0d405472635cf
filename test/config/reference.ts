/** A schema as `configJsonSchema` makes it, as far as the reference shows it. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** One option: its path, such as `endpoints.<name>.ttl`, and what may be written. */
export interface ReferenceRow {
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

const alternatives = ({ anyOf, oneOf }: Schema): readonly Schema[] => anyOf ?? oneOf ?? [];

/** Every option below a schema, in its order; one that several alternatives have comes once. */
export function optionsOf(schema: Schema, prefix = ""): ReferenceRow[] {
  const rows: ReferenceRow[] = [];
  const add = (more: readonly ReferenceRow[]) => {
    for (const row of more) if (!rows.some(({ path }) => path === row.path)) rows.push(row);
  };
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    add([{ path, schema: child, isRequired: schema.required?.includes(name) === true }]);
    add(optionsOf(child, path));
  }
  if (typeof schema.additionalProperties === "object") add(optionsOf(schema.additionalProperties, `${prefix}.<name>`));
  if (schema.items !== undefined) add(optionsOf(schema.items, `${prefix}[]`));
  for (const alternative of alternatives(schema)) add(optionsOf(alternative, prefix));
  return rows;
}

/** What may be written, in words. */
function kindOf(schema: Schema): string {
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (schema.pattern?.includes("ms|s|m|h")) return "duration";
  const several = alternatives(schema);
  if (several.length > 0) return [...new Set(several.map(kindOf))].join(" or ");
  if (schema.type === "array") return `list of ${kindOf(schema.items ?? {})}`;
  if (schema.type === "object") {
    return typeof schema.additionalProperties === "object"
      ? `map of names to ${kindOf(schema.additionalProperties)}`
      : "block";
  }
  const { minimum, maximum } = schema;
  const range = maximum === undefined || maximum > 1e12 ? "" : `, ${minimum ?? 0} to ${maximum}`;
  return `${schema.type ?? "any"}${range}`;
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("\n", " ");

function tableOf(schema: Schema): string {
  const lines = optionsOf(schema).map(({ path, schema: option, isRequired }) => {
    const fallback =
      option.default === undefined ? (isRequired ? "required" : "") : `\`${JSON.stringify(option.default)}\``;
    return `| \`${path}\` | ${cell(kindOf(option))} | ${cell(fallback)} | ${cell(option.description ?? "")} |`;
  });
  return `| option | value | default | meaning |\n|---|---|---|---|\n${lines.join("\n")}\n`;
}

/** docs/configuration.md, from the schema of the configuration files. */
export function configurationReference(schema: Schema): string {
  const { main = {}, zone = {} } = schema.definitions ?? {};
  return `# Configuration reference

Every option of the two kinds of file, made from the schema that \`livezone check\` and \`livezone serve\` use. For a commented
example, see [zones/example](../zones/example/livezone.yaml); for what the numbers of probes mean, [health.md](health.md).
\`livezone.schema.json\` completes and checks the same in an editor.

A duration has a unit: \`500ms\`, \`5s\`, \`2m\`, \`1h\`. \`<name>\` stands for a name that you give, \`[]\` for each entry of a list. An
option that is not here is an error.

## Main file

${tableOf(main)}
## Zone file

${tableOf(zone)}`;
}

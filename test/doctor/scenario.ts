import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";
import { FINDINGS, type FindingId, SEVERITIES } from "../../src/doctor/finding.js";
import { VALIDATING, type ValidatingKind } from "./validating.js";

const FOLDER = fileURLToPath(new URL("./scenarios/", import.meta.url));
const BASE = fileURLToPath(new URL("./base/", import.meta.url));

const VALIDATING_KINDS = Object.keys(VALIDATING) as [ValidatingKind, ...ValidatingKind[]];

const schema = z.strictObject({
  /** What is wrong, in a sentence. */
  about: z.string(),
  /** The resolver that is asked; default: an Unbound that is told where the zone is, shared by all. */
  resolver: z
    .strictObject({
      kind: z.enum([
        "unbound",
        "bind",
        "bind-with-parent",
        "dnsmasq",
        "edns-stripped",
        "nameserver",
        "absent",
        ...VALIDATING_KINDS,
      ]),
      /** Lines of its configuration. */
      lines: z.array(z.string()).default([]),
      /** Leave out the rule by which it finds the zone. */
      ignorant: z.literal(true).optional(),
    })
    .optional(),
  /** `sought` = through the resolver; `absent` = one that does not answer. */
  parent: z.enum(["given", "sought", "absent"]).default("given"),
  manifests: z.array(z.string()).default([]),
  kubeconfigs: z.array(z.string()).default([]),
  /** Files that sources of targets read; in zones/ they are called `<zone>.<name>`. */
  sources: z.array(z.string()).default([]),
  /** What the server on this machine says of every source, where one runs that says anything. */
  server: z.strictObject({ state: z.enum(["ok", "failing"]), problem: z.string().optional() }).optional(),
  /** What `getaddrinfo` says of a name, where that is not what the resolver says. */
  getaddrinfo: z.record(z.string(), z.array(z.string())).default({}),
  /** All findings, in any order; texts are regular expressions. */
  expect: z.array(
    z.strictObject({
      id: z.enum(Object.keys(FINDINGS) as [FindingId, ...FindingId[]]),
      severity: z.enum(SEVERITIES),
      subject: z.string().optional(),
      evidence: z.string().optional(),
      remedy: z.string(),
    }),
  ),
});

/** A prepared set-up in a folder of its own: settings, configuration, and what the doctor is to say of it. */
export interface Scenario extends z.output<typeof schema> {
  readonly name: string;
  /** The zone that it is about: `<name>.example.com`. */
  readonly zone: string;
  /** A file of the folder, or the usual one for it; undefined if there is neither. */
  file(path: string): string | undefined;
}

/** The program that the scenario's resolver takes, beyond those that all of them share. */
export function programOf({ resolver }: Scenario): string | undefined {
  const kind = VALIDATING_KINDS.find((one) => one === resolver?.kind);
  return kind === undefined ? undefined : VALIDATING[kind].program;
}

/** All of them, by name. */
export function loadScenarios(): Scenario[] {
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => {
    const file = (path: string) =>
      [`${FOLDER}${name}/${path}`, `${BASE}${path}`].filter(existsSync).map((found) => readFileSync(found, "utf8"))[0];
    return { ...schema.parse(parse(file("scenario.yaml") ?? "")), name, zone: `${name}.example.com`, file };
  });
}

/** Puts values in the place of `<name>`. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/<(\w+)>/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${whole} stands for nothing`);
    return String(value);
  });
}

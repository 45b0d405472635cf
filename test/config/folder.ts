import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../../src/config/config.js";
import { loadConfig } from "../../src/config/load.js";
import { formatProblem, type Problem } from "../../src/lib/errors.js";
import { temporaryFolder } from "../support/temp.js";

/** A main file that is right; its only zone file is `zone.yaml`. */
export const MAIN = "zones: zone.yaml\n";

/** A zone file that is right. */
export const ZONE = `zone: k8s.example.com
nameservers: { ns1: 192.0.2.53 }
endpoints:
  api:
    targets: { cp1: 192.0.2.11, cp2: 192.0.2.12 }
`;

/** {@link ZONE} with other lines under its endpoint `api`, which they may replace. */
export function zoneWith(endpoint: string): string {
  const lines = endpoint.split("\n").map((line) => `    ${line}\n`);
  const targets = endpoint.includes("targets:") ? "" : "    targets: { cp1: 192.0.2.11, cp2: 192.0.2.12 }\n";
  return `zone: k8s.example.com\nnameservers: { ns1: 192.0.2.53 }\nendpoints:\n  api:\n${targets}${lines.join("")}`;
}

/** Contents of files by name; `livezone.yaml` and `zone.yaml` are right unless given. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** Writes the files into a new folder and returns it. */
export function folderWith(files: Files): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries({ "livezone.yaml": MAIN, "zone.yaml": ZONE, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    // As a secret's file should be; a test that wants it otherwise says so.
    writeFileSync(join(folder, name), content, { mode: 0o600 });
  }
  return folder;
}

/** Loads files that must be right; fails with what is wrong with them. */
export function loadRight(files: Files = {}): { config: Config; warnings: readonly Problem[] } {
  const result = loadConfig(join(folderWith(files), "livezone.yaml"));
  if ("problems" in result) throw new Error(result.problems.map(formatProblem).join("\n"));
  return result;
}

/** Loads files that must be wrong. */
export function loadWrong(files: Files): readonly Problem[] {
  const result = loadConfig(join(folderWith(files), "livezone.yaml"));
  if (!("problems" in result)) throw new Error("nothing was found wrong");
  return result.problems;
}

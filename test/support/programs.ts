import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe } from "vitest";

/** Absolute path of a program in `PATH`, `/usr/sbin` or `/sbin`; undefined when it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Like {@link findProgram}, but throws when the program is absent. */
export function requireProgram(name: string): string {
  const path = findProgram(name);
  if (path === undefined) throw new Error(`${name} is not installed; use describeWith(["${name}"], ...)`);
  return path;
}

/** A `describe` that is skipped, with the reason in its title, when one of the programs is not installed. */
export function describeWith(programs: readonly string[], name: string, tests: () => void): void {
  const absent = programs.filter((program) => findProgram(program) === undefined);
  if (absent.length === 0) describe(name, tests);
  else describe.skip(`${name} (skipped: ${absent.join(", ")} not installed)`, tests);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

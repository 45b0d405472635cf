import { posix } from "node:path";
import { lineAt, withoutComments } from "./source.js";

/** Height of each part of `src/`: it may import from what stands lower, and from itself. */
export const LAYERS: Readonly<Record<string, number>> = {
  wire: 0,
  lib: 0,
  config: 1,
  client: 1,
  zone: 2,
  health: 2,
  discovery: 2,
  siblings: 2,
  answers: 3,
  transfer: 3,
  query: 4,
  transport: 5,
  admin: 5,
  server: 6,
  doctor: 6,
  export: 6,
  "app.ts": 7,
  demo: 7,
  cli: 8,
  "main.ts": 9,
};

/** One module that a file names, and where. */
export interface Import {
  readonly specifier: string;
  /** From 1. */
  readonly line: number;
}

const IMPORTS = [
  // import x from "y"; import type { x } from "y"; export { x } from "y"; export * from "y"
  /\b(?:import|export)\b[^;"'()]*?\bfrom\s*["']([^"'\n]+)["']/g,
  // import "y"; import("y"); and import("y") as a type
  /\bimport\s*\(?\s*["']([^"'\n]+)["']/g,
  // new Worker(new URL("./y.js", import.meta.url)), require("y"), require.resolve("y")
  /\bnew\s+URL\s*\(\s*["'](\.[^"'\n]+\.[cm]?js)["']\s*,\s*import\.meta\.url/g,
  /\brequire(?:\.resolve)?\s*\(\s*["']([^"'\n]+)["']/g,
  // import(anything else): cannot be judged by reading
  /\bimport\s*\((?!\s*["'])\s*()/g,
];

/** Every module a source text imports: values, types, dynamic imports, re-exports and workers. */
export function importsOf(source: string): Import[] {
  const text = withoutComments(source);
  const found: Import[] = [];
  for (const pattern of IMPORTS) {
    for (const match of text.matchAll(pattern)) {
      const specifier = match[1] ?? "";
      found.push({ specifier, line: lineAt(text, match.index + match[0].length - 1) });
    }
  }
  return found.sort((a, b) => a.line - b.line);
}

/** The part of `src/` a file belongs to: its top folder, or itself when it stands at the top. */
function partOf(file: string): string {
  return file.split("/")[1] ?? "";
}

/**
 * What is wrong with one file's imports, one sentence each; empty when nothing is.
 *
 * @param file path from the project's folder, e.g. `src/zone/build.ts`
 * @param packages names that `dependencies` in package.json lists
 */
export function layerViolations(file: string, source: string, packages: ReadonlySet<string>): string[] {
  const part = partOf(file);
  const height = LAYERS[part];
  if (height === undefined) return [`${file}: src/${part} is in no layer; give it one in test/house-rules/layers.ts`];
  return importsOf(source).flatMap(({ specifier, line }) => {
    const wrong = importProblem(file, part, height, specifier, packages);
    return wrong === undefined ? [] : [`${file}:${line}: ${wrong}`];
  });
}

function importProblem(
  file: string,
  part: string,
  height: number,
  specifier: string,
  packages: ReadonlySet<string>,
): string | undefined {
  if (specifier === "") return "imports a module whose name is computed; write it out";
  if (specifier.startsWith("node:")) return undefined;
  if (!specifier.startsWith(".")) {
    const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
    return packages.has(name) ? undefined : `imports ${name}, which is not in package.json's dependencies`;
  }
  const target = posix.join(posix.dirname(file), specifier).replace(/\.js$/, ".ts");
  if (!target.startsWith("src/")) {
    return target === "package.json" ? undefined : `imports ${target}, which is outside src/`;
  }
  const other = partOf(target);
  if (other === part) return undefined;
  const otherHeight = LAYERS[other];
  if (otherHeight === undefined) return `imports ${target}, which is in no layer`;
  if (otherHeight < height) return undefined;
  return `${part} (layer ${height}) imports ${target} (layer ${otherHeight}); have it injected instead`;
}

/** The program and its dependencies as a few files, by esbuild. */
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { manifest, put, root } from "./paths.mjs";

/** Files that are started by name: the program, the program of a thread, the demo's stand-in. Keys are their places in `dist/`. */
const ENTRY_POINTS = {
  main: "src/main.ts",
  "transport/worker": "src/transport/worker.ts",
  "demo/apiserver": "src/demo/apiserver.ts",
};

/** Dependencies are CommonJS for the most part, and some call `require` and look for their folder when they run. */
const BANNER = `import { createRequire as __createRequire } from "node:module";
import { fileURLToPath as __fileURLToPath } from "node:url";
const require = __createRequire(import.meta.url);
const __filename = __fileURLToPath(import.meta.url);
const __dirname = __fileURLToPath(new URL(".", import.meta.url));`;

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20",
  legalComments: "none",
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: "error",
  metafile: true,
};

/**
 * Writes `dist/`, `package.json` and `node_modules/pino-pretty/` into a folder.
 *
 * Commands stay files of their own, loaded when they are given, so that a server does not hold what `doctor` needs.
 *
 * @returns names of the dependencies that are inside, sorted
 */
export async function bundle(folder) {
  const program = await build({
    ...common,
    entryPoints: ENTRY_POINTS,
    outdir: join(folder, "dist"),
    format: "esm",
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    banner: { js: BANNER },
  });
  // It is always started by the package's own Node.js.
  const main = join(folder, "dist/main.js");
  put(main, readFileSync(main, "utf8").replace(/^#!.*\n/, ""));
  chmodSync(main, 0o644);
  // Loaded by `require` on terminals only.
  const pretty = await build({
    ...common,
    entryPoints: ["pino-pretty"],
    outfile: join(folder, "node_modules/pino-pretty/index.js"),
    format: "cjs",
  });
  put(join(folder, "node_modules/pino-pretty/package.json"), '{ "name": "pino-pretty", "main": "index.js" }\n');
  const { name, version, description, license } = manifest;
  put(
    join(folder, "package.json"),
    `${JSON.stringify({ name, version, description, license, type: "module" }, null, 2)}\n`,
  );
  for (const path of ["zones/demo", "livezone.schema.json", "livezone.openapi.json"]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  const inputs = [program, pretty].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  return [...new Set(inputs.map((path) => /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]))]
    .filter((name) => name !== undefined)
    .sort();
}

/** The licences of what {@link bundle} put together, one text after the other. */
export function licencesOf(dependencies) {
  return dependencies
    .map((name) => {
      const folder = join(root, "node_modules", name);
      const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file === undefined ? "" : `\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
      return `${name} ${version}: ${license ?? "see below"}\n${text}`;
    })
    .join(`\n${"-".repeat(80)}\n`);
}

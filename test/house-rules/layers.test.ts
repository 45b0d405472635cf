import { describe, expect, test } from "vitest";
import { importsOf, LAYERS, layerViolations } from "./layers.js";
import { sourceFiles, textOf } from "./source.js";

const packages = new Set(Object.keys(JSON.parse(textOf("package.json")).dependencies));

describe("layers", () => {
  test("every source file imports only from lower layers and its own folder", () => {
    const files = sourceFiles();
    expect(files.length).toBeGreaterThan(0);
    expect(files.flatMap((file) => layerViolations(file, textOf(file), packages))).toEqual([]);
  });

  const refused = [
    { name: "a value from a higher layer", file: "src/zone/a.ts", source: 'import { b } from "../query/b.js";' },
    { name: "a type from a higher layer", file: "src/wire/a.ts", source: 'import type { B } from "../config/b.js";' },
    { name: "a sibling of the same layer", file: "src/zone/a.ts", source: 'import { b } from "../health/b.js";' },
    { name: "a re-export", file: "src/lib/a.ts", source: 'export { b } from "../wire/b.js";' },
    { name: "an import for its effect", file: "src/lib/a.ts", source: 'import "../wire/b.js";' },
    { name: "a dynamic import", file: "src/query/a.ts", source: 'const b = await import("../admin/b.js");' },
    { name: "an import in a type", file: "src/query/a.ts", source: 'let b: import("../admin/b.js").B;' },
    {
      name: "a worker",
      file: "src/query/a.ts",
      source: 'new Worker(new URL("../transport/w.js", import.meta.url));',
    },
    { name: "an import over lines", file: "src/zone/a.ts", source: 'import {\n  b,\n} from "../app.js";' },
    { name: "a computed name", file: "src/zone/a.ts", source: "await import(name);" },
    { name: "a part without a layer", file: "src/utils/a.ts", source: "" },
    { name: "a target without a layer", file: "src/main.ts", source: 'import { b } from "./utils/b.js";' },
    { name: "code of the tests", file: "src/main.ts", source: 'import { b } from "../test/b.js";' },
    { name: "a development dependency", file: "src/lib/a.ts", source: 'import { test } from "vitest";' },
    {
      name: "what follows a string, a template and a pattern that look like comments",
      file: "src/zone/a.ts",
      source: 'const a = "/*"; const b = `//`; const c = /["/*]/;\nimport { d } from "../cli/d.js"; /* end */',
    },
  ];
  test.each(refused)("refuses $name", ({ file, source }) => {
    expect(layerViolations(file, source, packages)).toHaveLength(1);
  });

  const admitted = [
    { name: "a lower layer", file: "src/query/a.ts", source: 'import { b } from "../wire/b.js";' },
    { name: "its own folder", file: "src/health/probes/a.ts", source: 'import { b } from "../state.js";' },
    { name: "Node's own modules", file: "src/lib/a.ts", source: 'import { readFileSync } from "node:fs";' },
    { name: "a dependency's subpath", file: "src/config/a.ts", source: 'import { z } from "zod/v4";' },
    { name: "the version in package.json", file: "src/cli/a.ts", source: 'require("../../package.json");' },
    { name: "an import that is a comment", file: "src/wire/a.ts", source: '// import { b } from "../cli/b.js";' },
    { name: "an import that is prose", file: "src/wire/a.ts", source: '/** import x from "../cli/b.js" */' },
  ];
  test.each(admitted)("admits $name", ({ file, source }) => {
    expect(layerViolations(file, source, packages)).toEqual([]);
  });

  test("names the file, the line and both layers", () => {
    const source = '\nimport { b } from "../query/b.js";\n';
    expect(layerViolations("src/zone/a.ts", source, packages)).toEqual([
      "src/zone/a.ts:2: zone (layer 2) imports src/query/b.ts (layer 4); have it injected instead",
    ]);
  });

  test("finds as many imports as a file has lines with `from`", () => {
    for (const file of sourceFiles()) {
      const lines = textOf(file).match(/^(?:import|export|\}).* from "[^"]+";$/gm) ?? [];
      expect({ file, count: importsOf(textOf(file)).length }).toSatisfy(({ count }) => count >= lines.length);
    }
  });

  test("stack without a gap", () => {
    const heights = [...new Set(Object.values(LAYERS))].sort((a, b) => a - b);
    expect(heights).toEqual(heights.map((_, index) => index));
  });
});

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findInstallation, installed } from "../../src/lib/installation.js";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "livezone-installation-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the folder of the installation", () => {
  test.each(["dist/main.js", "dist/chunks/a.js", "dist/transport/batch/load.js"])("is found from %s", (file) => {
    mkdirSync(join(folder, "dist/transport/batch"), { recursive: true });
    writeFileSync(join(folder, "package.json"), "{}");
    expect(findInstallation(join(folder, file))).toBe(folder);
  });

  test("is the nearest one, where one lies in another", () => {
    writeFileSync(join(folder, "package.json"), "{}");
    mkdirSync(join(folder, "inner/dist"), { recursive: true });
    writeFileSync(join(folder, "inner/package.json"), "{}");
    expect(findInstallation(join(folder, "inner/dist/main.js"))).toBe(join(folder, "inner"));
  });

  test("is missed in words", () => {
    expect(() => findInstallation("/nowhere/dist/main.js")).toThrow("no package.json above /nowhere/dist/main.js");
  });

  test("holds what the program needs at run time", () => {
    const needed = ["package.json", "dist/transport/worker.js", "dist/demo/apiserver.js", "zones/demo/livezone.yaml"];
    expect(needed.filter((path) => !existsSync(installed(path)))).toEqual([]);
  });
});

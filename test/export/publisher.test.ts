import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Publisher } from "../../src/export/publisher.js";
import { temporaryFolder } from "../support/temp.js";

test("the reader loads the file when it changed, and only then", async () => {
  const folder = temporaryFolder();
  const reloads = () => readFileSync(join(folder, "reloads"), "utf8").length;
  const file = join(folder, "file");
  const publisher = new Publisher({ file, isBlock: false, reloadCommand: `printf . >>${folder}/reloads` });
  expect(await publisher.publish("a\n")).toEqual({ state: "written" });
  expect(await publisher.publish("a\n")).toEqual({ state: "unchanged" });
  expect(reloads()).toBe(1);
  expect(await publisher.publish("b\n")).toEqual({ state: "written" });
  expect(reloads()).toBe(2);
});

test("a reload that failed is owed until it succeeds", async () => {
  const folder = temporaryFolder();
  const publisher = new Publisher({
    file: join(folder, "file"),
    isBlock: false,
    reloadCommand: `test -e ${folder}/well`,
  });
  expect(await publisher.publish("a\n")).toEqual({ state: "reload-failed", why: "exit code 1" });
  expect(publisher.isReloadOwed).toBe(true);
  writeFileSync(join(folder, "well"), "");
  expect(await publisher.publish("a\n")).toEqual({ state: "written" });
  expect(publisher.isReloadOwed).toBe(false);
  expect(existsSync(join(folder, "file"))).toBe(true);
});

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CONFIG_OPTION, existingConfigFile, findConfigFile } from "../../src/cli/config-file.js";
import { codeOf } from "../../src/lib/errors.js";
import { temporaryFolder } from "../support/temp.js";
import { runLivezone } from "./run.js";

/** A machine on which only these files are. */
const having =
  (...files: readonly string[]) =>
  (file: string) =>
    files.includes(file);

const [HERE, SYSTEM] = ["livezone.yaml", "/etc/livezone/livezone.yaml"];

describe("the configuration file", () => {
  test.each([
    { name: "that is named is taken, also when it is not there", given: "a.yaml", files: [HERE], is: "a.yaml" },
    { name: "of the working directory comes first", given: undefined, files: [SYSTEM, HERE], is: HERE },
    { name: "of the machine comes next", given: undefined, files: [SYSTEM], is: SYSTEM },
  ])("$name", ({ given, files, is }) => {
    expect(existingConfigFile(given, having(...files))).toBe(is);
    expect(findConfigFile(given, having(...files))).toBe(is);
  });

  test("that is in neither place is not there; a command that needs it says where it looked", () => {
    expect(existingConfigFile(undefined, having())).toBeUndefined();
    const find = () => findConfigFile(undefined, having());
    expect(find).toThrow(
      "no configuration: looked for livezone.yaml and /etc/livezone/livezone.yaml; name one with --config FILE",
    );
    expect(find).toThrow(expect.toSatisfy((error) => codeOf(error) === "CONFIG_NOT_FOUND"));
  });

  test("is told in the help, in the order in which it is looked for", () => {
    expect(CONFIG_OPTION.join(": ")).toBe(`-c, --config <file>: configuration file (default: ${HERE}, then ${SYSTEM})`);
  });
});

test.each<[string, (file: string) => void, RegExp]>([
  ["a file", (file) => writeFileSync(file, "zones: []\n"), /^livezone\.yaml:1:\d+: zones/],
  ["a folder", (file) => mkdirSync(file), /^livezone\.yaml:1:1: the file cannot be read: it is a directory/],
  ["a link to nothing", (file) => symlinkSync("gone", file), /^livezone\.yaml:1:1: .*there is no such file/],
  ["a loop of links", (file) => symlinkSync("livezone.yaml", file), /^livezone\.yaml:1:1: .*go in a circle/],
])("of the usual places, the first at which there is anything counts: %s", async (_name, make, says) => {
  const cwd = temporaryFolder();
  make(join(cwd, "livezone.yaml"));
  const { code, stderr } = await runLivezone(["check"], { cwd });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(says) });
});

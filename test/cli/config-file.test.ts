import { describe, expect, test } from "vitest";
import { CONFIG_OPTION, existingConfigFile, findConfigFile } from "../../src/cli/config-file.js";
import { codeOf } from "../../src/lib/errors.js";

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

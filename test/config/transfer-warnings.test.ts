import { describe, expect, test } from "vitest";
import { folderWith, loadRight, ZONE } from "./folder.js";

const SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=";

function warnings(options: {
  readonly main?: string;
  readonly keys?: string;
  readonly transfer: string;
  readonly file?: string;
}): string[] {
  const { main = `stateDir: ${folderWith({})}\nlisten: ["192.0.2.53:53", "127.0.0.1:5300"]\n`, transfer } = options;
  const { keys = "{ corp: { secretFile: corp.tsig } }", file = SECRET } = options;
  const { warnings: found } = loadRight({
    "livezone.yaml": `${main}transfer: { keys: ${keys} }\nzones: zone.yaml\n`,
    "zone.yaml": `${ZONE}transfer: ${transfer}\n`,
    "corp.tsig": file,
  });
  expect(JSON.stringify(found)).not.toContain(SECRET);
  return found.map(({ code, file: place, line }) => `${place.split("/").at(-1)}:${line} ${code}`);
}

describe("a configuration with transfers is warned of", () => {
  test("nothing, if all is well", () => {
    expect(warnings({ transfer: "{ to: [10.0.0.53, 10.0.0.54, 127.0.0.1] }" })).toEqual([]);
  });

  test("no stateDir, once, however many zones there are", () => {
    expect(warnings({ main: "", transfer: "{ to: 10.0.0.53 }" })).toEqual(["livezone.yaml:1 CONFIG_TRANSFER_UNSAVED"]);
  });

  test.each([
    [
      "the same address twice",
      "{ to: [10.0.0.53, { address: 10.0.0.53, key: corp }] }",
      ["CONFIG_SECONDARY_DUPLICATE"],
    ],
    [
      "the same address in another spelling",
      '{ to: ["2001:db8::1", "2001:DB8:0::1"] }',
      ["CONFIG_SECONDARY_DUPLICATE"],
    ],
    ["its own address", "{ to: 192.0.2.53 }", ["CONFIG_SECONDARY_ONESELF"]],
    ["its own address and port", '{ to: "127.0.0.1:5300" }', ["CONFIG_SECONDARY_ONESELF"]],
    ["another port of its own address, which is another server", '{ to: ["10.0.0.53:54", "10.0.0.53:55"] }', []],
  ])("%s", (_, transfer, codes) => {
    expect(warnings({ transfer })).toEqual(codes.map((code) => `zone.yaml:6 ${code}`));
  });

  test("its own address where it listens on all", () => {
    const main = `stateDir: ${folderWith({})}\nlisten: "0.0.0.0:53"\n`;
    expect(warnings({ main, transfer: "{ to: 127.0.0.1 }" })).toEqual(["zone.yaml:6 CONFIG_SECONDARY_ONESELF"]);
  });

  test("keys whose names differ by letter case only", () => {
    const keys = "{ corp: { secretFile: corp.tsig }, Corp: { secretFile: corp.tsig } }";
    expect(warnings({ keys, transfer: "{ to: 10.0.0.53 }" })).toEqual(["livezone.yaml:3 CONFIG_TSIG_KEY_DUPLICATE"]);
  });

  const clause = (name: string, algorithm: string) =>
    `key "${name}" {\n\talgorithm ${algorithm};\n\tsecret "${SECRET}";\n};\n`;
  test.each([
    ["as it is configured", clause("Corp", "hmac-sha256"), false],
    ["another name", clause("other", "hmac-sha256"), true],
    ["another algorithm", clause("corp", "hmac-sha512"), true],
    [
      "another name as keymgr prints it",
      `key:\n  - id: other\n    algorithm: hmac-sha256\n    secret: ${SECRET}\n`,
      true,
    ],
    [
      "another algorithm as keymgr prints it",
      `key:\n  - id: corp\n    algorithm: hmac-sha512\n    secret: ${SECRET}\n`,
      true,
    ],
    ["nothing but the secret", SECRET, false],
  ])("a key file with %s", (_, file, isWarned) => {
    const expected = isWarned ? ["livezone.yaml:3 CONFIG_TSIG_CLAUSE"] : [];
    expect(warnings({ file, transfer: "{ to: 10.0.0.53 }" })).toEqual(expected);
  });
});

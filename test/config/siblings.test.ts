import { chmodSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { siblings as schema } from "../../src/config/schema-siblings.js";
import { readSiblingSecrets } from "../../src/config/secrets.js";
import { buildSiblings } from "../../src/config/siblings.js";
import { folderWith, loadRight, loadWrong, MAIN } from "./folder.js";

const SECRET = "0123456789abcdef".repeat(4);

function files(options: string, secret = `${SECRET}\n`) {
  return { "livezone.yaml": `${MAIN}siblings: { ${options} }\n`, "siblings.key": secret };
}

const RIGHT = 'name: NS1, listen: "192.0.2.53:9854", peers: { ns2: "198.51.100.53:9854" }, secretFile: siblings.key';

describe("siblings", () => {
  test("left out: there are none", () => {
    expect(loadRight().config.siblings).toBeUndefined();
    expect(schema.safeParse({}).success).toBe(false);
    expect(buildSiblings).toBeTypeOf("function");
  });

  test("only what must be said: the rest is at its default", () => {
    const { config, warnings } = loadRight(files(RIGHT));
    expect(warnings).toEqual([]);
    expect(config.siblings).toMatchObject({
      name: "ns1",
      listen: { address: "192.0.2.53", port: 9854 },
      peers: [{ name: "ns2", address: "198.51.100.53", port: 9854 }],
      shareOverrides: true,
      holdAtMostMs: 10_000,
      whenIsolated: "hold",
    });
  });

  test.each([
    ["name: ns1", "CONFIG_MISSING"],
    [RIGHT.replace("NS1", '"n s"'), "CONFIG_SIBLING_NAME"],
    [RIGHT.replace("ns2:", '"n s":'), "CONFIG_SIBLING_NAME"],
    [RIGHT.replace("{ ns2", "{ }, x: { ns2"), "CONFIG_UNKNOWN_KEY"],
    [RIGHT.replace('{ ns2: "198.51.100.53:9854" }', "{}"), "CONFIG_SIBLING_PEERS"],
    [
      RIGHT.replace('ns2: "198.51.100.53:9854"', 'ns2: "198.51.100.53:9854", ns3: "198.51.100.53:9854"'),
      "CONFIG_SIBLING_PEERS",
    ],
    [RIGHT.replace("{ ns2", '{ NS2: "203.0.113.1:9854", ns2'), "CONFIG_SIBLING_PEERS"],
    [RIGHT.replace("198.51.100.53", "0.0.0.0"), "CONFIG_SIBLING_PEERS"],
    [RIGHT.replace("198.51.100.53", "[::]"), "CONFIG_SIBLING_PEERS"],
    [`${RIGHT}, holdAtMost: 1h`, "CONFIG_RANGE"],
    [`${RIGHT}, whenIsolated: quiet`, "CONFIG_CHOICE"],
  ])("%s is an error: %s", (options, code) => {
    expect(loadWrong(files(options)).map((problem) => problem.code)).toContain(code);
  });

  test.each([
    ["", "it holds no secret"],
    ["abc\n", "its secret 1 is not 64 hexadecimal digits"],
    ["0".repeat(64), "its secret 1 repeats a few octets"],
    [`${SECRET}\n${"ab12".repeat(16)}\n`, "its secret 2 repeats a few octets"],
    [`${SECRET}\n${SECRET}\n${SECRET}\n`, "it holds 3 secrets, more than 2"],
  ])("the secret file %j cannot be used: %s", (content, why) => {
    const [problem] = loadWrong(files(RIGHT, content));
    expect(problem).toMatchObject({ code: "CONFIG_SIBLING_SECRET", message: expect.stringContaining(why) });
    expect(problem?.message).not.toContain(SECRET);
  });

  test("two secrets are read in their order", () => {
    const other = "fedcba9876543210".repeat(4);
    const folder = folderWith(files(RIGHT, `# new\n${other}\n${SECRET}\n`));
    const read = readSiblingSecrets(join(folder, "siblings.key"));
    if ("why" in read) throw new Error(read.why);
    expect(read.secrets.map((secret) => Buffer.from(secret).toString("hex"))).toEqual([other, SECRET]);
  });

  test("warns of a secret that others may read", () => {
    const folder = folderWith(files(RIGHT));
    chmodSync(join(folder, "siblings.key"), 0o644);
    expect(loadConfig(join(folder, "livezone.yaml"))).toMatchObject({ warnings: [{ code: "CONFIG_TOKEN_FILE_MODE" }] });
  });

  test("warns of a listener that everybody reaches", () => {
    const { warnings } = loadRight(files(RIGHT.replace("192.0.2.53", "0.0.0.0")));
    expect(warnings).toMatchObject([{ code: "CONFIG_SIBLING_LISTEN_EVERYWHERE" }]);
  });

  test.each([
    ['listen: "192.0.2.53:9854"\n', "listen"],
    ['listen: "0.0.0.0:9854"\n', "listen"],
    ['admin: { http: "192.0.2.53:9854" }\n', "admin.http"],
  ])("another service where siblings connect is an error: %j", (line, option) => {
    const { "livezone.yaml": main, ...others } = files(RIGHT);
    const problems = loadWrong({ ...others, "livezone.yaml": `${line}${main}` });
    expect(problems).toMatchObject([
      { code: "CONFIG_SIBLING_LISTEN_TAKEN", message: expect.stringContaining(`and ${option} is`) },
    ]);
  });

  test("warns of a peer that is this server, by name or by address, and leaves it out", () => {
    const own = Object.values(networkInterfaces()).flatMap((all = []) => all)[0]?.address ?? "127.0.0.1";
    const here = own.includes(":") ? `[${own}]` : own;
    const { config, warnings } = loadRight(
      files(RIGHT.replace("{ ns2", `{ ns1: "203.0.113.1:9854", ns3: "${here}:9854", ns2`)),
    );
    expect(warnings.map(({ code }) => code)).toEqual(["CONFIG_SIBLING_ONESELF", "CONFIG_SIBLING_ONESELF"]);
    expect(config.siblings?.peers.map(({ name }) => name)).toEqual(["ns2"]);
  });
});

import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import {
  changeSchema,
  drainSchema,
  errorSchema,
  reloadSchema,
  statusSchema,
  targetDetailSchema,
} from "../../src/admin/schemas.js";
import { VERSION } from "../../src/lib/version.js";
import { type AdminServer, ENDPOINT, startAdminServer, TOKEN } from "../admin/server.js";
import { EVERY_RUIN, RUINS } from "../server/ruined-files.js";
import { afterAllTests, afterThisTest } from "../support/cleanup.js";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { temporaryFolder } from "../support/temp.js";
import { runIn } from "./in-process.js";

/** Every command that talks to a running server, with arguments that are right, and what `--json` prints. */
const COMMANDS: readonly { readonly args: readonly string[]; readonly schema: z.ZodType }[] = [
  { args: ["status"], schema: statusSchema },
  { args: ["status", ENDPOINT], schema: statusSchema },
  { args: ["status", ENDPOINT, "cp1"], schema: targetDetailSchema },
  { args: ["drain", ENDPOINT, "cp1", "--for", "30m", "--reason", "kernel update"], schema: drainSchema },
  { args: ["undrain", ENDPOINT, "cp1"], schema: changeSchema },
  { args: ["force", "up", ENDPOINT, "cp1"], schema: changeSchema },
  { args: ["unforce", ENDPOINT, "cp1"], schema: changeSchema },
  { args: ["unsuppress", ENDPOINT, "cp1"], schema: changeSchema },
  { args: ["reload"], schema: reloadSchema },
];

const cleanup = afterAllTests();
let server: AdminServer;
beforeAll(async () => {
  server = await startAdminServer({ cleanup });
});

/** Runs a command in the server's folder, where its configuration is. */
const run = (...args: readonly string[]) => runIn(args, { cwd: server.livezone.folder });

describe.each(COMMANDS)("livezone $args", ({ args, schema }) => {
  const [name = ""] = args;

  test("has a help that names its options", async () => {
    const { code, stdout, stderr } = await run(name, "--help");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const option of ["--admin <socket|url>", "--token-file <file>", "--json", "--help"]) {
      expect(stdout).toContain(option);
    }
  });

  test("prints JSON as its schema says", async () => {
    const { code, stdout, stderr } = await run(...args, "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const parsed = JSON.parse(stdout);
    expect(schema.safeParse(parsed).error).toBeUndefined();
    // Nothing is printed that the schema does not know.
    expect(schema.parse(parsed)).toEqual(parsed);
  });

  test("says for people what came of it, without a colour in a pipe", async () => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^\S.*\n/);
    expect(stdout).not.toContain("\x1b");
  });

  test("says in one line where it looked when there is no server", async () => {
    const socket = join(temporaryFolder(), "nothing.sock");
    await expectNobody([...args, "--admin", socket], socket);
  });

  test("says which versions differ when it cannot read the reply", async () => {
    const newer = createServer((_request, response) =>
      response
        .writeHead(200, { "livezone-version": "99.0.0", "content-type": "application/json" })
        .end(JSON.stringify({ everything: "is new" })),
    );
    const { code, stdout, stderr } = await run(...args, "--admin", await listening(newer));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^livezone: the server is version 99\.0\.0, this program \d.*\[ADMIN_OTHER_VERSION\]\n$/);
    expect(stderr).toContain(VERSION);
  });

  test("takes no option that it does not have, and no argument too many", async () => {
    for (const wrong of [["--nope"], ["a", "b", "c", "d"]]) {
      const { code, stdout, stderr } = await run(...args, ...wrong);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).not.toMatch(/^\s+at /m);
    }
  });

  test("says nothing when its reader has gone", async () => {
    const child = spawn(process.execPath, [LIVEZONE_MAIN, ...args], {
      cwd: server.livezone.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk;
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

/** Runs a command that finds no server, and says where it looked. */
async function expectNobody(args: readonly string[], where: string): Promise<void> {
  const { code, stdout, stderr } = await runIn(args, { cwd: temporaryFolder() });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^livezone: no livezone server at .*\[ADMIN_UNREACHABLE\]\n$/);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(stderr).toContain(where);
}

/** The URL of a server that is started on loopback and ends with the test. */
async function listening(stranger: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
  afterThisTest(() => {
    stranger.closeAllConnections();
    stranger.close();
  });
  return `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
}

describe("a server of another version that is understood", () => {
  test("is served, with a note", async () => {
    const reply = { ok: true, zones: 1, endpoints: 2, more: "than before" };
    const newer = createServer((_request, response) =>
      response
        .writeHead(200, { "livezone-version": "99.0.0", "content-type": "application/json" })
        .end(JSON.stringify(reply)),
    );
    const { code, stdout, stderr } = await run("reload", "--admin", await listening(newer));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "reloaded: 1 zone, 2 endpoints\n" });
    expect(stderr).toBe(`livezone: the server is version 99.0.0, this program ${VERSION}\n`);
  });
});

describe("where commands look", () => {
  test("without a configuration it is the usual socket", async () => {
    await expectNobody(["status"], "/run/livezone/admin.sock");
  });

  test("a configuration without a way in is said to have none, with what to add", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "livezone.yaml"), "zones: zones\n");
    const { code, stderr } = await runIn(["status"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      / livezone\.yaml has neither admin\.socket nor admin\.http, .*restart.*\[ADMIN_UNREACHABLE\]\n$/,
    );
    expect(stderr).toContain('Add "admin: { socket: /run/livezone/admin.sock }"');
  });

  test("a configuration that does not parse is said to be the trouble", async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, "livezone.yaml"), "admin: { socket: admin.sock\nzones: [\n");
    const { code, stderr } = await runIn(["status"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      / livezone\.yaml, which says where the server is, cannot be read: .*\[ADMIN_UNREACHABLE\]\n$/,
    );
  });

  test.each(EVERY_RUIN)("files that a command reads are told of when they are %s", async (how) => {
    const cwd = temporaryFolder();
    for (const file of ["token", "livezone.yaml"]) RUINS[how](join(cwd, file));
    const token = await runIn(["reload", "--admin", server.url, "--token-file", "token"], { cwd });
    expect(token).toMatchObject({ code: 1, stdout: "" });
    expect(token.stderr).toMatch(/^livezone: --token-file token: it.* \[ADMIN_TOKEN_FILE\]\n$/);
    const status = await runIn(["status"], { cwd });
    expect(status).toMatchObject({ code: 1, stdout: "" });
    expect(status.stderr).toMatch(/^livezone: .*livezone\.yaml.* \[ADMIN_UNREACHABLE\]\n$/);
  });

  test("a URL where nothing listens is named", async () => {
    await expectNobody(["status", "--admin", "http://127.0.0.1:1"], "http://127.0.0.1:1/");
  });

  test("what is no livezone is said to be none", async () => {
    const stranger = createServer((_request, response) => response.writeHead(200).end("<html>hello</html>"));
    const { code, stderr } = await run("status", "--admin", await listening(stranger));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^livezone: what answers there is no livezone server: .*\[ADMIN_NOT_LIVEZONE\]\n$/);
  });

  test("--config names the configuration, and its socket is relative to it", async () => {
    const config = join(server.livezone.folder, "livezone.yaml");
    const { code } = await runIn(["status", "--config", config], { cwd: temporaryFolder() });
    expect(code).toBe(0);
  });

  test("a URL takes a token from a file", async () => {
    const args = ["undrain", ENDPOINT, "cp1", "--admin", server.url];
    const without = await run(...args);
    expect(without.code).toBe(1);
    expect(without.stderr).toMatch(/--token-file FILE \[TOKEN_MISSING\]\n$/);
    expect((await run(...args, "--token-file", "token")).code).toBe(0);
    const wrong = await run(...args, "--token-file", "livezone.yaml");
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    expect(wrong.stderr).toContain("ADMIN_TOKEN_FILE");
    expect(wrong.stderr).not.toContain(TOKEN);
  });

  test.each([
    ["ftp://127.0.0.1", "ADMIN_ADDRESS"],
    ["http://", "ADMIN_ADDRESS"],
    ["http://a:b@127.0.0.1", "ADMIN_ADDRESS"],
    ["unix:", "ADMIN_ADDRESS"],
  ])("%s is refused", async (address, code) => {
    const outcome = await run("status", "--admin", address);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toContain(code);
  });
});

describe("refusals", () => {
  test.each([
    [["drain", "solo.k8s.example.test", "cp1"], "LAST_ANSWERABLE", "--force"],
    [["drain", "pair.k8s.example.test", "cp1"], "BELOW_MIN_HEALTHY", "--force"],
    [["force", "down", "solo.k8s.example.test", "cp1"], "LAST_ANSWERABLE", "--force"],
    [["drain", "nope.k8s.example.test", "cp1"], "NO_SUCH_ENDPOINT", "nope.k8s.example.test"],
    [["undrain", ENDPOINT, "cp9"], "NO_SUCH_TARGET", "cp1, cp2"],
    [["status", "nope.k8s.example.test"], "NO_SUCH_ENDPOINT", "nope.k8s.example.test"],
  ])("%j is %s", async (args, code, hint) => {
    const outcome = await run(...args);
    expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(new RegExp(`^livezone: .* \\[${code}\\]\\n$`));
    expect(outcome.stderr).toContain(hint);
  });

  test.each([["drain"], ["force", "up"]])("%s refuses a duration that is none as a usage error", async (...words) => {
    const outcome = await run(...words, ENDPOINT, "cp1", "--for", "5");
    expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code: 2, stdout: "" });
    expect(outcome.stderr).toMatch(/^error: --for: a duration needs a unit\. Write "5s" for seconds/);
  });

  test("--json prints what was refused as JSON, besides the words", async () => {
    const outcome = await run("drain", "solo.k8s.example.test", "cp1", "--json");
    expect(outcome.code).toBe(1);
    expect(errorSchema.parse(JSON.parse(outcome.stdout)).error).toMatchObject({
      code: "LAST_ANSWERABLE",
      message: expect.stringContaining("--force"),
    });
    expect(outcome.stderr).toMatch(/\[LAST_ANSWERABLE\]\n$/);
    const nobody = await runIn(["status", "--json", "--admin", "none.sock"], { cwd: temporaryFolder() });
    expect(nobody.code).toBe(1);
    expect(errorSchema.parse(JSON.parse(nobody.stdout)).error.code).toBe("ADMIN_UNREACHABLE");
  });

  test("force takes up or down", async () => {
    const { code, stderr } = await run("force", "sideways", ENDPOINT, "cp1");
    expect(code).toBe(2);
    expect(stderr).toContain("up, down");
  });

  test("a reload names every problem", async () => {
    const other = await startAdminServer();
    other.livezone.write("zones/k8s.yaml", "zone: k8s.example.test\nnameservers: { ns1: nonsense }\nttl: 0\n");
    const { code, stdout, stderr } = await runIn(["reload"], { cwd: other.livezone.folder });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/zones\/k8s\.yaml:2:\d+: /);
    expect(stderr).toMatch(/zones\/k8s\.yaml:3:\d+: /);
    expect(stderr).toMatch(/\[RELOAD_REFUSED\]\n$/);
    const asJson = await runIn(["reload", "--json"], { cwd: other.livezone.folder });
    expect(asJson.code).toBe(1);
    const { error } = errorSchema.parse(JSON.parse(asJson.stdout));
    expect(error.code).toBe("RELOAD_REFUSED");
    expect(error.problems?.join("\n")).toMatch(/zones\/k8s\.yaml:2:\d+: [\s\S]*zones\/k8s\.yaml:3:\d+: /);
  });

  test("a reload names the settings that it could not take, and so does the status until they are taken back", async () => {
    const other = await startAdminServer();
    const before = readFileSync(join(other.livezone.folder, "livezone.yaml"), "utf8");
    other.livezone.write("livezone.yaml", `${before}stateDir: state\n`);
    const inFolder = (...args: string[]) => runIn(args, { cwd: other.livezone.folder });
    const line = `! stateDir needs a restart: it is not set now, and ${join(other.livezone.folder, "state")} from then on\n`;
    expect(await inFolder("reload")).toMatchObject({ code: 0, stdout: `reloaded: 1 zone, 3 endpoints\n${line}` });
    expect((await inFolder("status")).stdout).toContain(`\n${line}`);
    const { remedy } = await other.livezone.waitForLog("setting needs a restart");
    expect(remedy).toBe("Restart livezone when it suits.");
    const said = reloadSchema.parse(JSON.parse((await inFolder("reload", "--json")).stdout));
    expect(said.needRestart).toEqual([{ setting: "stateDir", configured: join(other.livezone.folder, "state") }]);
    other.livezone.write("livezone.yaml", before);
    expect((await inFolder("reload")).stdout).toBe("reloaded: 1 zone, 3 endpoints\n");
    expect((await inFolder("status")).stdout).not.toContain("needs a restart");
  });
});

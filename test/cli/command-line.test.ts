import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { root } from "../house-rules/source.js";
import { temporaryFolder } from "../support/temp.js";
import { runIn } from "./in-process.js";
import { configurationFiles, GOOD_ZONE, runLivezone } from "./run.js";

/** A new folder with these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const good = configurationFiles("127.0.0.1:5300");

/** A line of a stack trace. */
const STACK = /^\s+at .*:\d+:\d+/m;

describe("livezone check", () => {
  test("says of a good configuration that it is", async () => {
    const { code, stdout, stderr } = await runIn(["check"], { cwd: folderWith(good) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^livezone\.yaml: 1 zone, 1 endpoint: good\n/);
  });

  test("takes the file that --config names", async () => {
    const { code, stdout } = await runIn(["check", "--config", "other/livezone.yaml"], {
      cwd: folderWith(Object.fromEntries(Object.entries(good).map(([path, text]) => [`other/${path}`, text]))),
    });
    expect(code).toBe(0);
    expect(stdout).toContain("other/livezone.yaml: 1 zone");
  });

  test("names every problem by file, line and column, with the value, the reason and the remedy", async () => {
    const zone = GOOD_ZONE.replace("    probe:", "    ttl: 0\n    tartgets: {}\n    probe:");
    const folder = folderWith({ ...good, "zones/k8s.yaml": zone });
    const { code, stdout, stderr } = await runIn(["check"], { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const at = (key: string) => `zones/k8s.yaml:${zone.split("\n").findIndex((line) => line.includes(key)) + 1}:`;
    expect(stderr).toContain(at("ttl: 0"));
    expect(stderr).toContain(at("tartgets"));
    expect(stderr).toContain("targets");
    const lines = stderr.trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    for (const [index, line] of lines.entries()) {
      expect(line).toMatch(index % 2 === 0 ? /^zones\/k8s\.yaml:\d+:\d+: \S.*$/ : / \[CONFIG_[A-Z_]+\]$/);
    }
    expect(stderr).not.toMatch(STACK);
  });

  test("finds problems in records as well as in options", async () => {
    const zone = `${GOOD_ZONE}records: |\n  api 300 IN A 192.0.2.1\n`;
    const { code, stderr } = await runIn(["check"], { cwd: folderWith({ ...good, "zones/k8s.yaml": zone }) });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^zones\/k8s\.yaml:9:\d+: /);
  });

  test("is what serve refuses with, word for word", async () => {
    const folder = folderWith({ ...good, "livezone.yaml": "listen: [53]\nzones: zones\n" });
    const [checked, served] = [await runIn(["check"], { cwd: folder }), await runLivezone(["serve"], { cwd: folder })];
    expect(checked.stderr).toMatch(/^livezone\.yaml:1:\d+: /);
    expect(served).toEqual(checked);
  });

  test("names the file that cannot be read", async () => {
    const { code, stderr } = await runIn(["check", "--config", "absent.yaml"], { cwd: temporaryFolder() });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^absent\.yaml:1:1: .*no such file/);
    expect(stderr).not.toMatch(STACK);
  });

  test("accepts the example configuration that is shipped", async () => {
    const { code, stderr } = await runIn(["check", "--config", "zones/example/livezone.yaml"], { cwd: root });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("livezone", () => {
  test.each(["serve", "check"])("%s says where it looked when there is no configuration", async (command) => {
    const { code, stdout, stderr } = await runLivezone([command], { cwd: temporaryFolder() });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^livezone: no configuration: .*livezone\.yaml and \/etc\/livezone\/livezone\.yaml; .*--config FILE \[CONFIG_NOT_FOUND\]\n$/,
    );
  });

  test.each([
    { args: [], says: "Usage: livezone" },
    { args: ["sreve"], says: "Did you mean serve?" },
    { args: ["check", "--confg", "a"], says: "Did you mean --config?" },
    { args: ["check", "--config"], says: "argument missing" },
    { args: ["check", "livezone.yaml"], says: "too many arguments" },
    { args: ["demo", "--listen", "5300"], says: "that is not an address with a port" },
    { args: ["demo", "--http", "127.0.0.1"], says: "the port is missing" },
    { args: ["demo", "--apiserver-port", "70000"], says: "from 1 to 65535" },
  ])("$args is a usage error: exit code 2", async ({ args, says }) => {
    const { code, stdout, stderr } = await runIn(args, { cwd: temporaryFolder() });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.toLowerCase()).toContain(says.toLowerCase());
    expect(stderr).not.toMatch(STACK);
  });

  test("prints its version", async () => {
    const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
    const { code, stdout } = await runIn(["--version"], { cwd: temporaryFolder() });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` });
  });

  test("loads no command to print its version", async () => {
    const coverage = temporaryFolder();
    vi.stubEnv("NODE_V8_COVERAGE", coverage);
    const { code } = await runLivezone(["--version"], { cwd: temporaryFolder() });
    expect(code).toBe(0);
    const [report = ""] = readdirSync(coverage).map((file) => readFileSync(join(coverage, file), "utf8"));
    const loaded = (JSON.parse(report) as { result: { url: string }[] }).result.map(({ url }) => url);
    expect(loaded.some((url) => url.endsWith("/cli/program.js"))).toBe(true);
    expect(loaded.filter((url) => /\/cli\/(serve|check|demo|status|doctor)\.js$/.test(url))).toEqual([]);
  });

  test("explains every command with --help", async () => {
    const { code, stdout } = await runIn(["--help"], { cwd: temporaryFolder() });
    expect(code).toBe(0);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    const commands = [...stdout.matchAll(/^ {2}([a-z]+)(?= )/gm)].map(([, name]) => name ?? "");
    expect(commands).toEqual(expect.arrayContaining(["serve", "check", "demo"]));
    for (const command of commands) {
      const help = await runIn([command, "--help"], { cwd: temporaryFolder() });
      expect(help.code).toBe(0);
      if (command !== "help") expect(help.stdout).toContain(`Usage: livezone ${command}`);
      expect(help.stdout).not.toContain("(default: [])");
    }
  });
});

import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { root, textOf } from "../house-rules/source.js";
import { afterAllTests } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { temporaryFolder } from "../support/temp.js";

const PROGRAM = "usr/lib/livezone";
const folder = temporaryFolder(afterAllTests());
const at = (path: string) => join(folder, path);
const text = (path: string) => readFileSync(at(path), "utf8");

beforeAll(() => {
  execFileSync(process.execPath, [join(root, "scripts/package/main.mjs"), "--layout", folder], { stdio: "inherit" });
  // What packages bring along for one processor: Node.js, and the native part.
  mkdirSync(at(`${PROGRAM}/bin`));
  symlinkSync(process.execPath, at(`${PROGRAM}/bin/node`));
  if (existsSync(join(root, "build/batch.node"))) {
    mkdirSync(at(`${PROGRAM}/build`));
    copyFileSync(join(root, "build/batch.node"), at(`${PROGRAM}/build/batch.node`));
  }
}, 60_000);

describe("the files of a package", () => {
  test("stand where an administrator looks for them", () => {
    const expected = [
      "etc/livezone/livezone.yaml",
      "etc/livezone/zones/k8s.example.com.yaml",
      "usr/bin/livezone",
      "usr/lib/systemd/system/livezone-handover.service",
      "usr/lib/systemd/system/livezone.service",
      "usr/lib/systemd/system/livezone.socket",
      "usr/lib/sysusers.d/livezone.conf",
      "usr/share/bash-completion/completions/livezone",
      "usr/share/doc/livezone/copyright",
      "usr/share/fish/vendor_completions.d/livezone.fish",
      "usr/share/man/man8/livezone.8.gz",
      "usr/share/zsh/vendor-completions/_livezone",
    ];
    const there = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/usr\/lib\/livezone|doc\/livezone\/./.test(entry.parentPath))
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
      .filter((path) => !path.startsWith("usr/share/doc/livezone/") || path.endsWith("/copyright"));
    expect(there.sort()).toEqual(expected);
  });

  test("can be run where they should, and nowhere else", () => {
    const isProgram = (path: string) => (statSync(at(path)).mode & 0o111) !== 0;
    expect(["usr/bin/livezone", `${PROGRAM}/upgrade`].filter((path) => !isProgram(path))).toEqual([]);
    expect(isProgram("etc/livezone/livezone.yaml")).toBe(false);
  });

  test("hold the manual and the completions of this version", () => {
    const main = at(`${PROGRAM}/dist/main.js`);
    const shown = (...args: string[]) => execFileSync(process.execPath, [main, ...args], { encoding: "utf8" });
    expect(gunzipSync(readFileSync(at("usr/share/man/man8/livezone.8.gz"))).toString()).toBe(shown("man"));
    expect(text("usr/share/bash-completion/completions/livezone")).toBe(shown("completion", "bash"));
  });

  test("name the licence of each dependency", () => {
    const licences = gunzipSync(readFileSync(at("usr/share/doc/livezone/LICENSES.txt.gz"))).toString();
    const { dependencies } = JSON.parse(textOf("package.json"));
    // In the bundle only if something imports it.
    const inside = Object.keys(dependencies).filter(
      (name) => licences.includes(`\n${name} `) || licences.startsWith(name),
    );
    expect(inside).toEqual(
      expect.arrayContaining(["commander", "dns2", "fastify", "pino", "pino-pretty", "yaml", "zod"]),
    );
    expect(licences).not.toContain("UNLICENSED");
  });
});

describe("the configuration to start from", () => {
  test("has no problem", () => {
    const loaded = loadConfig(at("etc/livezone/livezone.yaml"));
    expect(loaded).toMatchObject({ config: { zones: [{ zone: "k8s.example.com" }] }, warnings: [] });
  });

  test("answers nobody before an operator has changed it", () => {
    expect(text("etc/livezone/livezone.yaml")).toContain('listen: ["127.0.0.1:53"]');
  });
});

describe("the units", () => {
  const service = () => text("usr/lib/systemd/system/livezone.service");
  const handover = () => text("usr/lib/systemd/system/livezone-handover.service");

  test("run the program as the user that the package makes", () => {
    expect(service()).toContain("User=livezone\n");
    expect(service()).not.toContain("DynamicUser");
    expect(text("usr/lib/sysusers.d/livezone.conf")).toMatch(/^u livezone /);
  });

  test("keep the confinement of deploy/livezone.service", () => {
    const settings = (unit: string) => unit.match(/^(?:Protect|Restrict|SystemCall|Capability|NoNew|Private).*$/gm);
    const original = settings(textOf("deploy/livezone.service"));
    expect(original?.length).toBeGreaterThan(15);
    expect(settings(service())).toEqual(original);
    expect(settings(handover())).toEqual(original);
  });

  test("take over from one another, and only the service can be enabled", () => {
    expect(service()).toContain(
      "ExecStart=/usr/bin/livezone serve --takeover-if-any --config /etc/livezone/livezone.yaml\n",
    );
    expect(handover()).toContain("ExecStart=/usr/bin/livezone serve --takeover --config /etc/livezone/livezone.yaml\n");
    expect(service()).toContain("[Install]");
    expect(handover()).not.toContain("[Install]");
  });

  test.each([
    "packaging/livezone",
    "packaging/upgrade",
    "packaging/debian/postinst",
    "packaging/debian/prerm",
    "packaging/debian/postrm",
  ])("%s is a script that a POSIX shell can read", (file) => {
    expect(spawnSync("sh", ["-n", join(root, file)], { encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  });
});

describe("the program in one bundle", () => {
  test("answers in a thread of its own, with what the package brings and nothing else", async () => {
    const port = await freePort("127.0.0.1");
    const home = temporaryFolder();
    writeFileSync(
      join(home, "livezone.yaml"),
      `listen: ["127.0.0.1:${port}"]\nadmin: { socket: ${home}/admin.sock }\nzones: [zone.yaml]\n`,
    );
    writeFileSync(
      join(home, "zone.yaml"),
      "zone: k8s.example.test\nnameservers: { ns1: 127.0.0.1 }\nallowSpecialAddresses: true\n" +
        "endpoints: { api: { port: 6443, targets: { cp1: 192.0.2.11 }, probe: { type: none } } }\n",
    );
    const main = at(`${PROGRAM}/dist/main.js`);
    const lines: string[] = [];
    await startProcess(
      process.execPath,
      [main, "serve", "--takeover-if-any", "--config", join(home, "livezone.yaml")],
      {
        cwd: home,
        onLine: (line) => lines.push(line),
        readyWhen: () => lines.some((line) => line.includes('"msg":"ready"')),
      },
    );
    const addresses = await askForAddresses({ server: "127.0.0.1", port, name: "api.k8s.example.test", type: "A" });
    expect(addresses).toEqual(["192.0.2.11"]);
    const status = spawnSync(process.execPath, [main, "status", "--json", "--admin", `${home}/admin.sock`], {
      encoding: "utf8",
    });
    expect(JSON.parse(status.stdout)).toMatchObject({ version: JSON.parse(textOf("package.json")).version });
  });

  test("writes coloured lines for a terminal", () => {
    // The only part that is loaded by `require` at run time.
    const require = "require('node:module').createRequire(process.argv[1])('pino-pretty')";
    const main = at(`${PROGRAM}/dist/main.js`);
    expect(execFileSync(process.execPath, ["-p", `typeof ${require}`, main], { encoding: "utf8" }).trim()).toBe(
      "function",
    );
  });
});

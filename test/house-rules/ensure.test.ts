import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { root } from "./source.js";

/** A server reduced to what `npm start` owes it: its arguments, and signals. */
const SERVER = `
const forever = setInterval(() => {}, 1_000);
process.on("SIGTERM", () => { console.log("got SIGTERM"); clearInterval(forever); });
process.on("SIGINT", () => { console.log("got SIGINT"); clearInterval(forever); process.exitCode = 7; });
console.log("ready", process.argv.slice(2).join(" "));
`;

let checkout: string;
let started: ChildProcess | undefined;

/** A small checkout in a folder of its own: the real scripts and settings, the dependencies by a link. */
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), "livezone-ensure-"));
  mkdirSync(join(checkout, "scripts"));
  mkdirSync(join(checkout, "src"));
  for (const file of ["package.json", "package-lock.json", "tsconfig.json", ".npmrc", "scripts/ensure.mjs"]) {
    copyFileSync(root + file, join(checkout, file));
  }
  symlinkSync(`${root}node_modules`, join(checkout, "node_modules"));
  write("src/main.ts", SERVER);
});

afterEach(async () => {
  if (started?.exitCode === null && started.signalCode === null && started.pid !== undefined) {
    // The group that this test made, because npm has children of its own.
    process.kill(-started.pid, "SIGKILL");
    await once(started, "close");
  }
  started = undefined;
  rmSync(checkout, { recursive: true });
});

function write(file: string, text: string): void {
  writeFileSync(join(checkout, file), text);
}

function ensure(args: readonly string[] = [], env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/ensure.mjs", ...args], {
    cwd: checkout,
    encoding: "utf8",
    env,
  });
  return { status, stdout, stderr };
}

const dist = (file: string) => join(checkout, "dist", file);

describe("scripts/ensure.mjs", () => {
  test("compiles once, then says and does nothing", () => {
    const first = ensure();
    expect(first.stderr).toContain("compiling");
    expect(first).toMatchObject({ status: 0, stdout: "" });
    expect(existsSync(dist("main.js"))).toBe(true);
    expect(ensure()).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("compiles again when a source changed, when one is gone, and when told to", () => {
    write("src/other.ts", "export const other = 1;\n");
    ensure();
    write("src/other.ts", "export const other = 2;\n");
    expect(ensure().stderr).toContain("compiling");
    expect(readFileSync(dist("other.js"), "utf8")).toContain("other = 2");
    rmSync(join(checkout, "src", "other.ts"));
    expect(ensure().status).toBe(0);
    expect(existsSync(dist("other.js"))).toBe(false);
    expect(existsSync(dist("main.js"))).toBe(true);
    expect(ensure(["--force"]).stderr).toContain("compiling");
  });

  test("fails on a type error, each time, with the compiler's words", () => {
    write("src/wrong.ts", "export const wrong: number = '1';\n");
    for (let round = 0; round < 2; round += 1) {
      const { status, stderr } = ensure();
      expect(status).not.toBe(0);
      expect(stderr).toMatch(/src\/wrong\.ts\(1,14\).*TS2322/);
    }
    expect(existsSync(join(checkout, ".ensure.lock"))).toBe(false);
  });

  test.each([
    ["succeeds", 'console.error("native built");', "native built"],
    ["fails", "process.exit(3);", "not built"],
  ])("goes on when the native build %s, and tries it once", (_, script, said) => {
    write("scripts/build-native.mjs", script);
    const first = ensure();
    expect(first.status).toBe(0);
    expect(first.stderr).toContain(said);
    expect(ensure().stderr).toBe("");
    rmSync(join(checkout, "build"), { recursive: true });
    expect(ensure().stderr).toContain(said);
    expect(ensure(["--native"])).toMatchObject({ status: 0, stderr: expect.stringContaining(said) });
  });

  test("waits for another one at work, and clears up after one that died", () => {
    mkdirSync(join(checkout, ".ensure.lock"));
    const { pid } = spawnSync(process.execPath, ["-e", ""]);
    write(".ensure.lock/pid", String(pid));
    expect(ensure().status).toBe(0);
    expect(existsSync(join(checkout, ".ensure.lock"))).toBe(false);
  });

  describe("installs, development dependencies included,", () => {
    /** Stands in for npm on the search path and notes how it was called. */
    function ensureWithNpm(npm: string) {
      mkdirSync(join(checkout, "bin"));
      write("bin/npm", `#!/bin/sh\necho "$@" > npm-arguments\n${npm}\n`);
      chmodSync(join(checkout, "bin", "npm"), 0o755);
      const env: NodeJS.ProcessEnv = {
        ...process.env,
        NODE_ENV: "production",
        PATH: `${join(checkout, "bin")}:${process.env.PATH}`,
      };
      delete env.npm_execpath;
      return ensure([], env);
    }
    const linkModules = `ln -s '${root}node_modules' node_modules`;

    test("when there is no node_modules", () => {
      rmSync(join(checkout, "node_modules"));
      expect(ensureWithNpm(linkModules)).toMatchObject({ status: 0, stderr: expect.stringContaining("installing") });
      expect(readFileSync(join(checkout, "npm-arguments"), "utf8")).toMatch(/^ci --include=dev /);
    });

    test.each([
      ["another version", { version: "0.0.1" }],
      ["another content", { integrity: "sha512-AAAA" }],
    ])("when the lock file names %s", (_, change) => {
      const lock = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));
      Object.assign(lock.packages["node_modules/typescript"], change);
      write("package-lock.json", JSON.stringify(lock));
      expect(ensureWithNpm("").stderr).toContain("installing");
    });

    test("and passes on that npm failed", () => {
      rmSync(join(checkout, "node_modules"));
      const { status, stderr } = ensureWithNpm("exit 5");
      expect(status).toBe(5);
      expect(stderr).toContain("could not be installed");
    });
  });
});

describe("npm start", () => {
  /** Starts it in a process group of its own, as a shell with job control does. Resolves when the server is ready. */
  async function start(): Promise<{ npm: ChildProcess; lines: string[] }> {
    const npm = spawn("npm", ["start", "--silent"], {
      cwd: checkout,
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    started = npm;
    const lines: string[] = [];
    const reader = createInterface({ input: npm.stdout });
    await new Promise<void>((resolve, reject) => {
      reader.on("line", (line) => {
        lines.push(line);
        if (line.startsWith("ready")) resolve();
      });
      npm.once("exit", () => reject(new Error(`npm start ended: ${lines.join("\n")}`)));
    });
    return { npm, lines };
  }

  test("runs the demo; SIGTERM to npm reaches the server, which ends with 0", async () => {
    const { npm, lines } = await start();
    npm.kill("SIGTERM");
    const [code, signal] = await once(npm, "close");
    expect(lines).toEqual(["ready demo", "got SIGTERM"]);
    expect({ code, signal }).toEqual({ code: 0, signal: null });
  });

  test("Ctrl-C reaches the server, and npm ends with it", async () => {
    const { npm, lines } = await start();
    // What a terminal does: SIGINT to every process of the group.
    process.kill(-Number(npm.pid), "SIGINT");
    const [code, signal] = await once(npm, "close");
    expect(lines[0]).toBe("ready demo");
    expect(new Set(lines.slice(1))).toEqual(new Set(["got SIGINT"]));
    // npm passes the signal on as well; should the second one arrive while Node.js tears down, the server ends by it.
    expect([7, "SIGINT"]).toContain(signal ?? code);
  });
});

import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { temporaryFolder } from "../support/temp.js";

const ZONE = "zone: k8s.example.com\nnameservers: { ns1: 192.0.2.53 }\n";

/** What is said of a main file with these lines. */
function problemsOf(lines: string) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "zone.yaml"), ZONE);
  writeFileSync(join(folder, "a-file"), "");
  writeFileSync(join(folder, "livezone.yaml"), `zones: [zone.yaml]\n${lines}\n`);
  const loaded = loadConfig(join(folder, "livezone.yaml"));
  const found = "problems" in loaded ? loaded.problems : loaded.warnings;
  return found.filter(({ code }) => /SOCKET|STATE|UNMATCHED/.test(code));
}

describe("paths that a server writes to", () => {
  test("a socket whose path is too long for the system is refused, with its length", () => {
    expect(problemsOf(`admin: { socket: /run/${"x".repeat(125)} }`)).toMatchObject([
      { code: "CONFIG_SOCKET_PATH_LONG", line: 2, message: expect.stringContaining("a path of 130 octets") },
    ]);
    expect(problemsOf(`admin: { socket: /run/${"x".repeat(102)} }`)).toEqual([]);
  });

  test.each(["a-file", "a-file/state", "/proc/livezone"])(
    "a stateDir %s that cannot be written is warned of",
    (stateDir) => {
      const [problem] = problemsOf(`stateDir: ${stateDir}`);
      // Root may write everywhere but where no file can be made; /proc only refuses when it is tried.
      if (stateDir.startsWith("/proc") && process.getuid?.() === 0) return;
      expect(problem).toMatchObject({ code: "CONFIG_STATE_DIR_UNWRITABLE", line: 2, severity: "warning" });
    },
  );

  test.each(["state", "not/there/yet", "."])("a stateDir %s that is there or can be made is not", (stateDir) => {
    expect(problemsOf(`stateDir: ${stateDir}`)).toEqual([]);
  });

  test.each([
    ["nowhere", "warning", /matches no file: there is no folder "\S+nowhere"\./],
    ["a-file", "error", /whose folder "\S+a-file" cannot be read: it is no folder\./],
    // A loop of links cannot be read by root either.
    ["loop", "error", /whose folder "\S+loop" cannot be read: it is a loop of links\./],
  ])("a pattern whose folder is %s is told with it, as %s", (name, severity, message) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "zone.yaml"), ZONE);
    writeFileSync(join(folder, "a-file"), "");
    symlinkSync("loop", join(folder, "loop"));
    writeFileSync(join(folder, "livezone.yaml"), `zones: [zone.yaml, "${name}/*.yaml"]\n`);
    const loaded = loadConfig(join(folder, "livezone.yaml"));
    const all = "problems" in loaded ? loaded.problems : loaded.warnings;
    const found = all.filter(({ file }) => file.endsWith("livezone.yaml"));
    expect(found.map((problem) => problem.severity ?? "error")).toEqual([severity]);
    expect(found[0]?.message).toMatch(message);
  });
});

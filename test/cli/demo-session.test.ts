import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DEMO_ENDPOINT } from "../../src/demo/setup.js";
import { askForAddresses } from "../support/dns-client.js";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { describeWith, requireProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { demoArguments } from "./demo-arguments.js";

describeWith(["tmux"], "livezone demo on a terminal", () => {
  test("obeys keys and shows what the name answers", async () => {
    const { args, port } = await demoArguments();
    const folder = temporaryFolder();
    const tmux = (...words: readonly string[]) =>
      execFileSync(requireProgram("tmux"), ["-S", join(folder, "tmux.sock"), "-f", "/dev/null", ...words], {
        encoding: "utf8",
        env: { ...process.env, TERM: "xterm-256color" },
        stdio: ["ignore", "pipe", "pipe"],
      });
    // Its exit code in a file: tmux now and then misses that a program has ended.
    const codeFile = join(folder, "code");
    const command = ["sh", "-c", '"$@"; echo $? >"$0"', codeFile, process.execPath, LIVEZONE_MAIN, ...args];
    const demoFolder = temporaryFolder();
    const size = ["-x", "110", "-y", "40"];
    tmux("new-session", "-d", "-s", "demo", ...size, "-e", `TMPDIR=${demoFolder}`, ...command);
    onTestFinished(() => {
      // Already gone when the demo was its last window.
      try {
        tmux("kill-server");
      } catch {}
    });
    tmux("set-option", "-t", "demo", "remain-on-exit", "on");
    const screen = () => tmux("capture-pane", "-p", "-t", "demo");
    const shows = (pattern: RegExp) =>
      waitUntil(() => pattern.test(screen()), {
        everyMs: 50,
        describe: () => `${pattern} on the screen:\n${screen()}`,
      });
    const press = (key: string) => tmux("send-keys", "-t", "demo", key);

    await shows(/The name answers now: 127\.0\.0\.11 {2}127\.0\.0\.12 {2}127\.0\.0\.13/);
    expect(screen()).toMatch(/> 1 +cp1 +127\.0\.0\.11 +up .* running/);

    press("r");
    await shows(/^cp1 is running already\.$/m);
    press("x");
    await shows(/^That key does nothing here; \? says what the others do\.$/m);
    press("?");
    await shows(/^c: it is gone\. h: /m);
    expect(screen()).not.toContain("revived by you");
    expect(screen()).toMatch(/http:\/\/127\.0\.0\.1:\d+\/$/m);

    press("2");
    await shows(/> 2 +cp2/);
    press("c");
    await shows(/cp2 {2}left the answer after [\d.]+ m?s: .*refused/);
    expect(screen()).toMatch(/cp2 +127\.0\.0\.12 +down .* crashed/);
    expect(screen()).toMatch(/The name answers now: 127\.0\.0\.11 {2}127\.0\.0\.13/);
    expect(await askForAddresses({ server: "127.0.0.1", port, name: DEMO_ENDPOINT })).toEqual([
      "127.0.0.11",
      "127.0.0.13",
    ]);

    press("r");
    await shows(/cp2 {2}came into the answer after [\d.]+ m?s/);
    await shows(/The name answers now: 127\.0\.0\.11 {2}127\.0\.0\.12 {2}127\.0\.0\.13/);

    press("q");
    await waitUntil(() => existsSync(codeFile) && readFileSync(codeFile, "utf8") === "0\n");
    expect(readdirSync(demoFolder)).toEqual([]);
  });
});

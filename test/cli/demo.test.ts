import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { DEMO_ENDPOINT, DEMO_TARGETS } from "../../src/demo/setup.js";
import { askForAddresses } from "../support/dns-client.js";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { describeWith, requireProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { runLivezone } from "./run.js";

const ADDRESSES = DEMO_TARGETS.map(({ address }) => address);

/** A demo's arguments, on ports that are free, and the port of its DNS. */
async function demoArguments(): Promise<{ readonly args: readonly string[]; readonly port: number }> {
  const [port, http, apiserverPort] = [await freePort(), await freePort(), await freePort(...ADDRESSES)];
  const where = ["--listen", `127.0.0.1:${port}`, "--http", `127.0.0.1:${http}`];
  return { args: ["demo", ...where, "--apiserver-port", `${apiserverPort}`], port };
}

/** Ids of the processes that a process started and that have not ended; Linux only. */
function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statusOf(pid)?.parent === parent);
}

/** Undefined once a process has ended. */
function statusOf(pid: number): { readonly parent: number } | undefined {
  try {
    // pid (name) state parent ...; the name may hold anything.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return state === "Z" ? undefined : { parent: Number(parent) };
  } catch {
    return undefined;
  }
}

const describeOnLinux = process.platform === "linux" ? describe : describe.skip;

describeOnLinux("livezone demo without a terminal", () => {
  test("runs on, prints what happens, and leaves nothing behind at SIGTERM", async () => {
    const { args, port } = await demoArguments();
    const folder = temporaryFolder();
    const demo = await startProcess(process.execPath, [LIVEZONE_MAIN, ...args], {
      env: { TMPDIR: folder },
      readyWhen: /^livezone demo: try {2}dig /,
    });
    const ask = () => askForAddresses({ server: "127.0.0.1", port, name: DEMO_ENDPOINT });
    expect(await ask()).toEqual(ADDRESSES);
    expect(demo.stdout()).toMatch(/^livezone demo: or look at http:\/\/127\.0\.0\.1:\d+\/$/m);
    const [, socket = ""] = /^livezone demo: or {3}livezone status --admin (\S+)$/m.exec(demo.stdout()) ?? [];
    const status = await runLivezone(["status", "--admin", socket], { cwd: folder });
    expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining(DEMO_ENDPOINT) });
    expect(readdirSync(folder)).toHaveLength(1);
    const children = childrenOf(demo.pid);
    expect(children).toHaveLength(ADDRESSES.length);

    const [victim = 0] = children;
    process.kill(victim, "SIGKILL");
    await waitUntil(() => /^[\d:.]+ {2}cp\d {2}left the answer: .*refused/m.test(demo.stdout()), {
      describe: () => `the withdrawal in what the demo prints; that was:\n${demo.stdout()}`,
    });
    expect(await ask()).toHaveLength(ADDRESSES.length - 1);

    demo.signal("SIGTERM");
    expect(await demo.ended).toEqual({ code: 0, signal: null });
    expect(demo.stderr()).toBe("");
    expect(children.filter((child) => statusOf(child) !== undefined)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("leaves nothing behind when it is ended before it is ready", async () => {
    const { args } = await demoArguments();
    const folder = temporaryFolder();
    const demo = await startProcess(process.execPath, [LIVEZONE_MAIN, ...args], { env: { TMPDIR: folder } });
    await waitUntil(() => readdirSync(folder).length > 0, { everyMs: 2 });
    demo.signal("SIGTERM");
    expect(await demo.ended).toEqual({ code: 0, signal: null });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("says what to do when another demo has its ports", async () => {
    const { args } = await demoArguments();
    const cwd = temporaryFolder();
    await startProcess(process.execPath, [LIVEZONE_MAIN, ...args], { readyWhen: /^livezone demo: try/ });
    const { code, stderr } = await runLivezone(args, { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^livezone: .*127\.0\.0\.11:\d+.* in use; is another demo running\? .*--apiserver-port.*\n$/,
    );
  });
});

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

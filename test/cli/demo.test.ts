import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { DEMO_ENDPOINT } from "../../src/demo/setup.js";
import { askForAddresses } from "../support/dns-client.js";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { startProcess } from "../support/processes.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { ADDRESSES, demoArguments } from "./demo-arguments.js";
import { runLivezone } from "./run.js";

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
    const [, socket = ""] = /^livezone demo: or {3}node \S*main\.js status --admin (\S+)$/m.exec(demo.stdout()) ?? [];
    const status = await runLivezone(["status", "--admin", socket], { cwd: folder });
    expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining(DEMO_ENDPOINT) });
    expect(readdirSync(folder)).toHaveLength(1);
    const children = childrenOf(demo.pid);
    expect(children).toHaveLength(ADDRESSES.length);

    // What an operator does is no result of a probe.
    for (const [command, line] of [
      ["drain", /^[\d:.]+ {2}cp2 {2}left the answer: drained$/m],
      ["undrain", /^[\d:.]+ {2}cp2 {2}came into the answer$/m],
    ] as const) {
      await runLivezone([command, DEMO_ENDPOINT, "cp2", "--admin", socket], { cwd: folder });
      await waitUntil(() => line.test(demo.stdout()), {
        describe: () => `${command} in what the demo prints; that was:\n${demo.stdout()}`,
      });
    }

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

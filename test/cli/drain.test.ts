import { beforeAll, describe, expect, test } from "vitest";
import { statusSchema } from "../../src/admin/schemas.js";
import { type AdminServer, askAt, ENDPOINT, startAdminServer, targetRoute } from "../admin/server.js";
import { afterAllTests } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { startProcess } from "../support/processes.js";
import { describeWith, requireProgram } from "../support/programs.js";
import { waitUntil } from "../support/wait.js";
import { runIn } from "./in-process.js";
import { startStandIn } from "./stand-in.js";

const cleanup = afterAllTests();
let server: AdminServer;
beforeAll(async () => {
  server = await startAdminServer({ cleanup });
});

/** What sets a colour. */
const SGR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g");

const run = (...args: readonly string[]) => runIn(args, { cwd: server.livezone.folder });
const answered = () => askForAddresses({ server: "127.0.0.1", port: server.dns, name: ENDPOINT });
const undrain = () => run("undrain", ENDPOINT, "cp1");

describe("livezone drain", () => {
  test("withdraws at once, and says when the target can be stopped", async () => {
    const { code, stdout } = await run("drain", ENDPOINT, "cp1", "--reason", "kernel update");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^cp1 of \S+ is drained, and can be stopped from \d\d:\d\d:\d\d \(in 2 s\)\n! without stateDir, .*\n$/,
    );
    expect(await answered()).toEqual(["127.0.0.12"]);
    const status = await run("status");
    expect(status.stdout).toMatch(/cp1 +127\.0\.0\.11 +up +\d+ s +no +drained +kernel update \(\S+\) +\S/m);
    expect((await undrain()).stdout).toBe(`cp1 of ${ENDPOINT} is not drained any more; it is answered\n`);
    expect((await undrain()).stdout).toBe(`cp1 of ${ENDPOINT} was not drained; it is answered\n`);
    expect((await answered()).sort()).toEqual(["127.0.0.11", "127.0.0.12"]);
  });

  test("--wait returns when it is safe, not before", async () => {
    const startedMs = Date.now();
    const { code, stdout } = await run("drain", ENDPOINT, "cp1", "--wait");
    expect(code).toBe(0);
    expect(stdout).toMatch(/\ncp1 can be stopped now\n$/);
    // The TTL is 1 s; the rest is what was on its way.
    expect(Date.now() - startedMs).toBeGreaterThan(1_000);
    const detail = await askAt(server.socket, "GET", targetRoute("cp1"));
    const { safeAtMs, nowMs } = detail.json as { safeAtMs: number; nowMs: number };
    expect(safeAtMs).toBeLessThanOrEqual(nowMs);
    // Drained for long: nothing to wait for.
    const again = await run("drain", ENDPOINT, "cp1", "--wait");
    expect(again.stdout.replace(/^!.*\n/m, "")).toBe(
      `cp1 of ${ENDPOINT} is drained, and can be stopped now\ncp1 can be stopped now\n`,
    );
    await undrain();
  });

  test("--wait fails when somebody ends the drain meanwhile", async () => {
    const waiting = await startProcess(process.execPath, [LIVEZONE_MAIN, "drain", ENDPOINT, "cp1", "--wait"], {
      cwd: server.livezone.folder,
      readyWhen: /can be stopped from/,
    });
    await undrain();
    expect((await waiting.ended).code).toBe(1);
    expect(waiting.stderr()).toMatch(/^livezone: cp1 of \S+ is not drained any more: .*\[DRAIN_ENDED\]\n$/);
  });

  test("--wait fails when the target is answered all the same", async () => {
    const { code, stdout, stderr } = await run("drain", "solo.k8s.example.test", "cp1", "--force", "--wait");
    expect(code).toBe(1);
    expect(stdout).toContain("is drained, but answered still");
    expect(stderr).toContain("DRAIN_ANSWERED_STILL");
    await run("undrain", "solo.k8s.example.test", "cp1");
  });

  test("--for ends it by itself", async () => {
    const { code, stdout } = await run("drain", ENDPOINT, "cp1", "--for", "2s");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^cp1 of \S+ is drained until (\S+ )?\d\d:\d\d:\d\d, and can be stopped from /);
    await waitUntil(async () => (await answered()).length === 2);
    await server.livezone.waitForLog("override expired");
  });
});

describe("what else comes of a drain or a force", () => {
  const pair = "pair.k8s.example.test";

  test("is told: that it is not kept, that the endpoint fails open, and whom it brings back", async () => {
    expect((await run("drain", pair, "cp1", "--force")).stdout).toMatch(
      /\n! pair\S+ has too few targets up now, .*\n! without stateDir, this is not kept: cp1 .*\n$/,
    );
    const last = await run("drain", pair, "cp2", "--force");
    expect(last.stdout).toMatch(/\n! nothing else is left: cp1 is answered again, although an operator took it out\n/);
    await run("undrain", pair, "cp1");
    await run("undrain", pair, "cp2");
    expect((await run("force", "down", pair, "cp1", "--force")).stdout).toMatch(
      /^cp1 of \S+ is forced down; it is not answered\n! pair\S+ has too few targets up now/,
    );
    await run("unforce", pair, "cp1");
  });

  test("says nothing of what does not come", async () => {
    const kept = await startAdminServer({ main: "stateDir: state\n" });
    const { stdout } = await runIn(["drain", ENDPOINT, "cp1"], { cwd: kept.livezone.folder });
    expect(stdout).not.toContain("!");
  });
});

describe("livezone drain again", () => {
  test("keeps the reason that was given before", async () => {
    await run("drain", ENDPOINT, "cp1", "--reason", "kernel update");
    await run("drain", ENDPOINT, "cp1", "--for", "1h");
    expect((await run("status", ENDPOINT)).stdout).toMatch(/cp1 .* drained \(\d+ min left\) +kernel update \(\S+\) /m);
    await run("drain", ENDPOINT, "cp1", "--reason", "disk");
    expect((await run("status", ENDPOINT)).stdout).toMatch(/cp1 .* drained +disk \(\S+\) /m);
    await run("undrain", ENDPOINT, "cp1");
  });

  test("is refused when it would end before the target can be stopped", async () => {
    const { code, stdout, stderr } = await run("drain", ENDPOINT, "cp1", "--for", "1s");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^livezone: the drain would end after 1 s, but caches may hold cp1 for 2 s: .*\[DRAIN_TOO_SHORT\]\n$/,
    );
    expect((await answered()).sort()).toEqual(["127.0.0.11", "127.0.0.12"]);
  });

  test("--wait says that the drain ended by itself", async () => {
    const nowMs = Date.now();
    const targetNow = (expiresAtMs?: number) => ({
      id: "cp1",
      addresses: [],
      ...(expiresAtMs === undefined ? {} : { override: { kind: "drained", setAtMs: nowMs, expiresAtMs } }),
    });
    const base = { endpoint: ENDPOINT, nowMs };
    const { url } = await startStandIn({
      POST: { ...base, target: targetNow(nowMs + 50), changed: true, safeAtMs: nowMs + 100 },
      GET: { ...base, nowMs: nowMs + 60, target: targetNow(), history: [] },
    });
    const { code, stderr } = await run("drain", ENDPOINT, "cp1", "--wait", "--admin", url);
    expect(code).toBe(1);
    expect(stderr).toMatch(/is not drained any more: it ended by itself at .*, as --for said \[DRAIN_ENDED\]\n$/);
  });
});

describeWith(["script"], "on a terminal", () => {
  /** Runs a command on a terminal of its own, and returns everything it wrote there. */
  async function onTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const command = [process.execPath, LIVEZONE_MAIN, ...args].map((word) => `'${word}'`).join(" ");
    const running = await startProcess(
      requireProgram("script"),
      ["--quiet", "--return", "--command", `stty cols 90 rows 12; ${command}`, "/dev/null"],
      { cwd: server.livezone.folder, env: { TERM: "xterm", ...env } },
    );
    const { code } = await running.ended;
    return { code, text: running.stdout() };
  }

  test("drain --wait shows the time that is left, and clears the line", async () => {
    const { code, text } = await onTerminal(["drain", ENDPOINT, "cp1", "--wait"]);
    expect(code).toBe(0);
    const steps = text.split("\x1b[K").map((step) => step.replaceAll(SGR, ""));
    expect(steps.some((step) => /^1\.\d s until no cache can hold cp1/.test(step))).toBe(true);
    expect(steps.at(-1)).toMatch(/^cp1 can be stopped now/);
    await undrain();
  });

  test("status has colours, leaves out what repeats and fits the width", async () => {
    await run("drain", ENDPOINT, "cp1", "--reason", "x".repeat(100));
    const { text } = await onTerminal(["status"]);
    expect(text).toContain("\x1b[32mup\x1b[0m");
    const plain = text.replaceAll(SGR, "").split(/\r?\n/);
    expect(plain.filter((line) => line.length > 90)).toEqual([]);
    expect(plain.filter((line) => line.startsWith(ENDPOINT))).toHaveLength(1);
    expect(plain.some((line) => line.endsWith("…"))).toBe(true);
    await undrain();
  });

  test("NO_COLOR takes the colours away", async () => {
    const { text } = await onTerminal(["status"], { NO_COLOR: "1" });
    expect(text).toContain("cp1");
    expect(text).not.toContain("\x1b[");
  });
});

describe("livezone status --watch", () => {
  test("prints one line of JSON for each change", async () => {
    const lines: string[] = [];
    const watching = await startProcess(process.execPath, [LIVEZONE_MAIN, "status", "--watch", "--json"], {
      cwd: server.livezone.folder,
      onLine: (line) => lines.push(line),
      readyWhen: () => lines.length === 1,
    });
    await run("drain", ENDPOINT, "cp1");
    await waitUntil(() => lines.length >= 2);
    const last = statusSchema.parse(JSON.parse(lines.at(-1) ?? ""));
    expect(last.zones[0]?.endpoints[0]?.targets[0]?.override?.kind).toBe("drained");
    await undrain();
    await waitUntil(() => lines.length >= 3);
    watching.signal("SIGINT");
    expect((await watching.ended).code).toBe(0);
    expect(watching.stderr()).toBe("");
  });

  test("outlives a restart of the server, and says that it waits", async () => {
    const other = await startAdminServer();
    const lines: string[] = [];
    const watching = await startProcess(process.execPath, [LIVEZONE_MAIN, "status", "--watch", "--json"], {
      cwd: other.livezone.folder,
      onLine: (line) => lines.push(line),
      readyWhen: () => lines.length === 1,
    });
    await other.livezone.stop();
    await waitUntil(() => watching.stderr().includes("waiting for it"));
    const before = lines.length;
    await startProcess(process.execPath, [LIVEZONE_MAIN, "serve", "--config", "livezone.yaml"], {
      cwd: other.livezone.folder,
      readyWhen: /"msg":"ready"/,
    });
    await waitUntil(() => lines.length > before, { describe: "a line from the new server" });
    const [first, last] = [lines[0], lines.at(-1)].map((line) => statusSchema.parse(JSON.parse(line ?? "")));
    expect(last?.startedMs).toBeGreaterThan(first?.startedMs ?? 0);
    watching.signal("SIGTERM");
    expect((await watching.ended).code).toBe(0);
    expect(watching.stderr().match(/waiting for it/g)).toHaveLength(1);
  });
});

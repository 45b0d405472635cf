import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { ProbeConfig } from "../../../src/config/config.js";
import { createProbeFiles } from "../../../src/health/probes/files.js";
import { createRunProbe, probeKey } from "../../../src/health/probes/probe.js";
import { systemClock } from "../../../src/lib/clock.js";
import { temporaryFolder } from "../../support/temp.js";
import { waitUntil } from "../../support/wait.js";

const run = createRunProbe(systemClock, createProbeFiles());
const TARGET = { address: "192.0.2.11", fqdn: "api.k8s.example.com", target: "cp1" };

function exec(command: readonly string[], timeoutMs = 10_000): ProbeConfig {
  return { type: "exec", command, port: 6443, intervalMs: 20_000, timeoutMs, recheckMs: 1000, rise: 2, fall: 3 };
}

const shell = (script: string, timeoutMs?: number) => exec(["/bin/sh", "-c", script], timeoutMs);
const probe = (config: ProbeConfig) => run(TARGET, config);

/** Whether a process exists and is no zombie that waits for init. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s*[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("an exec probe", () => {
  test.each([
    { name: "passes with exit code 0", script: "exit 0", class: "ok", reason: "exit code 0" },
    { name: "shows what the program said", script: "echo one; echo two", class: "ok", reason: "exit code 0: two" },
    {
      name: "takes exit code 1 for not ready",
      script: "echo etcd lost >&2; exit 1",
      class: "not-ready",
      reason: "exit code 1: etcd lost",
    },
    { name: "does not understand other codes", script: "exit 3", class: "malformed-response", reason: "exit code 3" },
    {
      name: "does not understand a program that is killed",
      script: "kill -TERM $$",
      class: "malformed-response",
      reason: "ended by SIGTERM",
    },
    {
      name: "makes what was said printable",
      script: "printf 'a\\033[31mb\\n'",
      class: "ok",
      reason: "exit code 0: a [31mb",
    },
  ])("$name", async ({ script, class: resultClass, reason }) => {
    expect(await probe(shell(script))).toMatchObject({ class: resultClass, reason });
  });

  test("tells the program its target, and nothing that is livezone's own business", async () => {
    const file = `${temporaryFolder()}/environment`;
    process.env.LIVEZONE_SECRET_OF_THIS_TEST = "secret";
    await probe(exec(["/bin/sh", "-c", 'env > "$0"', file], 5000));
    delete process.env.LIVEZONE_SECRET_OF_THIS_TEST;
    const environment = readFileSync(file, "utf8").split("\n").sort();
    expect(environment).toEqual(
      expect.arrayContaining([
        "LIVEZONE_ENDPOINT=api.k8s.example.com",
        "LIVEZONE_TARGET=cp1",
        "LIVEZONE_ADDRESS=192.0.2.11",
        "LIVEZONE_PORT=6443",
        "LIVEZONE_TIMEOUT_MS=5000",
      ]),
    );
    expect(environment.join("\n")).not.toContain("secret");
  });

  test("gives arguments as they are: there is no shell", async () => {
    expect(await probe(exec(["echo", "$HOME; exit 1", "*"]))).toMatchObject({
      class: "ok",
      reason: "exit code 0: $HOME; exit 1 *",
    });
  });

  test("that cannot be run says nothing of the target", async () => {
    expect(await probe(exec(["/nowhere/program"]))).toMatchObject({
      class: "unreachable",
      reason: expect.stringMatching(/^the program could not be run: .*ENOENT/),
    });
  });

  test("kills at the timeout what it started, and what that started", async () => {
    const file = `${temporaryFolder()}/pids`;
    const script = 'sleep 60 & echo $$ $! > "$0"; wait';
    const found = await probe(exec(["/bin/sh", "-c", script, file], 1000));
    expect(found).toMatchObject({ class: "timeout", reason: "no end of /bin/sh within 1 s" });
    const pids = readFileSync(file, "utf8").trim().split(" ").map(Number);
    expect(pids).toHaveLength(2);
    await waitUntil(() => !pids.some(isAlive), { describe: () => `${pids.filter(isAlive)} to end` });
  });

  test("does not wait for what the program left behind, and ends that too", async () => {
    const file = `${temporaryFolder()}/pid`;
    const found = await probe(exec(["/bin/sh", "-c", 'sleep 60 & echo $! > "$0"; exit 0', file]));
    expect(found).toMatchObject({ class: "ok" });
    const pid = Number(readFileSync(file, "utf8"));
    await waitUntil(() => !isAlive(pid));
  });

  test("keeps little of an output without end", async () => {
    const found = await probe(shell("yes 0123456789012345678901234567890123456789", 1500));
    expect(found.class).toBe("timeout");
    expect(found.reason.length).toBeLessThanOrEqual(200);
  });

  test("is ended when it is not wanted any more", async () => {
    const file = `${temporaryFolder()}/pid`;
    const controller = new AbortController();
    const result = run(TARGET, exec(["/bin/sh", "-c", 'echo $$ > "$0"; exec sleep 60', file]), controller.signal);
    const pid = await waitUntil(() => Number(readFileSync(file, "utf8")));
    controller.abort();
    await result;
    await waitUntil(() => !isAlive(pid));
    await sleep(0);
  });

  test("is not shared between targets: each program is told its own", () => {
    const config = shell("exit 0");
    expect(probeKey(TARGET, config)).not.toBe(probeKey({ ...TARGET, target: "cp2" }, config));
    expect(probeKey(TARGET, config)).not.toBe(probeKey({ ...TARGET, fqdn: "other" }, config));
    expect(probeKey(TARGET, config)).toBe(probeKey({ ...TARGET }, { ...config, fall: 9 }));
  });
});

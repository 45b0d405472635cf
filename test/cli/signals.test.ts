import { beforeAll, describe, expect, test } from "vitest";
import { startTargets } from "../app/targets.js";
import { afterAllTests, afterThisTest, type Cleanup } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";

const ENDPOINT = "api.k8s.example.test";

/** Signals that mean nothing to a server. */
const IGNORED = [
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGVTALRM",
  "SIGPROF",
  "SIGIO",
  "SIGPWR",
  "SIGSTKFLT",
  "SIGXFSZ",
] as const;

/** Those that do nothing to any process that does not ask for them. */
const HARMLESS = ["SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGPIPE"] as const;

async function start(options: { readonly hold?: boolean; readonly cleanup?: Cleanup } = {}) {
  const { hold = false, cleanup = afterThisTest } = options;
  const dns = await freePort();
  const { port, targets } = await startTargets([hold ? "hold" : "ready", hold ? "hold" : "ready"], cleanup);
  const livezone = await startLivezone({
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${dns}"]\nzones: [zones/*.yaml]\n`,
      "zones/k8s.yaml": `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${port}
    targets: { ${targets.map(({ id, address }) => `${id}: ${address}`).join(", ")} }
    probe: { type: http, interval: 20s, timeout: 20s, tripwire: false }
`,
    },
    awaitReady: !hold,
    cleanup,
  });
  if (hold) await livezone.waitForLog("server started");
  return { livezone, targets, ask: () => askForAddresses({ server: "127.0.0.1", port: dns, name: ENDPOINT }) };
}

/** Sends a signal that is to be ignored, and waits for the line that says so. */
async function sendIgnored(livezone: RunningLivezone, signal: (typeof IGNORED)[number]): Promise<void> {
  livezone.signal(signal);
  await livezone.waitForLog("signal ignored", (line) => line.signal === signal);
}

describe("a server", () => {
  const cleanup = afterAllTests();
  let running: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    running = await start({ cleanup });
  });

  test.each(IGNORED)("ignores %s with a line in the log, and goes on answering", async (signal) => {
    await sendIgnored(running.livezone, signal);
    expect(await running.ask()).toHaveLength(2);
  });

  test.each(HARMLESS)("takes no notice of %s", async (signal) => {
    running.livezone.signal(signal);
    expect(await running.ask()).toHaveLength(2);
    expect(running.livezone.logs("stopping")).toEqual([]);
  });

  test("opens no debugger, whatever signal it has got", () => {
    expect(running.livezone.stderr()).not.toMatch(/debugger/i);
    expect(running.livezone.logs("Node's debugger is open")).toEqual([]);
  });
});

describe("a server that is starting", () => {
  test("ignores what it ignores later, reloads on SIGHUP, and gets ready", async () => {
    const { livezone, targets } = await start({ hold: true });
    for (const signal of IGNORED) await sendIgnored(livezone, signal);
    livezone.signal("SIGHUP");
    await livezone.waitForLog("configuration reloaded");
    for (const target of targets) target.release();
    await livezone.waitForLog("ready");
  });

  test.each(["SIGTERM", "SIGINT", "SIGQUIT"] as const)("ends with code 0 by %s", async (signal) => {
    const { livezone } = await start({ hold: true });
    livezone.signal(signal);
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
    expect(livezone.logs("stopping")).toMatchObject([{ signal }]);
    expect(livezone.logs("ready")).toEqual([]);
  });
});

describe("a server that is stopping", () => {
  test("ignores every signal, also those that ask it to stop or to reload", async () => {
    const { livezone } = await start();
    livezone.signal("SIGQUIT");
    await livezone.waitForLog("stopping");
    for (const signal of [...IGNORED, "SIGHUP", "SIGTERM", "SIGINT", "SIGQUIT"] as const) livezone.signal(signal);
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
    expect(livezone.logs("stopping")).toHaveLength(1);
    expect(livezone.logs("configuration reloaded")).toEqual([]);
  });
});

test("NODE_OPTIONS that opens the debugger is warned of", async () => {
  const dns = await freePort();
  const livezone = await startLivezone({
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${dns}"]\nzones: [zone.yaml]\n`,
      "zone.yaml": "zone: k8s.example.test\nnameservers: { ns1: 192.0.2.53 }\n",
    },
    env: { NODE_OPTIONS: "--inspect=127.0.0.1:0" },
  });
  const [line] = await waitUntil(() => {
    const lines = livezone.logs("Node's debugger is open");
    return lines.length > 0 ? lines : undefined;
  });
  expect(line).toMatchObject({
    nodeOptions: "--inspect=127.0.0.1:0",
    url: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:/),
  });
});

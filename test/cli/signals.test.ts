import { constants } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { loadBatch } from "../../src/transport/batch/load.js";
import { connectTcp, startTargets, zoneOf } from "../app/targets.js";
import { afterAllTests, afterThisTest, type Cleanup } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
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

/** Those that ask a server to stop. */
const STOPPING = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;

/** Those that end a process with a crash, or because of a limit that somebody has set. */
const ENDING = ["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP", "SIGXCPU"] as const;

/** Those that pause a process until SIGCONT. */
const PAUSING = ["SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"] as const;

interface Options {
  /** Whether the targets give no answer until they are released. */
  readonly hold?: boolean;
  readonly cleanup?: Cleanup;
}

/** Files of a server with two targets, and where it answers. */
async function makePlace({ hold = false, cleanup = afterThisTest }: Options) {
  const dns = await freePort();
  const { port, targets } = await startTargets([hold ? "hold" : "ready", hold ? "hold" : "ready"], cleanup);
  const socket = join(temporaryFolder(cleanup), "admin.sock");
  return {
    dns,
    targets,
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${dns}"]\nadmin: { socket: ${socket} }\nzones: [zones/*.yaml]\n`,
      "zones/k8s.yaml": zoneOf({ port, targets }, "interval: 20s, timeout: 20s, tripwire: false"),
    },
    ask: () => askForAddresses({ server: "127.0.0.1", port: dns, name: ENDPOINT }),
  };
}

async function start(options: Options = {}) {
  const { hold = false, cleanup = afterThisTest } = options;
  const place = await makePlace(options);
  const livezone = await startLivezone({ files: place.files, awaitReady: !hold, cleanup });
  if (hold) await livezone.waitForLog("server started");
  return { ...place, livezone };
}

test("every signal of the system has its place here", () => {
  const placed = ["SIGHUP", "SIGKILL", ...IGNORED, ...HARMLESS, ...STOPPING, ...ENDING, ...PAUSING];
  // Other names of SIGABRT and SIGIO.
  const known = Object.keys(constants.signals).filter((name) => !["SIGIOT", "SIGPOLL"].includes(name));
  expect(known.filter((name) => !placed.includes(name))).toEqual([]);
});

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

  test.each(PAUSING)("goes on where it was after %s and SIGCONT", async (signal) => {
    running.livezone.signal(signal);
    running.livezone.signal("SIGCONT");
    expect(await running.ask()).toHaveLength(2);
  });

  test("opens no debugger, whatever signal it has got", () => {
    expect(running.livezone.stderr()).not.toMatch(/debugger/i);
    expect(running.livezone.logs("Node's debugger is open")).toEqual([]);
  });
});

describe.each(ENDING)("%s", (signal) => {
  test("ends a server, as it ends any process, and the next one can start at once", async () => {
    const { livezone, files, ask } = await start();
    livezone.signal(signal);
    expect(await livezone.ended).toEqual({ code: null, signal });
    await startLivezone({ files });
    expect(await ask()).toHaveLength(2);
  });
});

/** A zone whose reload takes some time. */
const LONG_ZONE = `zone: long.example.test
nameservers: { ns1: 192.0.2.53 }
records: |
${Array.from({ length: 20_000 }, (_, index) => `  n${index} 300 IN A 192.0.2.1\n`).join("")}`;

describe("a server that reloads", () => {
  test("ignores what it always ignores, and reloads once more for SIGHUP", async () => {
    const { livezone, ask } = await start();
    livezone.write("zones/long.yaml", LONG_ZONE);
    for (const signal of ["SIGHUP", ...IGNORED, ...HARMLESS, "SIGHUP", "SIGHUP"] as const) livezone.signal(signal);
    for (const signal of IGNORED) await livezone.waitForLog("signal ignored", (line) => line.signal === signal);
    await waitUntil(() => livezone.logs("configuration reloaded").length === 2, { timeoutMs: 20_000 });
    expect(await ask()).toHaveLength(2);
  });

  test.each(STOPPING)("ends with code 0 by %s", async (signal) => {
    const { livezone } = await start();
    livezone.write("zones/long.yaml", LONG_ZONE);
    livezone.signal("SIGHUP");
    livezone.signal(signal);
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
    expect(livezone.logs("stopping")).toMatchObject([{ signal }]);
  });
});

describe.skipIf(loadBatch().transport === undefined)("a takeover", () => {
  /** A server that leaves its port to a successor, which takes as long as a client of TCP stays: 3 s. */
  async function startLeaving() {
    const place = await makePlace({});
    const before = await startLivezone({ files: place.files });
    const { socket } = await connectTcp(place.dns);
    // A part of a query: the rest is waited for.
    socket.write(Buffer.from([0, 40]));
    const successor = await startLivezone({ files: place.files, args: ["--takeover"], awaitReady: false });
    await before.waitForLog("leaving the port to a successor");
    return { ...place, before, successor, letGo: () => socket.destroy() };
  }

  test("goes on while both get every signal that is ignored", async () => {
    const { before, successor, ask, letGo } = await startLeaving();
    for (const signal of [...IGNORED, ...HARMLESS]) {
      before.signal(signal);
      successor.signal(signal);
    }
    for (const signal of IGNORED) {
      for (const one of [before, successor]) await one.waitForLog("signal ignored", (line) => line.signal === signal);
    }
    letGo();
    expect(await before.ended).toEqual({ code: 0, signal: null });
    await successor.waitForLog("ready");
    expect(await ask()).toHaveLength(2);
  });

  test("goes on while both are asked to reload: the successor does, the one that leaves does not", async () => {
    const { before, successor, ask, letGo } = await startLeaving();
    before.signal("SIGHUP");
    successor.signal("SIGHUP");
    await successor.waitForLog("configuration reloaded");
    letGo();
    expect(await before.ended).toEqual({ code: 0, signal: null });
    await successor.waitForLog("ready");
    expect(before.logs("configuration reloaded")).toEqual([]);
    expect(await ask()).toHaveLength(2);
  });

  test.each(STOPPING)("goes on when the one that leaves is asked to stop by %s", async (signal) => {
    const { before, successor, ask } = await startLeaving();
    before.signal(signal);
    expect(await before.ended).toEqual({ code: 0, signal: null });
    await successor.waitForLog("ready");
    expect(await ask()).toHaveLength(2);
  });

  test("goes on when the one that leaves is killed", async () => {
    const { before, successor, ask } = await startLeaving();
    before.signal("SIGKILL");
    await successor.waitForLog("ready");
    expect(successor.logs("the server before is gone without saying")).toHaveLength(1);
    expect(await ask()).toHaveLength(2);
  });

  test.each(STOPPING)("ends both when %s stops the successor that has the port already", async (signal) => {
    const { before, successor } = await startLeaving();
    successor.signal(signal);
    expect(await successor.ended).toEqual({ code: 0, signal: null });
    expect(await before.ended).toEqual({ code: 0, signal: null });
    expect(successor.logs("took the port over")).toEqual([]);
  });

  test.each([...STOPPING, "SIGKILL"] as const)(
    "leaves the server alone when %s ends the successor before it has the port",
    async (signal) => {
      const { files, targets, ask } = await makePlace({ hold: true });
      for (const target of targets) target.behaviour = "ready";
      const before = await startLivezone({ files });
      for (const target of targets) target.behaviour = "hold";
      const successor = await startLivezone({ files, args: ["--takeover"], awaitReady: false });
      await successor.waitForLog("server started");
      for (const ignored of IGNORED) await sendIgnored(successor, ignored);
      successor.signal("SIGHUP");
      await successor.waitForLog("configuration reloaded");
      successor.signal(signal);
      await successor.ended;
      expect(before.logs("leaving the port to a successor")).toEqual([]);
      expect(await ask()).toHaveLength(2);
    },
  );
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

  test.each(STOPPING)("ends with code 0 by %s", async (signal) => {
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

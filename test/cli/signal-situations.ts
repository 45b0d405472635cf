import { join } from "node:path";
import { expect } from "vitest";
import { connectTcp, startTargets, zoneOf } from "../app/targets.js";
import { afterThisTest, type Cleanup } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

const ENDPOINT = "api.k8s.example.test";

/** Signals that mean nothing to a server. */
export const IGNORED = [
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
export const HARMLESS = ["SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGPIPE"] as const;

/** Those that ask a server to stop. */
export const STOPPING = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;

/** Those that end a process with a crash, or because of a limit that somebody has set. */
export const ENDING = ["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP", "SIGXCPU"] as const;

/** Those that pause a process until SIGCONT. */
export const PAUSING = ["SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"] as const;

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

/** A server that is ready, or that waits for its targets. */
export async function start(options: Options = {}) {
  const { hold = false, cleanup = afterThisTest } = options;
  const place = await makePlace(options);
  const livezone = await startLivezone({ files: place.files, awaitReady: !hold, cleanup });
  if (hold) await livezone.waitForLog("server started");
  return { ...place, livezone };
}

/** Sends a signal that is to be ignored, and waits for the line that says so. */
export async function sendIgnored(livezone: RunningLivezone, signal: (typeof IGNORED)[number]): Promise<void> {
  livezone.signal(signal);
  await livezone.waitForLog("signal ignored", (line) => line.signal === signal);
}

/** A zone whose reload takes some time. */
const LONG_ZONE = `zone: long.example.test
nameservers: { ns1: 192.0.2.53 }
records: |
${Array.from({ length: 20_000 }, (_, index) => `  n${index} 300 IN A 192.0.2.1\n`).join("")}`;

/** A signal ends a server, as it ends any process, and the next one can start at once. */
export async function endAndStartAgain(signal: NodeJS.Signals): Promise<void> {
  const { livezone, files, ask } = await start();
  livezone.signal(signal);
  expect(await livezone.ended).toEqual({ code: null, signal });
  await startLivezone({ files });
  expect(await ask()).toHaveLength(2);
}

/** A server that reloads ignores what it always ignores, and reloads once more for SIGHUP. */
export async function signalWhileItReloads(): Promise<void> {
  const { livezone, ask } = await start();
  livezone.write("zones/long.yaml", LONG_ZONE);
  for (const signal of ["SIGHUP", ...IGNORED, ...HARMLESS, "SIGHUP", "SIGHUP"] as const) livezone.signal(signal);
  for (const signal of IGNORED) await livezone.waitForLog("signal ignored", (line) => line.signal === signal);
  await waitUntil(() => livezone.logs("configuration reloaded").length === 2, { timeoutMs: 20_000 });
  expect(await ask()).toHaveLength(2);
}

/** A server that reloads ends with code 0. */
export async function stopWhileItReloads(signal: NodeJS.Signals): Promise<void> {
  const { livezone } = await start();
  livezone.write("zones/long.yaml", LONG_ZONE);
  livezone.signal("SIGHUP");
  livezone.signal(signal);
  expect(await livezone.ended).toEqual({ code: 0, signal: null });
  expect(livezone.logs("stopping")).toMatchObject([{ signal }]);
}

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

/** A takeover goes on while both servers get every signal that is ignored. */
export async function ignoreWhileItIsTakenOver(): Promise<void> {
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
}

/** In a takeover, the successor reloads and the one that leaves does not. */
export async function reloadWhileItIsTakenOver(): Promise<void> {
  const { before, successor, ask, letGo } = await startLeaving();
  before.signal("SIGHUP");
  successor.signal("SIGHUP");
  await successor.waitForLog("configuration reloaded");
  letGo();
  expect(await before.ended).toEqual({ code: 0, signal: null });
  await successor.waitForLog("ready");
  expect(before.logs("configuration reloaded")).toEqual([]);
  expect(await ask()).toHaveLength(2);
}

/** A takeover goes on when the one that leaves is asked to stop. */
export async function stopTheLeaving(signal: NodeJS.Signals): Promise<void> {
  const { before, successor, ask } = await startLeaving();
  before.signal(signal);
  expect(await before.ended).toEqual({ code: 0, signal: null });
  await successor.waitForLog("ready");
  expect(await ask()).toHaveLength(2);
}

/** A takeover goes on when the one that leaves is killed. */
export async function killTheLeaving(): Promise<void> {
  const { before, successor, ask } = await startLeaving();
  before.signal("SIGKILL");
  await successor.waitForLog("ready");
  expect(successor.logs("the server before is gone without saying")).toHaveLength(1);
  expect(await ask()).toHaveLength(2);
}

/** Both end when the successor that has the port already is stopped. */
export async function stopTheSuccessor(signal: NodeJS.Signals): Promise<void> {
  const { before, successor } = await startLeaving();
  successor.signal(signal);
  expect(await successor.ended).toEqual({ code: 0, signal: null });
  expect(await before.ended).toEqual({ code: 0, signal: null });
  expect(successor.logs("took the port over")).toEqual([]);
}

/** The server stays alone when the successor ends before it has the port. */
export async function endTheSuccessorEarly(signal: NodeJS.Signals): Promise<void> {
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
}

/** A server that is starting ignores what it ignores later, reloads on SIGHUP, and gets ready. */
export async function signalWhileItStarts(): Promise<void> {
  const { livezone, targets } = await start({ hold: true });
  for (const signal of IGNORED) await sendIgnored(livezone, signal);
  livezone.signal("SIGHUP");
  await livezone.waitForLog("configuration reloaded");
  for (const target of targets) target.release();
  await livezone.waitForLog("ready");
}

/** A server that is starting ends with code 0. */
export async function stopWhileItStarts(signal: NodeJS.Signals): Promise<void> {
  const { livezone } = await start({ hold: true });
  livezone.signal(signal);
  expect(await livezone.ended).toEqual({ code: 0, signal: null });
  expect(livezone.logs("stopping")).toMatchObject([{ signal }]);
  expect(livezone.logs("ready")).toEqual([]);
}

/** A server that is stopping ignores every signal, also those that ask it to stop or to reload. */
export async function signalWhileItStops(): Promise<void> {
  const { livezone } = await start();
  livezone.signal("SIGQUIT");
  await livezone.waitForLog("stopping");
  for (const signal of [...IGNORED, "SIGHUP", "SIGTERM", "SIGINT", "SIGQUIT"] as const) livezone.signal(signal);
  expect(await livezone.ended).toEqual({ code: 0, signal: null });
  expect(livezone.logs("stopping")).toHaveLength(1);
  expect(livezone.logs("configuration reloaded")).toEqual([]);
}

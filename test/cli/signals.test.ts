import { constants } from "node:os";
import { beforeAll, describe, expect, test } from "vitest";
import { loadBatch } from "../../src/transport/batch/load.js";
import { afterAllTests } from "../support/cleanup.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";
import * as situations from "./signal-situations.js";
import { ENDING, HARMLESS, IGNORED, PAUSING, STOPPING, sendIgnored, start } from "./signal-situations.js";

test("every signal of the system has its place here", () => {
  const placed = ["SIGHUP", "SIGKILL", ...IGNORED, ...HARMLESS, ...STOPPING, ...ENDING, ...PAUSING];
  // Other names of SIGABRT and SIGIO.
  const known = Object.keys(constants.signals).filter((name) => !["SIGIOT", "SIGPOLL"].includes(name));
  expect(known.filter((name) => !placed.includes(name))).toEqual([]);
});

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

// Of the signals that end a server in the same way, some; signals.long.test.ts has them all.
describe("a server on its own", () => {
  test.concurrent.for(["SIGABRT", "SIGXCPU"] as const)(
    "is ended by %s, and the next one can start at once",
    situations.endAndStartAgain,
  );

  test.concurrent.for([
    ["reloads", situations.signalWhileItReloads],
    ["starts", situations.signalWhileItStarts],
    ["stops", situations.signalWhileItStops],
  ] as const)("ignores what it always ignores while it %s", ([, situation]) => situation());

  test.concurrent.for([
    ["reloads", "SIGTERM", situations.stopWhileItReloads],
    ["starts", "SIGINT", situations.stopWhileItStarts],
  ] as const)("ends with code 0 while it %s by %s", ([, signal, situation]) => situation(signal));
});

describe.skipIf(loadBatch().transport === undefined)("a takeover", () => {
  test.concurrent.for([
    ["goes on while both get every signal that is ignored", situations.ignoreWhileItIsTakenOver],
    ["goes on while both are asked to reload: the successor does", situations.reloadWhileItIsTakenOver],
    ["goes on when the one that leaves is killed", situations.killTheLeaving],
  ] as const)("%s", ([, situation]) => situation());

  test.concurrent.for([
    ["goes on when the one that leaves is asked to stop", "SIGTERM", situations.stopTheLeaving],
    ["ends both when the successor that has the port is stopped", "SIGQUIT", situations.stopTheSuccessor],
    ["leaves the server alone when its successor ends early", "SIGKILL", situations.endTheSuccessorEarly],
    ["leaves the server alone when its successor ends early", "SIGINT", situations.endTheSuccessorEarly],
  ] as const)("%s: %s", ([, signal, situation]) => situation(signal));
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

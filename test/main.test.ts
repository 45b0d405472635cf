import { describe, expect, test } from "vitest";
import { configurationFiles, runLivezone } from "./cli/run.js";
import { startLivezone } from "./support/livezone.js";
import { freePort } from "./support/ports.js";
import { temporaryFolder } from "./support/temp.js";

describe("the program ends with the code of its command", () => {
  test.each([
    { args: ["--version"], code: 0 },
    { args: ["check", "--config", "absent.yaml"], code: 1 },
    { args: ["unheard-of"], code: 2 },
  ])("$args: $code", async ({ args, code }) => {
    expect((await runLivezone(args, { cwd: temporaryFolder() })).code).toBe(code);
  });
});

test("a server takes SIGHUP, SIGUSR1 and SIGTERM as its own from the start", async () => {
  const files = configurationFiles(`127.0.0.1:${await freePort()}`);
  const livezone = await startLivezone({ files, awaitReady: false });
  await livezone.waitForLog("server started");
  livezone.signal("SIGUSR1");
  livezone.signal("SIGHUP");
  await livezone.waitForLog("configuration reloaded");
  livezone.signal("SIGTERM");
  expect(await livezone.ended).toEqual({ code: 0, signal: null });
  // Node says so where it opens its debugger.
  expect(livezone.stderr()).not.toContain("Debugger listening");
});

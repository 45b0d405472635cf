import { expect, test } from "vitest";
import type { Config } from "../../src/config/config.js";
import { pendingSettings } from "../../src/server/restart-only-settings.js";

const STARTED: Config = {
  file: "livezone.yaml",
  listen: [],
  listenPositions: [],
  freebind: false,
  workers: 1,
  admin: { http: { address: "127.0.0.1", port: 9853 }, hostNames: ["a", "b"] },
  watch: false,
  log: { level: "info" },
  queries: {} as Config["queries"],
  transfer: { keys: [] },
  zones: [],
};

test("what only a start takes is named, with what runs and what waits", () => {
  const now: Config = { ...STARTED, workers: 4, stateDir: "/state", admin: { hostNames: ["a", "b"] }, watch: true };
  expect(pendingSettings(STARTED, now)).toEqual([
    { setting: "admin.http", running: "127.0.0.1:9853" },
    { setting: "stateDir", configured: "/state" },
    { setting: "workers", running: "1", configured: "4" },
  ]);
  expect(pendingSettings(STARTED, { ...STARTED, listen: [{ address: "127.0.0.1", port: 53 }] })).toEqual([]);
});

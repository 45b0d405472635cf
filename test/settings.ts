import type { ViteUserConfig } from "vitest/config";
import { countReporter } from "./count-reporter.js";

/** Tests that need long real time: `npm run test:long` runs them, `npm test` does not. */
export const LONG_TESTS = "test/**/*.long.test.ts";

/** How both commands run their tests. */
export const settings = {
  globalSetup: ["test/global-setup.ts"],
  setupFiles: ["test/setup.ts"],
  reporters: ["default", countReporter()],
  // Processes, not threads: tests change signals, environment and working directory.
  pool: "forks",
  // Tests start real resolvers and servers; more at once than this and they starve one another on a small machine.
  maxWorkers: 2,
  // The same holds for tests of one file that run at the same time.
  maxConcurrency: 3,
  // On a shared machine that stops for a second, a test with real processes may miss a deadline. It gets one more try,
  // and the report names it ("retry x1"). A fault of the program fails twice.
  retry: process.env.CI === undefined ? 0 : 1,
  // No judgement on speed: a machine that many share may take this long.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  teardownTimeout: 10_000,
  restoreMocks: true,
  unstubEnvs: true,
} as const satisfies ViteUserConfig["test"];

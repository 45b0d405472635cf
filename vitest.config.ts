import { defineConfig } from "vitest/config";
import { countReporter } from "./test/count-reporter.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/global-setup.ts"],
    reporters: ["default", countReporter()],
    // Processes, not threads: tests change signals, environment and working directory.
    pool: "forks",
    // Tests start real resolvers and servers; more at once than this and they starve one another on a small machine.
    maxWorkers: 2,
    // On a shared machine that stops for a second, a test with real processes may miss a deadline. It gets one more try,
    // and the report names it ("retry x1"). A fault of the program fails twice.
    retry: process.env.CI === undefined ? 0 : 1,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    restoreMocks: true,
    unstubEnvs: true,
  },
});

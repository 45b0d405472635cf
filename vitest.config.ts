import { defineConfig } from "vitest/config";
import { LONG_TESTS, settings } from "./test/settings.js";

export default defineConfig({
  test: { ...settings, include: ["test/**/*.test.ts"], exclude: [LONG_TESTS] },
});

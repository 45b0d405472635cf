import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createLogger } from "../../src/lib/logger.js";
import { temporaryFolder } from "../support/temp.js";

test("on a terminal an event is one line, lists and all", () => {
  vi.stubEnv("NO_COLOR", "1");
  const file = join(temporaryFolder(), "log");
  const fd = openSync(file, "w");
  createLogger({ pretty: true, destination: { fd } }).info({ listen: ["127.0.0.1:53", "[::1]:53"] }, "server started");
  closeSync(fd);
  expect(readFileSync(file, "utf8")).toMatch(
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: server started \{"listen":\["127\.0\.0\.1:53","\[::1\]:53"\]\}\n$/,
  );
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterThisTest, type Cleanup } from "./cleanup.js";

/** A new empty folder that only we can enter (mode 0700), removed with all it holds at the end. */
export function temporaryFolder(cleanup: Cleanup = afterThisTest): string {
  const folder = mkdtempSync(join(tmpdir(), "livezone-test-"));
  cleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

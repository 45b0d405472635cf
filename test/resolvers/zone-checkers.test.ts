import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { describeWith } from "../support/programs.js";

const SCRIPT = fileURLToPath(new URL("./zone-checkers.sh", import.meta.url));

describeWith(["knotd", "kdig", "zonemaster-cli", "dnsviz", "unshare", "ip"], "zone checkers", () => {
  test.skipIf(process.getuid?.() !== 0)(
    "find no ERROR and no CRITICAL, and nothing to warn of but missing PTR records",
    () => {
      const said = execFileSync(SCRIPT, { encoding: "utf8" });
      expect(said).toContain("no ERROR, no CRITICAL");
      const warnings = said
        .split("\n")
        .filter((line) => /\b(WARNING|ERROR|CRITICAL)\b/.test(line) && !line.startsWith("no ERROR"));
      // The namespace has no reverse zones.
      expect(warnings.filter((line) => !line.includes("without PTR configured"))).toEqual([]);
    },
  );
});

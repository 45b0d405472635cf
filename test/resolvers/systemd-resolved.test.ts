import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { describeWith } from "../support/programs.js";

const SCRIPT = fileURLToPath(new URL("./systemd-resolved.sh", import.meta.url));

/** Why the script cannot run here; undefined if it can. */
function obstacle(): string | undefined {
  if (process.getuid?.() !== 0) return "not root";
  try {
    accessSync(process.env.LIVEZONE_RESOLVED ?? "/lib/systemd/systemd-resolved", constants.X_OK);
    return undefined;
  } catch {
    return "systemd-resolved not installed, and not named by LIVEZONE_RESOLVED";
  }
}

const why = obstacle();

describeWith(["unshare", "ip", "dig", "dbus-daemon"], "systemd-resolved", () => {
  test.skipIf(why !== undefined)(
    `resolves what livezone serves, and follows a drain${why === undefined ? "" : ` (skipped: ${why})`}`,
    () => {
      const said = execFileSync(SCRIPT, { encoding: "utf8" }).trimEnd().split("\n");
      expect(said.slice(0, 7).map((line) => line.trimEnd())).toEqual([
        "api.k8s.example.com A: NOERROR A=192.0.2.11 A=192.0.2.12",
        "api.k8s.example.com AAAA: NOERROR AAAA=2001:db8::12",
        "www.k8s.example.com A: NOERROR A=192.0.2.11 A=192.0.2.12 CNAME=api.k8s.example.com.",
        expect.stringMatching(/^_https\._tcp\.api\.k8s\.example\.com SRV \+tcp: NOERROR SRV=cp1\.api.* SRV=cp2\.api/),
        'a.wild.k8s.example.com TXT: NOERROR TXT="wild"',
        "registry.k8s.example.com AAAA: NOERROR",
        "nothing.k8s.example.com A: NXDOMAIN",
      ]);
      expect(said.slice(7)).toEqual([
        expect.stringMatching(/^withdrawn after \d+ ms$/),
        expect.stringMatching(/^back after \d+ ms$/),
      ]);
      if (process.env.LIVEZONE_RESOLVERS_REPORT) console.log(said.join("\n"));
    },
  );
});

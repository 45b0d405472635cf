import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkReportSchema } from "../../src/cli/check.js";
import { temporaryFolder } from "../support/temp.js";
import { runIn } from "./in-process.js";
import { configurationFiles, GOOD_ZONE } from "./run.js";

function folderWith(zone: string): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries({ ...configurationFiles("127.0.0.1:5300"), "zones/k8s.yaml": zone })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const withProbe = (probe: string) => GOOD_ZONE.replace("{ type: none }", probe);

describe("livezone check", () => {
  test("prints the worst case of each endpoint", async () => {
    const { code, stdout, stderr } = await runIn(["check"], { cwd: folderWith(withProbe("{ type: https }")) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [head, row] = stdout.trimEnd().split("\n").slice(-2);
    expect(head).toMatch(
      /^endpoint +port +targets +ttl +refused, not ready +hangs +fails otherwise +back after +shutdown delay$/,
    );
    expect(row?.split(/ {2,}/)).toEqual([
      "api.k8s.example.test",
      "6443",
      "2",
      "5 s",
      "2.4 s -> 7.4 s",
      "8.2 s -> 13.2 s",
      "4.2 s -> 9.2 s",
      "3.2 s",
      "8 s",
    ]);
  });

  test.each(["{ type: tcp }", "{ type: https, path: /livez }"])(
    "gives no shutdown delay to %s, which cannot see that an apiserver is about to stop",
    async (probe) => {
      const { stdout } = await runIn(["check"], { cwd: folderWith(withProbe(probe)) });
      const lines = stdout.trimEnd().split("\n");
      expect(lines.at(-3)).toMatch(/^api\.k8s\.example\.test .* 3\.2 s +-$/);
      expect(lines.at(-1)).toContain("does not ask /readyz");
    },
  );

  test("has no times for what is not probed", async () => {
    const { stdout } = await runIn(["check"], { cwd: folderWith(GOOD_ZONE) });
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/not probed +not probed +not probed +- +-$/);
  });

  test("warns when the usual shutdown delay is too short, and says what to set", async () => {
    const { code, stderr } = await runIn(["check"], { cwd: folderWith(withProbe("{ interval: 30s }")) });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^zones\/k8s\.yaml:5:\d+: warning: .*api\.k8s\.example\.test may be answered for 39 s/m);
    expect(stderr).toContain("Set --shutdown-delay-duration=39s");
    expect(stderr).toContain("[SHUTDOWN_DELAY_LONG]");
  });

  test("warns of addresses to listen on that this machine does not have, whether it waits for them or not", async () => {
    const main = (lines: string) => `listen: ["127.0.0.1:5300", "192.0.2.1:5300", "[2001:db8::1]:5300"]
zones: [zones/*.yaml]
${lines}
`;
    const folder = folderWith(GOOD_ZONE);
    writeFileSync(join(folder, "livezone.yaml"), main("admin: { http: '203.0.113.2:9853' }"));
    const { code, stderr } = await runIn(["check"], { cwd: folder });
    expect(code).toBe(0);
    expect(stderr.match(/^livezone\.yaml:.*$/gm)).toEqual([
      "livezone.yaml:1:28: warning: no interface of this machine has the address of 192.0.2.1:5300 now, so that serve could not listen on it.",
      "livezone.yaml:1:46: warning: no interface of this machine has the address of [2001:db8::1]:5300 now, so that serve could not listen on it.",
      "livezone.yaml:3:16: warning: no interface of this machine has the address of 203.0.113.2:9853 now, so that serve could not listen on it.",
    ]);
    writeFileSync(join(folder, "livezone.yaml"), main("freebind: true"));
    const patient = await runIn(["check"], { cwd: folder });
    expect(patient.stderr.match(/^livezone\.yaml:1:\d+: warning: .* now\.$/gm)).toHaveLength(2);
  });

  test("--json tells the same to programs", async () => {
    const { code, stdout, stderr } = await runIn(["check", "--json"], {
      cwd: folderWith(withProbe("{ interval: 30s }")),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const report = checkReportSchema.parse(JSON.parse(stdout));
    expect(report).toMatchObject({ file: "livezone.yaml", good: true });
    expect(report.problems.map(({ code: id, severity }) => [id, severity])).toEqual([
      ["SHUTDOWN_DELAY_LONG", "warning"],
    ]);
    expect(report.zones).toMatchObject([
      {
        zone: "k8s.example.test",
        endpoints: [
          {
            endpoint: "api.k8s.example.test",
            port: 6443,
            ttl: 5,
            targets: 2,
            shutdownDelaySeconds: 39,
            timelines: [{ kind: "hard" }, { kind: "hang" }, { kind: "other" }],
          },
        ],
      },
    ]);
  });

  test("--json tells what is wrong, and ends with 1", async () => {
    const { code, stdout } = await runIn(["check", "--json"], { cwd: folderWith("zone: [\n") });
    expect(code).toBe(1);
    const report = checkReportSchema.parse(JSON.parse(stdout));
    expect(report.good).toBe(false);
    expect(report.problems.length).toBeGreaterThan(0);
    for (const { severity } of report.problems) expect(severity).toBe("error");
  });
});

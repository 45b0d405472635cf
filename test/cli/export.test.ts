import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LIVEZONE_MAIN, type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";
import { runIn } from "./in-process.js";

async function started(): Promise<RunningLivezone> {
  const port = await freePort("127.0.0.1");
  return startLivezone({
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nadmin: { socket: admin.sock }\nzones: [zone.yaml]\n`,
      "zone.yaml": `zone: k8s.example.test\nnameservers: { ns1: 127.0.0.1 }\nallowSpecialAddresses: true
endpoints:
  api: { targets: { cp1: 192.0.2.11, cp2: 192.0.2.12 }, probe: { type: none } }
  other: { targets: { cp1: 192.0.2.21 }, probe: { type: none } }\n`,
    },
  });
}

describe("livezone export", () => {
  test("prints what is answered: all endpoints, or one", async () => {
    const { folder } = await started();
    const all = await runIn(["export", "hosts"], { cwd: folder });
    expect(all).toEqual({
      code: 0,
      stderr: "",
      stdout:
        "192.0.2.11\tapi.k8s.example.test\n192.0.2.12\tapi.k8s.example.test\n192.0.2.21\tother.k8s.example.test\n",
    });
    const one = await runIn(["export", "haproxy", "Other.k8s.example.test.", "--json"], { cwd: folder });
    expect(JSON.parse(one.stdout)).toEqual([
      {
        name: "other.k8s.example.test",
        port: 6443,
        servers: [{ name: "cp1", address: "192.0.2.21", isAnswered: true }],
      },
    ]);
  });

  test("writes a file once, and runs the reload command for that once", async () => {
    const { folder } = await started();
    const words = ["export", "nginx", "--output", "upstream.conf", "--reload-command", "echo reloaded >>reloads"];
    for (const expected of [0, 0]) expect((await runIn(words, { cwd: folder })).code).toBe(expected);
    expect(readFileSync(join(folder, "reloads"), "utf8")).toBe("reloaded\n");
    expect(readFileSync(join(folder, "upstream.conf"), "utf8")).toContain("upstream api_k8s_example_test {");
  });

  test("--watch follows a drain and its end, and leaves the rest of a hosts file", async () => {
    const { folder } = await started();
    const hosts = join(folder, "hosts");
    writeFileSync(hosts, "127.0.0.1\tlocalhost\n");
    const words = ["export", "hosts", "api.k8s.example.test", "--watch", "--output", "hosts"];
    const watching = await startProcess(process.execPath, [LIVEZONE_MAIN, ...words], { cwd: folder });
    const lines = () =>
      readFileSync(hosts, "utf8")
        .split("\n")
        .filter((line) => /^\d/.test(line));
    const both = ["127.0.0.1\tlocalhost", "192.0.2.11\tapi.k8s.example.test", "192.0.2.12\tapi.k8s.example.test"];
    const become = (expected: string[]) => waitUntil(() => lines().join() === expected.join());
    await become(both);
    await runIn(["drain", "api.k8s.example.test", "cp1"], { cwd: folder });
    await become(both.filter((line) => !line.includes(".11\t")));
    await runIn(["undrain", "api.k8s.example.test", "cp1"], { cwd: folder });
    await become(both);
    expect((await watching.stop()).code).toBe(0);
  });

  test.each([
    { name: "an endpoint that is not there", words: ["hosts", "no.k8s.example.test"], says: "NO_SUCH_ENDPOINT" },
    { name: "--watch without a file", words: ["hosts", "--watch"], says: "EXPORT_NO_OUTPUT" },
    { name: "a virtual address that is none", words: ["ipvs", "--vip", "lb"], says: "EXPORT_VIP" },
    { name: "--json with a file", words: ["hosts", "--json", "--output", "x"], says: "EXPORT_JSON" },
    {
      name: "a reload command that fails",
      words: ["hosts", "--output", "x", "--reload-command", "false"],
      says: "exit code 1",
    },
  ])("refuses $name", async ({ words, says }) => {
    const { folder } = await started();
    const { code, stderr } = await runIn(["export", ...words], { cwd: folder });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(says) });
    expect(existsSync(join(folder, "x"))).toBe(says === "exit code 1");
  });
});

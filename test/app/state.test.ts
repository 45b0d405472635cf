import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { askForAddresses } from "../support/dns-client.js";
import { type LivezoneOptions, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { type ProbedTargets, startTargets, zoneOf } from "./targets.js";

const ENDPOINT = "api.k8s.example.test";

async function setUp(behaviours: Parameters<typeof startTargets>[0]) {
  const port = await freePort();
  const stateDir = temporaryFolder();
  const probed = await startTargets(behaviours);
  const files = filesFor(port, stateDir, probed);
  return { stateDir, probed, files, ask: () => askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT }) };
}

function filesFor(listenPort: number, stateDir: string, { port, targets }: ProbedTargets): LivezoneOptions["files"] {
  return {
    "livezone.yaml": `listen: "127.0.0.1:${listenPort}"\nstateDir: ${stateDir}\nzones: [zones/*.yaml]\n`,
    "zones/k8s.yaml": zoneOf({ port, targets }, "interval: 1s, timeout: 1s, tripwire: false"),
  };
}

describe.concurrent("a restart with a state folder", () => {
  test("serves the last health at once, without a result, and follows the probes from there", async () => {
    const { files, probed, ask } = await setUp(["ready", "unready"]);
    const [cp1, cp2] = probed.targets;
    const first = await startLivezone({ files });
    expect(await ask()).toEqual([cp1?.address]);
    expect(await first.stop()).toMatchObject({ code: 0 });
    // Nobody answers the new process's probes for now.
    for (const target of probed.targets) target.behaviour = "hold";
    const second = await startLivezone({ files });
    expect(second.logs("last health serves")).toHaveLength(1);
    expect(second.logs("ready")[0]).toMatchObject({ isComplete: true });
    expect(await ask()).toEqual([cp1?.address]);
    cp1?.release();
    cp2?.release();
    await second.waitForLog("target answered", ({ target }) => target === "cp2");
    // The line may be read before the threads have taken the answer.
    await waitUntil(async () => (await ask()).length === 2);
    expect((await ask()).sort()).toEqual([cp1?.address, cp2?.address].sort());
  });

  test("lets the zone's serial go on, also if it was ahead of the clock", async () => {
    const { files, stateDir } = await setUp(["ready"]);
    await (await startLivezone({ files })).stop();
    const file = path.join(stateDir, "last.json");
    const last = JSON.parse(readFileSync(file, "utf8"));
    const ahead = last.content.zones[0].serial + 1_000_000;
    last.content.zones[0].serial = ahead;
    writeFileSync(file, JSON.stringify(last));
    await (await startLivezone({ files })).stop();
    expect(JSON.parse(readFileSync(file, "utf8")).content.zones[0].serial).toBeGreaterThan(ahead);
  });

  test.each(["overrides.json", "last.json"])("starts in spite of a broken %s, which is set aside", async (name) => {
    const { files, stateDir, probed, ask } = await setUp(["ready"]);
    writeFileSync(path.join(stateDir, name), '{"version": 1, "content": [{"endpoint":');
    const livezone = await startLivezone({ files });
    expect(livezone.logs("state file set aside")).toMatchObject([{ level: "error", problem: "it is not JSON" }]);
    expect(await ask()).toEqual([probed.targets[0]?.address]);
    expect(readdirSync(stateDir).some((file) => file.startsWith(`${name}.broken-`))).toBe(true);
  });

  test("applies the overrides of before from the first answer on", async () => {
    const { files, stateDir, probed, ask } = await setUp(["ready", "ready"]);
    const override = { endpoint: ENDPOINT, target: "cp1", kind: "drained", setAtMs: Date.now() };
    const other = { ...override, target: "cp2", expiresAtMs: Date.now() - 1 };
    writeFileSync(path.join(stateDir, "overrides.json"), JSON.stringify({ version: 1, content: [override, other] }));
    await startLivezone({ files });
    expect(await ask()).toEqual([probed.targets[1]?.address]);
  });
});

test("without a state folder nothing is written", async () => {
  const { files, stateDir } = await setUp(["ready"]);
  const main = files["livezone.yaml"] ?? "";
  const livezone = await startLivezone({ files: { ...files, "livezone.yaml": main.replace(/stateDir.*\n/, "") } });
  await livezone.stop();
  expect(existsSync(stateDir) && readdirSync(stateDir)).toEqual([]);
});

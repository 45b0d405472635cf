import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { askForAddresses } from "../support/dns-client.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { ENDPOINT, type SiblingServer, startSiblings } from "./sibling-servers.js";
import { type ProbedTarget, startTargets } from "./targets.js";

const listOf = (...targets: readonly ProbedTarget[]): string =>
  JSON.stringify(Object.fromEntries(targets.map(({ id, address }) => [id, address])));

async function untilAnswered(port: number, ...targets: readonly ProbedTarget[]): Promise<void> {
  const wanted = targets.map(({ address }) => address).sort();
  let last: readonly string[] = [];
  await waitUntil(
    async () => {
      last = (await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT })).sort();
      return String(last) === String(wanted);
    },
    { describe: () => `the answer ${wanted}; it is ${last}` },
  );
}

/** A server whose targets all come from a file, with its state in a folder that outlives it. */
async function setUp() {
  const probed = await startTargets(["ready", "ready"]);
  const [cp1, cp2] = probed.targets as [ProbedTarget, ProbedTarget];
  const [port, folder] = [await freePort(), temporaryFolder()];
  const source = join(folder, "targets.json");
  const learned = join(folder, "state", "discovered.json");
  writeFileSync(source, listOf(cp1, cp2));
  const files = {
    "livezone.yaml": `listen: "127.0.0.1:${port}"
stateDir: ${join(folder, "state")}
admin: { socket: ${join(folder, "admin.sock")} }
zones: [zones/*.yaml]
`,
    "zones/k8s.yaml": `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${probed.port}
    discover: [{ type: file, path: ${source} }]
    probe: { type: http, interval: 500ms, timeout: 500ms, recheck: 100ms, tripwire: false }
`,
  };
  const isLearned = (): boolean => existsSync(learned) && readFileSync(learned, "utf8").includes(cp2.address);
  return { files, port, cp1, cp2, source, isLearned };
}

describe.concurrent("what was learned, while its source is gone", () => {
  test("serves at once after the server was killed", async () => {
    const { files, port, cp1, cp2, source, isLearned } = await setUp();
    const first = await startLivezone({ files });
    await untilAnswered(port, cp1, cp2);
    await waitUntil(isLearned);
    first.signal("SIGKILL");
    await first.ended;
    rmSync(source);
    const second = await startLivezone({ files });
    // Without a wait: it is ready with what it knows.
    const addresses = await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT });
    expect(addresses.sort()).toEqual([cp1.address, cp2.address]);
    expect(second.logs("ready")[0]).toMatchObject({ isComplete: true });
  });

  test("passes to a successor, and no answer lacks it meanwhile", async () => {
    const { files, port, cp1, cp2, source, isLearned } = await setUp();
    const first = await startLivezone({ files });
    await untilAnswered(port, cp1, cp2);
    await waitUntil(isLearned);
    rmSync(source);
    let isOver = false;
    const seen = new Set<string>();
    const asking = (async () => {
      while (!isOver) {
        const addresses = await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT }).catch(() => ["lost"]);
        seen.add(addresses.sort().join(" "));
      }
    })();
    const second = await startLivezone({ files, args: ["--takeover"] });
    expect(await first.ended).toMatchObject({ code: 0 });
    await second.waitForLog("took the port over");
    await second.waitForLog("discovery source refused, what it said before holds");
    isOver = true;
    await asking;
    expect([...seen]).toEqual([`${cp1.address} ${cp2.address}`]);
    await untilAnswered(port, cp1, cp2);
  });
});

describe.concurrent("siblings with different sources", () => {
  test("answer each its own; a drain of a target that only one knows holds at the other when it comes", async () => {
    const probed = await startTargets(["ready", "ready", "ready"]);
    const [cp1, cp2, cp3] = probed.targets as [ProbedTarget, ProbedTarget, ProbedTarget];
    const { servers, allHeard } = await startSiblings(
      2,
      { port: probed.port, targets: [cp1] },
      { endpoint: "    discover: [{ type: file, path: targets.json }]\n" },
    );
    const [ns1, ns2] = servers as [SiblingServer, SiblingServer];
    await allHeard();
    ns1.livezone.write("zones/targets.json", listOf(cp1, cp2));
    ns2.livezone.write("zones/targets.json", listOf(cp1, cp3));
    await untilAnswered(ns1.dns, cp1, cp2);
    await untilAnswered(ns2.dns, cp1, cp3);
    // What sources say is no difference of configuration.
    for (const { status } of servers) expect((await status()).siblings?.peers[0]?.zonesDiffer ?? []).toEqual([]);
    expect(await ns1.post("drain", "cp2", { author: "eve" })).toMatchObject({ status: 200 });
    await untilAnswered(ns1.dns, cp1);
    ns2.livezone.write("zones/targets.json", listOf(cp1, cp2, cp3));
    // It is up there, and not answered.
    await ns2.livezone.waitForLog("target came up", ({ target }) => target === "cp2");
    await untilAnswered(ns2.dns, cp1, cp3);
    expect(await ns2.post("undrain", "cp2", { author: "bob" })).toMatchObject({ status: 200 });
    await untilAnswered(ns2.dns, cp1, cp2, cp3);
    await untilAnswered(ns1.dns, cp1, cp2);
  });
});

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { type ProbedTarget, type ProbedTargets, startTargets } from "./targets.js";

const ENDPOINT = "api.k8s.example.test";

/** A server with this static part, whose file source lists what {@link list} is given. */
async function setUp(probed: ProbedTargets, staticTargets: string) {
  const [port, stateDir, folder] = [await freePort(), temporaryFolder(), temporaryFolder()];
  const path = join(folder, "targets.json");
  const list = (...targets: readonly ProbedTarget[]): void => {
    const content = Object.fromEntries(targets.map(({ id, address }) => [id, address]));
    writeFileSync(`${path}.new`, JSON.stringify(content));
    renameSync(`${path}.new`, path);
  };
  const zone = (targets: string): string => `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${probed.port}
${targets}    discover: [{ type: file, path: ${path} }]
    probe: { type: http, interval: 500ms, timeout: 500ms, recheck: 100ms, tripwire: false }
`;
  const files = {
    "livezone.yaml": `listen: "127.0.0.1:${port}"\nstateDir: ${stateDir}\nzones: [zones/*.yaml]\n`,
    "zones/k8s.yaml": zone(staticTargets),
  };
  const ask = () => askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT });
  const answers = async (...targets: readonly ProbedTarget[]): Promise<void> => {
    const wanted = targets.map(({ address }) => address).sort();
    let last: readonly string[] = [];
    await waitUntil(
      async () => {
        last = (await ask()).sort();
        return String(last) === String(wanted);
      },
      { describe: () => `the answer ${wanted}; it is ${last}` },
    );
  };
  return { files, list, answers, ask, zone, path };
}

/** Starts with a list that is there. */
const start = (files: Parameters<typeof startLivezone>[0]["files"]): Promise<RunningLivezone> =>
  startLivezone({ files });

describe.concurrent("a cluster that grows from one node, and replaces all", () => {
  test("one target of the file and a source are enough, until none of the first is left", async () => {
    const probed = await startTargets(["ready", "unready", "ready", "ready", "ready", "ready"]);
    const [cp1, cp2, cp3, cp4, cp5, cp6] = probed.targets as [
      ProbedTarget,
      ProbedTarget,
      ProbedTarget,
      ProbedTarget,
      ProbedTarget,
      ProbedTarget,
    ];
    const { files, list, answers, zone } = await setUp(probed, `    targets: { first: ${cp1.address} }\n`);
    const livezone = await start(files);
    await answers(cp1);

    list(cp1, cp2);
    await livezone.waitForLog("target discovered", ({ target }) => target === "cp2");
    // It is proposed, but does not pass.
    await answers(cp1);
    cp2.behaviour = "ready";
    await answers(cp1, cp2);
    list(cp1, cp2, cp3);
    await answers(cp1, cp2, cp3);

    for (const [next, old, left] of [
      [cp4, cp1, [cp2, cp3, cp4]],
      [cp5, cp2, [cp3, cp4, cp5]],
      [cp6, cp3, [cp4, cp5, cp6]],
    ] as const) {
      list(...left.filter((one) => one !== next), old, next);
      await livezone.waitForLog("target answered", ({ target }) => target === next.id);
      list(...left);
      old.behaviour = "unready";
      await answers(...left);
    }

    // The first target is taken out of the file; what was discovered goes on serving.
    livezone.write("zones/k8s.yaml", zone(""));
    livezone.signal("SIGHUP");
    await livezone.waitForLog("configuration reloaded");
    await answers(cp4, cp5, cp6);
    expect(livezone.logs("endpoint failed open")).toEqual([]);
    expect(await livezone.stop()).toMatchObject({ code: 0 });
  });
});

describe.concurrent("a source that is not there", () => {
  test("removes nothing, and what was learned serves at the next start", async () => {
    const probed = await startTargets(["ready", "ready"]);
    const [cp1, cp2] = probed.targets as [ProbedTarget, ProbedTarget];
    const { files, list, answers, path } = await setUp(probed, "");
    list(cp1, cp2);
    const first = await start(files);
    await answers(cp1, cp2);
    writeFileSync(path, '{"cp1": "127.0');
    await first.waitForLog("discovery source refused, what it said before holds");
    await answers(cp1, cp2);
    await first.stop();

    const second = await start(files);
    // Without a wait: it is ready with what it knows.
    await answers(cp1, cp2);
    expect(second.logs("ready")[0]).toMatchObject({ isComplete: true });
    await second.waitForLog("discovery source refused, what it said before holds");
    list();
    await second.waitForLog("discovery source works again");
    await answers(cp1, cp2);
    list(cp2);
    cp1.behaviour = "unready";
    await answers(cp2);
    await second.stop();
  });

  test("an address that never passed is not answered, not even when all is down", async () => {
    const probed = await startTargets(["ready", "unready"]);
    const [cp1, cp2] = probed.targets as [ProbedTarget, ProbedTarget];
    const { files, list, answers } = await setUp(probed, `    targets: { cp1: ${cp1.address} }\n`);
    list(cp1, cp2);
    const livezone = await start(files);
    await livezone.waitForLog("target discovered", ({ target }) => target === "cp2");
    cp1.behaviour = "unready";
    await livezone.waitForLog("endpoint failed open");
    await answers(cp1);
    await livezone.stop();
  });
});

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { afterAllTests } from "../../support/cleanup.js";
import { askForAddresses } from "../../support/dns-client.js";
import { startLivezone } from "../../support/livezone.js";
import { freePort } from "../../support/ports.js";
import { seededRandom } from "../../support/random.js";
import { waitUntil } from "../../support/wait.js";
import { historyOf, SHORT } from "../simulator/causes.js";
import { createFarm, type Farm, startHistory } from "./play.js";

const SEED = Number(process.env.LIVEZONE_FARM_SEED ?? Date.now() % 2 ** 32);
const CAUSES = ["cold start", "all restarted", "rolling restart"];

/** Apart from those of `farm.test.ts`. */
const FIRST_INDEX = 100;

describe(`a server process and three apiservers without drains (seed ${SEED})`, () => {
  const cleanup = afterAllTests();
  const played = createFarm(cleanup).then((farm) =>
    Promise.all(CAUSES.map((cause, index) => play(farm, cause, index))),
  );

  test.each(CAUSES.map((cause, index) => [cause, index] as const))(
    "%s: no alarm, and each is answered when it is ready again",
    async (_cause, at) => {
      const { isolations, expected, answered } = (await played)[at] ?? {};
      expect(isolations).toEqual([]);
      expect(answered).toEqual(expected);
    },
    90_000,
  );

  async function play(farm: Farm, cause: string, index: number) {
    const { world } = historyOf(seededRandom(SEED + index), 3, [cause], SHORT);
    const history = await startHistory(world, farm, FIRST_INDEX + index);
    cleanup(() => history.stop());
    const port = await freePort();
    const server = await startLivezone({ files: filesOf(port, farm, history.addresses), cleanup });
    await new Promise((resolve) => setTimeout(resolve, world.endMs - history.nowMs()));
    const expected = [...history.addresses].sort();
    const ask = () => askForAddresses({ server: "127.0.0.1", port, name: "api.k8s.example.com" });
    const isWhole = async () => (await ask()).length === expected.length;
    await waitUntil(isWhole, { timeoutMs: 20_000, describe: () => server.stdout() });
    return { isolations: server.logs("prober isolated, the last answers are held"), expected, answered: await ask() };
  }
});

function filesOf(port: number, farm: Farm, addresses: readonly string[]): Readonly<Record<string, string>> {
  return {
    "livezone.yaml": `listen: "127.0.0.1:${port}"\nzones: [k8s.yaml]\n`,
    "ca.crt": readFileSync(farm.ca, "utf8"),
    "k8s.yaml": `zone: k8s.example.com
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${farm.port}
    targets: { ${addresses.map((address, target) => `cp${target}: ${address}`).join(", ")} }
    probe: { ca: ca.crt }
`,
  };
}

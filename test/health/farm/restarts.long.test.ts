import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { afterAllTests } from "../../support/cleanup.js";
import { askForAddresses } from "../../support/dns-client.js";
import { startLivezone } from "../../support/livezone.js";
import { freePort } from "../../support/ports.js";
import { seededRandom } from "../../support/random.js";
import { waitUntil } from "../../support/wait.js";
import { historyOf, SHORT } from "../simulator/causes.js";
import type { World } from "../simulator/conditions.js";
import { createFarm, type Farm, type RunningHistory, startHistory } from "./play.js";

const SEED = Number(process.env.LIVEZONE_FARM_SEED ?? Date.now() % 2 ** 32);
const CAUSES = ["cold start", "all restarted", "rolling restart"];

const ASK_EVERY_MS = 50;

/**
 * Longest time from the readiness of a stand-in to its first answer, milliseconds: an interval with its jitter until the
 * first probe, `recheck` until the second, and the time that a busy machine takes for both and for the start of a server.
 */
const RETURN_MS = 2_200 + 1_000 + 2_000;

/** Apart from those of `farm.test.ts`. */
const FIRST_INDEX = 100;

describe(`a server process and three apiservers without drains (seed ${SEED})`, () => {
  const cleanup = afterAllTests();
  const played = createFarm(cleanup).then((farm) =>
    Promise.all(CAUSES.map((cause, index) => play(farm, cause, index))),
  );

  test.each(CAUSES.map((cause, index) => [cause, index] as const))(
    "%s: no alarm, and each is answered once it has been ready for `rise` probes",
    async (_cause, at) => {
      const { isolations, expected, answered, late } = (await played)[at] ?? {};
      expect(isolations).toEqual([]);
      expect(answered).toEqual(expected);
      expect(late).toEqual([]);
    },
    90_000,
  );

  async function play(farm: Farm, cause: string, index: number) {
    const { world } = historyOf(seededRandom(SEED + index), 3, [cause], SHORT);
    const history = await startHistory(world, farm, FIRST_INDEX + index);
    cleanup(() => history.stop());
    const port = await freePort();
    const server = await startLivezone({ files: filesOf(port, farm, history.addresses), cleanup });
    const ask = () => askForAddresses({ server: "127.0.0.1", port, name: "api.k8s.example.com" });
    const firstMs = await firstAnswers(world, history, ask);
    const expected = [...history.addresses].sort();
    const isWhole = async () => (await ask()).length === expected.length;
    await waitUntil(isWhole, { timeoutMs: 20_000, describe: () => server.stdout() });
    const isolations = server.logs("prober isolated, the last answers are held");
    const late = firstMs.filter(({ afterMs }) => afterMs > RETURN_MS);
    return { isolations, expected, answered: await ask(), late };
  }
});

/**
 * For each address, how long after it had become ready for good an answer named it; asks to the end of the history.
 * Infinity = none did.
 */
async function firstAnswers(
  world: World,
  { addresses, nowMs }: RunningHistory,
  ask: () => Promise<readonly string[]>,
): Promise<readonly { readonly address: string; readonly afterMs: number }[]> {
  const readyMs = world.targets.map((conditions) => Math.max(0, ...conditions.map(({ toMs }) => toMs)));
  const foundMs = addresses.map(() => Number.POSITIVE_INFINITY);
  while (nowMs() < world.endMs) {
    const answered = await ask().catch((): readonly string[] => []);
    const atMs = nowMs();
    for (const [target, address] of addresses.entries()) {
      if (atMs >= (readyMs[target] ?? 0) && answered.includes(address)) {
        foundMs[target] = Math.min(foundMs[target] ?? atMs, atMs);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
  return addresses.map((address, target) => ({ address, afterMs: (foundMs[target] ?? 0) - (readyMs[target] ?? 0) }));
}

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

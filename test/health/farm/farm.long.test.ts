import { describe, expect, test } from "vitest";
import { afterAllTests } from "../../support/cleanup.js";
import { seededRandom } from "../../support/random.js";
import { historyOf, SHORT } from "../simulator/causes.js";
import { measure } from "../simulator/measures.js";
import { createFarm, playHistory } from "./play.js";

// `bench/shared-causes.mjs` plays two hundred histories of each cause.
const SEED = Number(process.env.LIVEZONE_FARM_SEED ?? Date.now() % 2 ** 32);
const CAUSES = [
  "etcd stopped",
  "etcd restarted",
  "etcd slow by 1 s",
  "etcd slow by 3 s",
  "authority rotated",
  "overload",
  "admission webhook down",
  "all restarted",
  "cold start",
];

describe(`causes that three real TLS servers share (seed ${SEED})`, () => {
  const played = play();

  test.each(CAUSES.map((cause, index) => [cause, index] as const))(
    "%s: no alarm, and all are answered at the end",
    async (_cause, index) => {
      expect((await played)[index]).toMatchObject({ falseIsolations: 0, lackingAtEnd: 0 });
    },
    60_000,
  );
});

async function play() {
  const farm = await createFarm(afterAllTests());
  return Promise.all(
    CAUSES.map(async (cause, index) => {
      const random = seededRandom(SEED + index);
      const { world } = historyOf(random, 3, [cause], SHORT);
      return measure(world, await playHistory(world, farm, { index, random }));
    }),
  );
}

// Causes that all apiservers of a cluster share, played in real time by TLS servers over loopback for two health monitors.
//
//     node bench/shared-causes.mjs [--rounds 200] [--parallel 12] [--targets 3] [--seed 1] [--cause NAME]...
//
// Each round has its own random phase and delays; the causes are those of test/health/simulator, in real time. Bars: no
// false isolation; for an etcd that is stopped, slow or restarted, no answer is narrower than half of the targets that are
// no worse for longer than 100 ms, and the servers agree about what a target is like within an interval (2.2 s at most) of
// its last change. A server may miss an outage that is shorter than its interval: how long one server alone answered with a
// target, whatever became of the target meanwhile, is told besides. `--cause held-out` takes causes that no rule was chosen by.
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runnerImport } from "vite";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    parallel: { type: "string", default: "12" },
    targets: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
    cause: { type: "string", multiple: true },
  },
});
const NARROW_MS = 100;
const AGREE_MS = 2_200;
const APART_MS = 400;
/** Rounds that miss a bar and are told. */
const MOST_SHOWN = 5;
const root = fileURLToPath(new URL("..", import.meta.url));
const load = async (file) => (await runnerImport(path.join(root, "test", file))).module;
const { HELD_OUT, historyOf, SHORT, SLOW_ETCD } = await load("health/simulator/causes.ts");
const { measure } = await load("health/simulator/measures.ts");
const { createFarm, playHistory } = await load("health/farm/play.ts");
const { seededRandom } = await load("support/random.ts");

const [rounds, parallel, targets, firstSeed] = [options.rounds, options.parallel, options.targets, options.seed].map(
  Number,
);
const asked = options.cause ?? ["etcd stopped", "etcd restarted", ...Object.keys(SLOW_ETCD)];
const causes = asked.flatMap((cause) => (cause === "held-out" ? Object.keys(HELD_OUT) : [cause]));
const endings = [];
const farm = await createFarm((end) => endings.push(end));
let isMissed = false;
console.log(
  "| cause | rounds | longest narrow | false isolations | slowest agreement: median, p95, worst | longest disagreement | longest return | process late by |",
);
console.log("|---|---|---|---|---|---|---|---|");
for (const cause of causes) {
  const all = [];
  // Servers and stand-ins share one process: figures of one that was late by more than a tenth of a second are void.
  const lateness = monitorEventLoopDelay({ resolution: 10 });
  lateness.enable();
  let next = 0;
  let shown = 0;
  const play = async (index) => {
    // Histories that begin at the same time would all shake hands at the same time.
    await sleep(index * APART_MS);
    while (next < rounds) {
      const seed = firstSeed + next++;
      const random = seededRandom(seed);
      const { world } = historyOf(random, targets, [cause], SHORT);
      const measures = measure(world, await playHistory(world, farm, { index, random }));
      const isBad =
        measures.longestNarrowMs > NARROW_MS ||
        measures.falseIsolations > 0 ||
        measures.lackingAtEnd > 0 ||
        measures.slowestAgreementMs > AGREE_MS;
      if (isBad && ++shown <= MOST_SHOWN) console.log(`seed ${seed}: ${JSON.stringify(measures)}`);
      all.push(measures);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, rounds) }, (_, index) => play(index)));
  const worst = (name) => Math.round(Math.max(...all.map((one) => one[name])));
  const differ = all.map((one) => one.slowestAgreementMs).sort((a, b) => a - b);
  const part = (share) => Math.round(differ[Math.floor((differ.length - 1) * share)]);
  const isolations = all.reduce((sum, one) => sum + one.falseIsolations, 0);
  console.log(
    `| ${cause} | ${all.length} | ${worst("longestNarrowMs")} ms | ${isolations} | ${part(0.5)}, ${part(0.95)}, ${part(1)} ms | ${worst("longestDisagreementMs")} ms | ${worst("longestReturnMs")} ms | ${Math.round(lateness.max / 1e6)} ms |`,
  );
  if (worst("longestNarrowMs") > NARROW_MS || isolations > 0 || part(1) > AGREE_MS) isMissed = true;
}
for (const end of endings) await end();
console.log(isMissed ? "\nMissed a bar." : "\nWithin every bar.");
process.exit(isMissed ? 1 : 0);

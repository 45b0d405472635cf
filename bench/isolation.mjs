// Time from the moment at which a packet filter cuts a server off until it says so, with the default settings.
//
//     node bench/isolation.mjs [ROUNDS]      (default 6; needs the right to make network namespaces, and nft)
//
// Twelve monitors with random phases watch three TLS servers each, in a network namespace of its own. The bar is an
// interval and a half.
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";
import { enterNamespace, nft } from "./namespace.mjs";

const ROUNDS = Number(process.argv[2] ?? 6);
const MONITORS = 12;
const BAR_MS = 3_000;

await enterNamespace(fileURLToPath(import.meta.url), String(ROUNDS));

const root = fileURLToPath(new URL("..", import.meta.url));
const { createFarm, startHistory, startMonitor } = (await runnerImport(path.join(root, "test/health/farm/play.ts")))
  .module;
const { createProbeFiles } = await import("../dist/health/probes/files.js");
const endings = [];
const farm = await createFarm((end) => endings.push(end));
const files = createProbeFiles();
const took = [];
let lost = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const world = { targets: [[], [], []], servers: [], endMs: 0 };
  const watched = await Promise.all(
    Array.from({ length: MONITORS }, async (_, index) => {
      const history = await startHistory(world, farm, index);
      return { history, ...startMonitor(history, farm, files, Math.random) };
    }),
  );
  await sleep(6_000 + Math.random() * 2_000);
  nft("add", "table", "ip", "bench");
  nft("add", "chain", "ip", "bench", "in", "{ type filter hook input priority 0; policy drop; }");
  const cutMs = watched.map(({ history }) => history.nowMs());
  await sleep(2 * BAR_MS);
  for (const [index, { log, history, stop }] of watched.entries()) {
    const noticed = log.isolations.find(({ isolated }) => isolated);
    took.push(noticed === undefined ? Number.POSITIVE_INFINITY : noticed.atMs - cutMs[index]);
    // Whether something was withdrawn for it.
    if (log.answers.at(-1)?.targets !== 7) lost += 1;
    stop();
    history.stop();
  }
  nft("delete", "table", "ip", "bench");
}
for (const end of endings) await end();
took.sort((a, b) => a - b);
const part = (share) => Math.round(took[Math.floor((took.length - 1) * share)]);
console.log(
  `${took.length} times cut off: noticed after ${part(0.5)} ms (median), ${part(1)} ms (worst); bar: ${BAR_MS} ms`,
);
console.log(`answers that changed meanwhile: ${lost}`);
process.exit(part(1) > BAR_MS || lost > 0 ? 1 : 0);

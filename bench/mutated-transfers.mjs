// Mutated requests for transfers, signed and not: what became of them, and whether memory stays flat.
//
//     node --expose-gc bench/mutated-transfers.mjs [--count 1000000] [--seed N]
//
// The requests and the oracle, which knows who may have which record without livezone's own code, are those of the tests. Memory is told
// after a collection, ten times. The run ends with the request that did harm, if one does.
import path from "node:path";
import { parseArgs } from "node:util";
import { runnerImport } from "vite";

const { values } = parseArgs({
  options: { count: { type: "string", default: "1000000" }, seed: { type: "string" } },
});
const seed = Number(values.seed ?? Date.now() % 2 ** 32);
const PARTS = 10;
const folder = path.join(import.meta.dirname, "../test");
const { tryMutated } = (await runnerImport(path.join(folder, "query/mutated-transfers.ts"))).module;
const { seededRandom } = (await runnerImport(path.join(folder, "support/random.ts"))).module;

function memory() {
  if (globalThis.gc === undefined) throw new Error("start it with node --expose-gc");
  globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  return `${(heapUsed / 2 ** 20).toFixed(1)} and ${(rss / 2 ** 20).toFixed(0)}`;
}

console.log(`seed ${seed}`);
const random = seededRandom(seed);
const became = { granted: 0, told: 0, refused: 0, silence: 0 };
const seen = [memory()];
for (let part = 0; part < PARTS; part += 1) {
  const outcomes = tryMutated(Number(values.count) / PARTS, random);
  for (const [outcome, count] of Object.entries(outcomes)) became[outcome] += count;
  seen.push(memory());
}
console.log(`${values.count} requests: ${JSON.stringify(became)}; no record to who may not have it`);
console.log(`MiB of heap in use and of the process, at the start and after each tenth: ${seen.join(", ")}`);

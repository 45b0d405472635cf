// Kills a server (SIGKILL) at random instants while its overrides change, starts it again, and compares.
//
//     node bench/kill.mjs [KILLS]      (default 200; about 3 minutes)
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const kills = Number(process.argv[2] ?? 200);
const { module } = await runnerImport(fileURLToPath(new URL("../test/health/killing.ts", import.meta.url)));
const tasks = [];
try {
  const { acknowledged, interrupted, violations } = await module.killAtRandom(kills, Math.random, (task) =>
    tasks.push(task),
  );
  console.log(`${kills} kills, ${interrupted} of them during a command; ${acknowledged} commands were acknowledged`);
  console.log(
    violations.length === 0 ? "No override was lost or invented, every start succeeded." : violations.join("\n"),
  );
  if (violations.length > 0) process.exitCode = 1;
} finally {
  for (const task of tasks.reverse()) await task();
}

// Has servers take over from each other under load, with readers of events and drains that are waited for.
//
//     node bench/takeovers.mjs [ROUNDS]      (default 100; about 5 minutes)
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const rounds = Number(process.argv[2] ?? 100);
const { module } = await runnerImport(fileURLToPath(new URL("../test/server/takeovers.ts", import.meta.url)));
const tasks = [];
try {
  const { sent, lost, violations, descriptors, residentKb } = await module.takeOverInARow(rounds, (task) =>
    tasks.push(task),
  );
  const fromTo = (numbers) => `${numbers[0]} after the first round, ${numbers.at(-1)} after the last`;
  console.log(`${rounds} takeovers, ${sent} queries, ${lost} lost`);
  console.log(`descriptors: ${fromTo(descriptors)}; resident memory, kB: ${fromTo(residentKb)}`);
  console.log(violations.length === 0 ? "Every reader went on, every drain was kept." : violations.join("\n"));
  if (lost > 0 || violations.length > 0) process.exitCode = 1;
} finally {
  for (const task of tasks.reverse()) await task();
}

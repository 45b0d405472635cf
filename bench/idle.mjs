/**
 * What a server costs that is asked nothing: three targets over HTTPS, probed every 2 s, on one core.
 *
 *   node bench/idle.mjs [--seconds 60]
 *
 * Prints the share of a core that the server's process took, and its resident memory.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { setUpDemo } from "./demo.mjs";

const { values } = parseArgs({ options: { seconds: { type: "string" } } });
const seconds = Number(values.seconds ?? 60);
/** Seconds after the start that are not counted: everything is compiled once. */
const WARMUP_S = 10;
/** Clock ticks a second in /proc/PID/stat, on every Linux. */
const TICKS_PER_SECOND = 100;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

const folder = mkdtempSync(join(tmpdir(), "livezone-idle-"));
const { configFile, stop } = await setUpDemo({ folder, port: await freePort(), freePort });
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const server = spawn("taskset", ["-c", "0", process.execPath, main, "serve", "--config", configFile], {
  stdio: ["ignore", "ignore", "inherit"],
});
try {
  await delay(WARMUP_S * 1000);
  const before = cpuSeconds(server.pid);
  await delay(seconds * 1000);
  const share = (cpuSeconds(server.pid) - before) / seconds;
  const rssMb = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) / 1024;
  console.log(`idle: ${(share * 100).toFixed(2)} % of a core, ${rssMb.toFixed(0)} MiB resident`);
} finally {
  server.kill();
  await stop();
  rmSync(folder, { recursive: true, force: true });
}

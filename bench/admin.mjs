/**
 * What watching a large server costs: how long `livezone status` takes against 1,000 endpoints of 5 targets, what a
 * scrape costs, and what 500 readers of events cost at rest.
 *
 *     node bench/admin.mjs [RUNS]      (default 10; about 45 s)
 *
 * Targets are not probed, so that all that is measured is watching.
 */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const RUNS = Number(process.argv[2] ?? 10);
const ENDPOINTS = 1_000;
const TARGETS = 5;
const SUBSCRIBERS = 500;
const REST_SECONDS = 15;
/** Kernel's clock ticks a second, in /proc/PID/stat; 100 on every Linux that Node.js runs on. */
const TICKS = 100;

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "livezone-bench-"));

function zoneText() {
  const lines = ["zone: k8s.example.test", "nameservers: { ns1: 192.0.2.53 }", "probe: { type: none }", "endpoints:"];
  for (let i = 0; i < ENDPOINTS; i++) {
    const targets = Array.from({ length: TARGETS }, (_, t) => `cp${t + 1}: 10.${i >> 8}.${i & 255}.${t + 1}`);
    lines.push(`  api${i}: { targets: { ${targets.join(", ")} } }`);
  }
  return `${lines.join("\n")}\n`;
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Seconds of CPU that a process has used, all threads together. */
function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

async function times(count, task) {
  const taken = [];
  for (let i = 0; i < count; i++) {
    const startedMs = performance.now();
    await task();
    taken.push(performance.now() - startedMs);
  }
  return `median ${median(taken).toFixed(0)} ms, worst of ${count} ${Math.max(...taken).toFixed(0)} ms`;
}

/** Per cent of one core that a process uses while nothing happens. */
async function atRest(pid) {
  const before = cpuSeconds(pid);
  await sleep(REST_SECONDS * 1_000);
  return `${(((cpuSeconds(pid) - before) / REST_SECONDS) * 100).toFixed(2)} % of one core`;
}

writeFileSync(
  join(folder, "livezone.yaml"),
  `listen: ["127.0.0.1:${await freePort()}"]\nadmin: { socket: admin.sock, http: "127.0.0.1:0" }\nzones: zone.yaml\n`,
);
writeFileSync(join(folder, "zone.yaml"), zoneText());
const server = spawn(process.execPath, [MAIN, "serve"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
const ended = new Promise((resolve) => server.once("exit", resolve));
try {
  const port = await new Promise((resolve, reject) => {
    let log = "";
    server.stdout.on("data", (chunk) => {
      log += chunk;
      if (log.includes('"msg":"ready"')) resolve(Number(/"http":"127\.0\.0\.1:([0-9]+)"/.exec(log)[1]));
    });
    ended.then(() => reject(new Error("the server ended")));
  });
  const livezone = (...args) => run(process.execPath, [MAIN, ...args], { cwd: folder, maxBuffer: 1 << 26 });
  const get = (path) =>
    new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
        response.resume();
        response.on("end", resolve);
      })
        .on("error", reject)
        .end();
    });

  console.log(`${ENDPOINTS} endpoints of ${TARGETS} targets`);
  console.log(`livezone status            ${await times(RUNS, () => livezone("status"))}`);
  console.log(`livezone status --json     ${await times(RUNS, () => livezone("status", "--json"))}`);
  console.log(`livezone --version         ${await times(RUNS, () => livezone("--version"))}`);
  console.log(`GET /api/v1/status         ${await times(RUNS, () => get("/api/v1/status"))}`);
  console.log(`GET /metrics               ${await times(RUNS, () => get("/metrics"))}`);
  console.log(`at rest, no subscriber     ${await atRest(server.pid)}`);
  const streams = await Promise.all(
    Array.from(
      { length: SUBSCRIBERS },
      () =>
        new Promise((resolve, reject) => {
          const asked = request({ host: "127.0.0.1", port, path: "/api/v1/events", agent: false }, (response) => {
            response.resume();
            response.on("error", () => {});
            resolve(asked);
          });
          asked.on("error", reject);
          asked.end();
        }),
    ),
  );
  console.log(`at rest, ${SUBSCRIBERS} subscribers   ${await atRest(server.pid)}`);
  for (const stream of streams) stream.destroy();
} finally {
  server.kill("SIGTERM");
  await ended;
  rmSync(folder, { recursive: true, force: true });
}

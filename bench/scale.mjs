// How late probes start when one core probes thousands of targets: https, TLS sessions resumed, tripwires off.
//
//     node bench/scale.mjs [TARGETS] [INTERVAL_SECONDS] [SECONDS]      (default 10000 10 60)
//
// The monitor runs on one core, with one stand-in for all targets on another (every address of 127.0.0.0/8 is its own).
// The first probes and two intervals after them are left out of the figures.
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { createAuthority } from "../dist/demo/certificates.js";
import { createHealthMonitor } from "../dist/health/monitor.js";
import { createProbeFiles } from "../dist/health/probes/files.js";
import { createRunProbe } from "../dist/health/probes/probe.js";
import { systemClock } from "../dist/lib/clock.js";

const [targets = 10_000, intervalS = 10, seconds = 60] = process.argv.slice(2, 5).map(Number);
const PORT = 26_443;
const NAME = "api.k8s.example.com";
const FOLDER = "LIVEZONE_BENCH_FOLDER";
const ROLE = "LIVEZONE_BENCH_ROLE";

if (process.env[ROLE] === "stand-in") await standIn(process.env[FOLDER]);
if (process.env[ROLE] === "prober") {
  await measure(process.env[FOLDER]);
  process.exit();
}

const folder = mkdtempSync(path.join(tmpdir(), "livezone-scale-"));
const authority = await createAuthority();
const { certPem, keyPem } = await authority.issue({ names: [NAME] });
writeFileSync(path.join(folder, "ca.crt"), authority.caPem);
writeFileSync(path.join(folder, "server.pem"), `${certPem}\n${keyPem}`);
const self = fileURLToPath(import.meta.url);
const pinned = (core, role) =>
  fork(self, process.argv.slice(2), {
    execPath: "taskset",
    execArgv: ["-c", String(core), process.execPath],
    env: { ...process.env, [FOLDER]: folder, [ROLE]: role },
  });
const server = pinned(1, "stand-in");
await once(server, "message");
const child = pinned(0, "prober");
const end = () => server.kill("SIGKILL");
process.on("exit", end);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
const [code] = await once(child, "exit");
rmSync(folder, { recursive: true, force: true });
process.exit(code ?? 1);

/** Answers every request on every loopback address; runs until it is killed. */
async function standIn(from) {
  process.on("disconnect", () => process.exit());
  const pem = readFileSync(path.join(from, "server.pem"), "utf8");
  const reply = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
  const listener = createServer({ cert: pem, key: pem, ALPNProtocols: ["http/1.1"] }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(reply));
  });
  listener.on("tlsClientError", () => {});
  listener.listen(PORT, "0.0.0.0", 4096, () => process.send("listening"));
  await once(listener, "close");
}

async function measure(from) {
  const lags = [];
  const classes = new Map();
  let isCounted = false;
  const probe = {
    type: "https",
    path: "/readyz",
    expectStatus: [200],
    serverName: NAME,
    port: PORT,
    ca: path.join(from, "ca.crt"),
    insecureSkipVerify: false,
    resumeTls: true,
    tripwire: false,
    intervalMs: intervalS * 1000,
    timeoutMs: Math.min(intervalS * 1000, 5000),
    recheckMs: 1000,
    rise: 2,
    fall: 3,
    flap: { limit: 5, windowMs: 600_000 },
  };
  let transitions = 0;
  const monitor = createHealthMonitor({
    clock: systemClock,
    random: Math.random,
    runProbe: createRunProbe(systemClock, createProbeFiles()),
    onTransition: () => {
      transitions += 1;
    },
    onResult({ result, lagMs }) {
      if (!isCounted) return;
      lags.push(lagMs);
      classes.set(result.class, (classes.get(result.class) ?? 0) + 1);
    },
  });
  const address = (index) => `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  const startedMs = performance.now();
  monitor.configure(
    Array.from({ length: Math.ceil(targets / 100) }, (_, e) => ({
      fqdn: `e${e}.k8s.example.com`,
      probe,
      targets: Array.from({ length: Math.min(100, targets - e * 100) }, (_, t) => ({
        id: `t${t}`,
        addresses: [address(e * 100 + t + 1)],
      })),
    })),
  );
  monitor.start();
  await monitor.firstRound;
  console.log(`first round of ${targets} targets: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  await sleep(2 * intervalS * 1000);
  isCounted = true;
  transitions = 0;
  const cpuBefore = process.cpuUsage();
  const countedMs = performance.now();
  await sleep(seconds * 1000);
  isCounted = false;
  const wallS = (performance.now() - countedMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpuS = (user + system) / 1e6;
  lags.sort((a, b) => a - b);
  const part = (share) => Math.round(lags[Math.min(lags.length - 1, Math.floor(lags.length * share))]);
  console.log(
    `probes ${lags.length}, ${Math.round(lags.length / wallS)} a second: ${JSON.stringify(Object.fromEntries(classes))}`,
  );
  console.log(
    `lateness ms: median ${part(0.5)}, p90 ${part(0.9)}, p99 ${part(0.99)}, worst ${part(1)}; bar: p99 below ${intervalS * 200}`,
  );
  console.log(
    `processor: ${((cpuS / lags.length) * 1000).toFixed(2)} ms a probe, ${Math.round((100 * cpuS) / wallS)} % of a core`,
  );
  console.log(`memory: ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB; changes of health: ${transitions}`);
  const sockets = spawnSync("ss", ["-Htan", "state", "time-wait"], { encoding: "utf8", maxBuffer: 2 ** 28 });
  const waiting = (sockets.stdout ?? "")
    .split("\n")
    .filter((line) => /^\S+\s+\S+\s+127\.\S+:26443\s/.test(line)).length;
  const ours = (sockets.stdout ?? "").split("\n").filter((line) => line.trimEnd().endsWith(`:${PORT}`)).length;
  const limit = readFileSync("/proc/sys/net/ipv4/tcp_max_tw_buckets", "utf8").trim();
  console.log(
    `TIME_WAIT: ${ours} on the probing side, ${waiting} on the targets' (the machine keeps at most ${limit})`,
  );
  monitor.stop();
  if (part(0.99) > intervalS * 200) process.exitCode = 1;
}

/**
 * Compares livezone with the servers that are installed and with a bare echo, each on core 0, the load on core 1.
 *
 *   node bench/run.mjs [--rounds 5] [--seconds 2] [--case NAME ...] [--only SERVER ...] [--zones N]
 *                      [--livezone "FILE ARGUMENTS"] [--output DIRECTORY]
 *
 * All servers run side by side and only one is asked at a time, in turn, round after round (A B C A B C), so that
 * whatever else the machine does hits all alike. Medians over the rounds, and their ratios, go to a JSON file
 * in bench/results/ and, as a table, to standard output. `--livezone` compares another build, e.g. of the base branch.
 *
 * The table's last columns are livezone's queries/s and CPU time over those of each other server.
 *
 * CPU time is that of the server's processes within the measured span, as the kernel accounts it: unlike
 * queries per second it hardly changes when the machine is busy otherwise. On a machine that is not idle,
 * `nice -n -20 node bench/run.mjs` (as root) gives all of them precedence.
 */
import { spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, release, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { QUERY_KINDS, queryLine } from "./queries.mjs";
import { ADDRESSES, NAME, peakMemoryKb, SERVERS, startServer } from "./servers.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const SERVER_CORE = 0;
const LOAD_CORE = 1;

/** Queries a second of the cases that compare latency and CPU at a given load. */
const STEADY_RATE = 30_000;

/** What is measured. `queries` is a kind of queries.mjs, `load` are more arguments for load.c. */
const CASES = {
  a: { title: "A query, saturated", queries: "a", load: [] },
  cookie: { title: "EDNS + client cookie, saturated", queries: "cookie", load: [] },
  nxdomain: { title: "NXDOMAIN, random names, saturated", queries: "nxdomain", load: [] },
  mixed: { title: "Mixed queries, saturated", queries: "mixed", load: [] },
  steady: { title: `A query at ${STEADY_RATE} queries/s`, queries: "a", load: ["--rate", String(STEADY_RATE)] },
};

/** What is compared in each case, and how it is called in the table. */
const FIGURES = {
  qps: { title: "queries/s", of: (run) => run.qps },
  cpuUsPerQuery: { title: "CPU µs/query", of: (run) => run.cpuUsPerQuery },
  p50Us: { title: "p50 µs", of: (run) => run.latencyUs.p50 },
  p99Us: { title: "p99 µs", of: (run) => run.latencyUs.p99 },
  lostShare: { title: "lost", of: (run) => (run.sent ? run.lost / run.sent : 0) },
  octetsPerReply: { title: "octets", of: (run) => run.octetsPerReply },
};

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
    case: { type: "string", multiple: true, default: Object.keys(CASES) },
    only: { type: "string", multiple: true, default: Object.keys(SERVERS) },
    zones: { type: "string", default: "1" },
    livezone: { type: "string" },
    output: { type: "string", default: join(here, "results") },
  },
});

function usage(problem) {
  console.error(`bench: ${problem}; see the head of bench/run.mjs`);
  process.exit(2);
}
for (const name of options.case) if (!Object.hasOwn(CASES, name)) usage(`no case ${name}: ${Object.keys(CASES)}`);
for (const name of options.only) if (!Object.hasOwn(SERVERS, name)) usage(`no server ${name}: ${Object.keys(SERVERS)}`);
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const zones = Number(options.zones);
if (!(rounds >= 1 && seconds > 0 && zones >= 1)) usage("--rounds, --seconds and --zones take numbers");
if (cpus().length < 2) usage("two cores are needed, one for the server and one for the load");

const folder = mkdtempSync(join(tmpdir(), "livezone-bench-"));
const cleanups = [() => rmSync(folder, { recursive: true, force: true })];
async function cleanUp() {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void cleanUp().finally(() => process.exit(1)));

function compile(name) {
  const target = join(folder, `bin-${name}`);
  const { status, stderr, error } = spawnSync("cc", ["-std=c11", "-O2", "-o", target, join(here, `${name}.c`)], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`cannot compile bench/${name}.c: ${error?.message ?? stderr}`);
  return target;
}

/** A port that is free for UDP now; that of TCP is as good as certain to be. */
function freePort() {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4").once("error", reject);
    socket.bind(0, "127.0.0.1", () => {
      const { port } = socket.address();
      socket.close(() => resolve(port));
    });
  });
}

/** Accepts connections on all target addresses, so that gdnsd's probes pass. */
async function listenForProbes() {
  const servers = [];
  let port = 0;
  for (const address of ADDRESSES) {
    const server = createServer((socket) => socket.on("error", () => {}).end());
    await new Promise((resolve, reject) => server.once("error", reject).listen(port, address, resolve));
    port = server.address().port;
    servers.push(server);
  }
  cleanups.push(() => Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))));
  return port;
}

/** Whether a server answers the question of the benchmark: NOERROR and three answers, or the echo of them. */
function answers(port) {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    const finish = (result) => {
      clearTimeout(timer);
      socket.close(() => resolve(result));
    };
    const timer = setTimeout(() => finish(false), 300);
    socket.on("error", () => finish(false));
    socket.on("message", (reply) => finish((reply[3] & 15) === 0 && reply.readUInt16BE(6) === ADDRESSES.length));
    socket.send(Buffer.from(queryLine({ name: NAME }), "hex"), port, "127.0.0.1");
  });
}

/** One run of the load generator; the runner itself stays idle meanwhile. */
function measure(load, server, name) {
  const { queries, load: more } = CASES[name];
  const args = ["--port", server.port, "--queries", join(folder, `${queries}.txt`), "--seconds", seconds, ...more];
  const pids = server.pids.flatMap((pid) => ["--pid", pid]);
  const child = spawn("taskset", ["-c", LOAD_CORE, load, ...args, ...pids].map(String), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk) => (text += chunk));
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`load ended with ${code}`)),
    );
  });
}

function median(numbers) {
  const sorted = numbers.filter((number) => number !== null).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Three significant digits, for people. */
const shown = (number) =>
  number === null ? "-" : number >= 1000 ? String(Math.round(number)) : String(+number.toPrecision(3));

/** livezone's median over that of each other server, for each figure. */
function ratiosOf(medians) {
  const { livezone, ...others } = medians;
  if (!livezone) return {};
  const ratio = (other, figure) => (other[figure] ? +(livezone[figure] / other[figure]).toPrecision(4) : null);
  const figures = ["qps", "cpuUsPerQuery", "p50Us", "p99Us"];
  return Object.fromEntries(
    Object.entries(others).map(([name, other]) => [
      name,
      Object.fromEntries(figures.map((figure) => [figure, ratio(other, figure)])),
    ]),
  );
}

function printCase(name, medians, ratios) {
  console.log(`\n${CASES[name].title}`);
  const columns = Object.entries(FIGURES);
  const row = (cells) => console.log(cells.map((cell, i) => (i ? cell.padStart(13) : cell.padEnd(10))).join(""));
  row(["", ...columns.map(([, { title }]) => title), "rate x", "CPU x"]);
  for (const [server, figures] of Object.entries(medians)) {
    row([
      server,
      ...columns.map(([key]) => shown(figures[key])),
      shown(ratios[server]?.qps ?? null),
      shown(ratios[server]?.cpuUsPerQuery ?? null),
    ]);
  }
}

async function main() {
  const load = compile("load");
  const context = { zones, echo: compile("echo"), targetPort: await listenForProbes() };
  if (options.livezone) context.livezoneCommand = options.livezone.split(" ").filter(Boolean);
  for (const [kind, lines] of Object.entries(QUERY_KINDS)) {
    writeFileSync(join(folder, `${kind}.txt`), `${lines(NAME).join("\n")}\n`);
  }
  const servers = [];
  for (const name of options.only) {
    const own = { ...context, folder: join(folder, name), port: await freePort() };
    const server = await startServer(name, own, SERVER_CORE, answers).catch((error) => {
      console.error(`bench: ${error.message}`);
    });
    if (server) {
      cleanups.push(server.stop);
      servers.push(server);
    } else console.error(`bench: ${name} is left out`);
  }
  if (servers.length === 0) throw new Error("no server to measure");

  const cases = {};
  for (const name of options.case) {
    const runs = Object.fromEntries(servers.map((server) => [server.name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const server of servers) runs[server.name].push(await measure(load, server, name));
    }
    const medians = Object.fromEntries(
      Object.entries(runs).map(([server, list]) => [
        server,
        Object.fromEntries(Object.entries(FIGURES).map(([key, { of }]) => [key, median(list.map(of))])),
      ]),
    );
    cases[name] = { title: CASES[name].title, medians, ratios: ratiosOf(medians), runs };
    printCase(name, medians, cases[name].ratios);
  }
  const peakMemory = Object.fromEntries(servers.map((server) => [server.name, peakMemoryKb(server.pids)]));
  console.log(
    `\npeak resident memory, MB: ${servers.map(({ name }) => `${name} ${Math.round(peakMemory[name] / 1024)}`).join(", ")}`,
  );

  const [processor] = cpus();
  const machine = { processor: processor?.model, cores: cpus().length, kernel: release(), node: process.version };
  const at = new Date().toISOString();
  const result = { at, machine, rounds, seconds, zones, cases, peakMemoryKb: peakMemory };
  mkdirSync(options.output, { recursive: true });
  const file = join(options.output, `${at.replace(/[:.]/g, "-")}.json`);
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
  console.log(`written to ${file}`);
}

try {
  await main();
} catch (error) {
  console.error(`bench: ${error.message}`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}

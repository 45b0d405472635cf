/** Runs the lanes of a group in turn: starts their servers on one core, and the load on the other. */
import { spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { on, once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { FIGURES } from "./cases.mjs";
import { DEMO_NAME, setUpDemo } from "./demo.mjs";
import { QUERY_KINDS, queryLine } from "./queries.mjs";
import { ADDRESSES, cpuSeconds, NAME, residentMb, startServer, zoneNames } from "./servers.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const SERVER_CORE = 0;
const LOAD_CORE = 1;

const START_ATTEMPTS = 3;

/** Seconds of load before the measured span, so that every server is warm. */
const WARMUP_S = 0.3;
/** Changes before changes are measured, under load, so that all code on their way is compiled: as all else is measured. */
const WARMUP_CHANGES = { perSecond: 800, seconds: 15, timed: true };
/** Seconds by which changes begin after the load and end before it, so that each is seen. */
const CHANGES_AFTER_S = 0.2;
/** Seconds that resident memory is watched after the load. */
const MEMORY_S = 2;
/** Seconds in which a server is watched that nobody asks: five probes of each of its targets. */
const IDLE_S = 10;

/** Compiles the C programs and opens what servers probe. `folder` is for all files; `cleanUp` ends and forgets all. */
export async function createBench({ folder, seconds, livezoneCommand }) {
  const cleanups = [];
  // This program does nothing while it measures: no collecting of garbage because it is idle, either.
  setFlagsFromString("--no-memory-reducer");
  const load = compile(folder, "load");
  const context = { echo: compile(folder, "echo"), livezoneCommand };
  context.targetPort = await listenForProbes(cleanups);
  for (const kind of Object.keys(QUERY_KINDS)) writeQueries(folder, kind, QUERY_KINDS[kind](NAME));
  writeQueries(folder, "demo", QUERY_KINDS.a(DEMO_NAME));
  return {
    /** Every lane `rounds` times, in turn. @returns medians and runs by lane; a lane whose server is missing has none */
    async measureGroup(lanes, rounds) {
      const servers = await startServers(lanes);
      try {
        const runs = Object.fromEntries(Object.keys(servers).map((lane) => [lane, []]));
        for (let round = 0; round < rounds; round += 1) {
          for (const [lane, server] of Object.entries(servers)) runs[lane].push(await run(lanes[lane], server));
        }
        const medians = Object.fromEntries(Object.entries(runs).map(([lane, list]) => [lane, mediansOf(list)]));
        return { medians, runs };
      } finally {
        await cleanUp(1);
      }
    },
    cleanUp: () => cleanUp(0),
  };

  async function cleanUp(keep) {
    for (const cleanup of cleanups.splice(keep).reverse()) await cleanup();
  }

  /** Starts each server once, however many lanes it is in. */
  async function startServers(lanes) {
    const started = new Map();
    const servers = {};
    for (const [lane, { server: name, zones = 1, queries, options, build }] of Object.entries(lanes)) {
      const key = `${name}-${zones}-${options}-${build}`;
      if (!started.has(key)) started.set(key, await start(name, { zones, options, build }));
      const server = started.get(key);
      if (server !== undefined) servers[lane] = server;
      if (queries === "zones") {
        const lines = zoneNames(zones).flatMap((zone) => QUERY_KINDS.a(`api.${zone}`));
        writeQueries(folder, "zones", lines);
      }
    }
    return servers;
  }

  /** Another port is tried where one turns out to be taken: other programs take ports, too. */
  async function start(name, what) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const server = await startOnce(name, what);
        if (server === undefined) console.error(`bench: ${name} is not installed and is left out`);
        return server;
      } catch (error) {
        console.error(`bench: ${error.message}`);
        if (attempt === START_ATTEMPTS) throw new Error(`${name} does not start`, { cause: error });
      }
    }
  }

  async function startOnce(name, what) {
    const own = { ...context, ...what, folder: mkdtempSync(join(folder, `${name}-`)), port: await freePort() };
    cleanups.push(() => rmSync(own.folder, { recursive: true, force: true }));
    const isDemo = name === "demo";
    if (isDemo) {
      const { configFile, stop } = await setUpDemo({ ...own, freePort });
      cleanups.push(stop);
      own.configFile = configFile;
    }
    const asked = isDemo ? DEMO_NAME : NAME;
    const server = await startServer(isDemo ? "livezone" : name, own, SERVER_CORE, (port) => answers(port, asked));
    if (server !== undefined) cleanups.push(server.stop);
    return server;
  }

  /** One run of a lane; the runner itself stays idle meanwhile. */
  async function run(lane, server) {
    if (lane.idle) return { cpuPercent: await watchCpu(server) };
    if (lane.changes && !server.isWarm) await warmUp(lane, server);
    const more = [...(lane.load ?? [])];
    const watchFile = join(folder, "watched");
    if (lane.watch) more.push("--watch", watchFile);
    if (lane.flood) more.push("--flood", join(folder, `${lane.flood}.txt`));
    const args = ["--port", server.port, "--queries", join(folder, `${lane.queries}.txt`), ...more];
    args.push("--seconds", seconds, "--warmup", WARMUP_S, ...server.pids.flatMap((pid) => ["--pid", pid]));
    const [result, changes] = await Promise.all([
      runLoad(load, args),
      lane.changes ? makeChanges(server, lane) : undefined,
    ]);
    if (lane.watch) result.change = timesOf(changes, readFileSync(watchFile, "utf8"));
    if (lane.rss) result.rssMb = await watchMemory(server);
    return result;
  }

  async function warmUp({ queries, isNew }, server) {
    const file = join(folder, `${queries}.txt`);
    await Promise.all([
      runLoad(load, ["--port", server.port, "--queries", file, "--seconds", WARMUP_CHANGES.seconds]),
      change(server, { ...WARMUP_CHANGES, isNew }),
    ]);
    server.isWarm = true;
  }

  async function makeChanges(server, { changes, watch, isNew }) {
    const span = WARMUP_S + seconds;
    if (watch) await delay(CHANGES_AFTER_S * 1000);
    return change(server, {
      perSecond: changes,
      seconds: watch ? span - 2 * CHANGES_AFTER_S : span,
      timed: watch,
      isNew,
    });
  }
}

/** Has a server change its answers, and waits until it has. @returns when, and to how many addresses */
async function change({ child }, wanted) {
  const over = new AbortController();
  const ended = once(child, "close", over).then(() => {
    throw new Error("the server ended while it changed its answers");
  });
  try {
    return await Promise.race([ended, child.stdin === null ? told() : read()]);
  } finally {
    ended.catch(() => {});
    over.abort();
  }

  async function told() {
    child.send(wanted);
    const [{ changes }] = await once(child, "message", over);
    return changes;
  }

  async function read() {
    child.stdin.write(`${wanted.perSecond} ${wanted.seconds}\n`);
    let text = "";
    for await (const [chunk] of on(child.stdout, "data", over)) {
      text += chunk;
      if (text.endsWith("done\n")) break;
    }
    const lines = text.split("\n").slice(0, -2);
    return lines.map((line) => line.split(" ")).map(([atNs, count]) => [atNs, Number(count)]);
  }
}

/** Compiles a C program of this folder. @returns its path */
export function compile(folder, name) {
  const target = join(folder, `bin-${name}`);
  const { status, stderr, error } = spawnSync(
    "cc",
    ["-std=c11", "-O2", "-pthread", "-o", target, join(here, `${name}.c`)],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`cannot compile bench/${name}.c: ${error?.message ?? stderr}`);
  return target;
}

function writeQueries(folder, kind, lines) {
  writeFileSync(join(folder, `${kind}.txt`), `${lines.join("\n")}\n`);
}

/** A port that is free for UDP and TCP now. */
export async function freePort() {
  for (;;) {
    const socket = createSocket("udp4");
    const server = createServer();
    try {
      socket.bind(0, "127.0.0.1");
      await once(socket, "listening");
      const { port } = socket.address();
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return port;
    } catch (error) {
      if (error.code !== "EADDRINUSE") throw error;
    } finally {
      socket.close();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    }
  }
}

/** Accepts connections on all target addresses, so that gdnsd's probes pass. */
async function listenForProbes(cleanups) {
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

/** Whether a server answers for the name that is asked: NOERROR and three answers, or the echo of them. */
function answers(port, name) {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    const finish = (result) => {
      clearTimeout(timer);
      socket.close(() => resolve(result));
    };
    const timer = setTimeout(() => finish(false), 300);
    socket.on("error", () => finish(false));
    socket.on("message", (reply) => finish((reply[3] & 15) === 0 && reply.readUInt16BE(6) === ADDRESSES.length));
    socket.send(Buffer.from(queryLine({ name }), "hex"), port, "127.0.0.1");
  });
}

/** Runs the load on its core. @returns what it prints */
export function runLoad(load, args) {
  const child = spawn("taskset", ["-c", LOAD_CORE, load, ...args].map(String), {
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

/** Nanoseconds after a change in which the load must have been running. */
const LOOKING_NS = 2_000_000n;

/**
 * How long each change took until a reply had the new number of addresses. Changes right after which the load was not
 * running are counted as `unseen`: nobody can tell when they were on the wire. How long they took plays no part in that.
 */
function timesOf(changes, text) {
  const lines = text
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(" "));
  const blind = lines.filter(([, what]) => what === "blind").map(([from, , to]) => [BigInt(from), BigInt(to)]);
  const seen = lines
    .filter(([, what]) => what !== "blind")
    .map(([atNs, count]) => ({ atNs: BigInt(atNs), count: Number(count) }));
  let next = 0;
  let unseen = 0;
  const times = [];
  for (const [text, count] of changes) {
    const atNs = BigInt(text);
    while (next < seen.length && seen[next].atNs < atNs) next += 1;
    const found = seen.slice(next, next + 1000).find((event) => event.count === count);
    if (blind.some(([from, to]) => from <= atNs + LOOKING_NS && atNs <= to)) unseen += 1;
    else times.push(found === undefined ? Number.POSITIVE_INFINITY : Number(found.atNs - atNs) / 1e6);
  }
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? null;
  return { changes: times.length, unseen, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: times.at(-1) ?? null };
}

/** The median of what is resident over some seconds, in which probes go on. */
async function watchMemory({ pids }) {
  const samples = [];
  for (let i = 0; i < MEMORY_S * 5; i += 1) {
    await delay(200);
    samples.push(residentMb(pids));
  }
  return median(samples);
}

/** CPU time that a server takes when nobody asks, in percent of one core. */
async function watchCpu({ pids }) {
  const before = cpuSeconds(pids);
  const startMs = performance.now();
  await delay(IDLE_S * 1000);
  return ((cpuSeconds(pids) - before) / (performance.now() - startMs)) * 1000 * 100;
}

function mediansOf(runs) {
  return Object.fromEntries(Object.entries(FIGURES).map(([key, { of }]) => [key, median(runs.map(of))]));
}

export function median(numbers) {
  const sorted = numbers.filter((number) => number !== null).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

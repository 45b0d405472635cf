/**
 * livezone's answering threads, table and compiler without probes and without the command line, for what cannot be
 * measured from outside: changes of health at known moments, and `dgram` on a machine that has the native part.
 *
 *   node bench/driver.mjs --config FILE [--dgram] [--stall]
 *
 * Started with an IPC channel. `{ perSecond, seconds }` makes the first endpoint of the first zone lose a target and
 * get it back in turn, so often a second: compiled and posted by the main thread, as a change of health is. Answered,
 * when all are made, with `{ changes: [[nanoseconds, addresses], ...] }`: CLOCK_MONOTONIC right before each change
 * was compiled, and the number of addresses that are answered after it. `timed`, `isNew`: see below.
 *
 * `{ slide: { perSecond, seconds } }` gives the same endpoint other targets so often a second: those numbered n, n + 1 and
 * n + 2, and n grows by one each time, so that a name goes and a name comes. Target n is `tN` with the address
 * `10.9.(n >> 8).(n & 255)`. Answered with `{ slid: n }`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { CompiledZones } from "../dist/answers/compiled-zones.js";
import { createLogger } from "../dist/lib/logger.js";
import { prepare } from "../dist/server/load-zones.js";
import { WorkerPool } from "../dist/transport/worker-pool.js";
import { startThread } from "../dist/transport/worker-thread.js";
import { createZoneEndpoint } from "../dist/zone/endpoint.js";
import { LiveZone } from "../dist/zone/live-zone.js";

const { values: options } = parseArgs({
  options: {
    config: { type: "string" },
    dgram: { type: "boolean", default: false },
    stall: { type: "boolean", default: false },
  },
});

const { config, zones } = prepare(options.config);

/** What an endpoint answers with its first `count` targets up. */
function answerable({ targets }, count = targets.length) {
  const addresses = targets
    .slice(0, count)
    .flatMap(({ id, addresses }) => addresses.map((address) => ({ target: id, address })));
  return { mode: "healthy", addresses, upTargets: count };
}

/**
 * Milliseconds between two looks at what is due, for the many changes: waking a thread a thousand times a second costs
 * several percent of a core by itself, which is no cost of the changes.
 */
const TICK_MS = 4;

/** `--stall`: the thread of TCP does what a client of it might make it do, 5 ms at a time, 200 times a second. */
function startStalling(settings) {
  if (settings.role !== "tcp") return startThread(settings);
  const program = new URL("stalling-worker.mjs", import.meta.url);
  return new Worker(program, { workerData: settings, execArgv: [], name: "stalling" });
}

const tables = new CompiledZones();
const live = zones.map((zone) => {
  const everything = zone.endpoints.map(({ fqdn, config }) => [fqdn, answerable(config)]);
  return new LiveZone(zone, new Map(everything), Date.now());
});
for (const zone of live) tables.add(zone);
const answering = new WorkerPool({
  workers: config.workers,
  log: createLogger({ level: "error" }),
  zones: tables,
  ...(options.stall ? { startThread: startStalling } : {}),
  ...(options.dgram ? { batch: { reason: "asked for by the benchmark" } } : {}),
});
answering.loadZones([...tables.names()]);
await answering.listen(config.listen);
answering.setReady();

const [zone] = live;
const [value] = zones[0].endpoints;
const endpoint = value.config;

const MAX_CHANGES = 1 << 16;
/** What was recorded of a change: CLOCK_MONOTONIC before it, and the number of addresses after it. */
const times = new BigUint64Array(MAX_CHANGES);
const counts = new Uint8Array(MAX_CHANGES);

/** Addresses that were answered once. */
let unseen = 0;

/**
 * `timed`: each in a turn of the event loop of its own, or the first of two could not be seen; `isNew`: every second one
 * to a state that never was before, instead of to and fro between two.
 */
async function change({ perSecond, seconds, timed, isNew }) {
  const all = endpoint.targets.length;
  const total = Math.round(perSecond * seconds);
  if (total > MAX_CHANGES) throw new Error(`more than ${MAX_CHANGES} changes`);
  const gapMs = 1000 / perSecond;
  const startMs = performance.now();
  let made = 0;
  while (made < total) {
    const waitMs = timed ? startMs + (made + 1) * gapMs - performance.now() : TICK_MS;
    await delay(Math.max(1, Math.ceil(waitMs)));
    const due = timed ? made + 1 : Math.min(total, Math.floor((performance.now() - startMs) / gapMs));
    for (; made < due; made += 1) {
      const count = made % 2 === 0 ? all - 1 : all;
      counts[made] = count;
      times[made] = process.hrtime.bigint();
      put(count, isNew && count < all);
    }
  }
  put(all);
  return Array.from({ length: made }, (_, i) => [String(times[i]), counts[i]]);
}

let isPlanned = false;

/** Sends what changed in this turn of the event loop, as the server does. */
function distribute() {
  isPlanned = false;
  for (const message of tables.takeChanges()) answering.changeZone(message);
}

/** @param isNew with an address that was never answered before, so that nothing of it is remembered */
function put(count, isNew = false) {
  const answers = answerable(endpoint, count);
  if (isNew) {
    unseen += 1;
    answers.addresses[0].address = `10.${(unseen >> 16) & 255}.${(unseen >> 8) & 255}.${unseen & 255}`;
  }
  follow(zone.setEndpoint(value, answers, Date.now()));
}

function follow(change) {
  if (change === undefined) return;
  tables.change(change);
  if (!isPlanned) queueMicrotask(distribute);
  isPlanned = true;
}

/** The number of the first target of the set that slides. */
let first = 0;

function target(number) {
  const address = `10.9.${(number >> 8) & 255}.${number & 255}`;
  return { ...endpoint.targets[0], id: `t${number}`, addresses: [address] };
}

async function slide({ perSecond, seconds }) {
  const startMs = performance.now();
  const total = Math.round(perSecond * seconds);
  for (let made = 0; made < total; made += 1) {
    await delay(Math.max(1, startMs + (made + 1) * (1000 / perSecond) - performance.now()));
    first += 1;
    const config = { ...endpoint, targets: [0, 1, 2].map((place) => target(first + place)) };
    follow(zone.setEndpoint(createZoneEndpoint(config, zone.zone.name), answerable(config), Date.now()));
  }
  return first;
}

process.on("message", (wanted) => {
  if (wanted.slide === undefined) void change(wanted).then((changes) => process.send({ changes }));
  else void slide(wanted.slide).then((slid) => process.send({ slid }));
});
process.once("disconnect", () => process.exit(0));
process.once("SIGTERM", () => void answering.stop(0).then(() => process.exit(0)));

/**
 * Nanoseconds that the responder takes for a query, without the network.
 *
 *   node bench/respond.mjs [CHECKOUT] [--rounds 5]
 *
 * CHECKOUT is a folder with another build in `dist/`: both are then measured in turns, each time in a process of its own,
 * and the medians of their times are printed with the ratio. It passes no judgement.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { queryLine } from "./queries.mjs";
import { NAME, writeLivezone } from "./servers.mjs";

const HERE = fileURLToPath(new URL("..", import.meta.url));
const MANY_ZONES = 10_000;
const COOKIE = [1, 2, 3, 4, 5, 6, 7, 8];
const PREFIXES = [
  { octets: Uint8Array.of(127, 0, 0, 0), bits: 8 },
  { octets: Uint8Array.of(10, 0, 0, 0), bits: 8 },
  { octets: Uint8Array.of(192, 168, 0, 0), bits: 16 },
];
const RATE_LIMIT = { perSecond: 1_000_000, slip: 2, ipv4Prefix: 24, ipv6Prefix: 56 };

/** What is asked, of how many zones, under which policy. */
const CASES = {
  a: { lines: [queryLine({ name: NAME })] },
  edns: { lines: [queryLine({ name: NAME, edns: 1232 })] },
  cookie: { lines: [queryLine({ name: NAME, edns: 1232, cookie: COOKIE })] },
  nxdomain: { lines: [queryLine({ name: NAME, random: true })] },
  allow: { lines: [queryLine({ name: NAME })], policy: { allow: PREFIXES } },
  rateLimit: { lines: [queryLine({ name: NAME })], policy: { rateLimit: RATE_LIMIT } },
  zones: { zones: MANY_ZONES },
};

const WARM_UP_BATCHES = 20_000;
const BATCHES = 30_000;

/** Tunes the engine as the build's own threads do, if they do. */
async function letInline(checkout, load) {
  if (!existsSync(join(checkout, "dist/transport/inlining.js"))) return;
  (await load("transport/inlining.js")).inlineRequestPath();
}

async function loadBuild(checkout) {
  const load = (path) => import(pathToFileURL(join(checkout, "dist", path)).href);
  const modules = ["query/respond.js", "query/policy.js", "query/counters.js", "transport/batch/buffers.js"];
  const parts = await Promise.all([...modules, "lib/clock.js", "server/load-zones.js"].map(load));
  await letInline(checkout, load);
  return { ...Object.assign({}, ...parts), createTable: (await load("answers/table.js")).AnswerTable, load };
}

/** What adds a zone to a table; a build from before tables took messages has a way of its own. */
async function zoneAdder(load) {
  const { publishZone, ZoneCompiler } = await load("answers/zone-compiler.js");
  if (ZoneCompiler === undefined) {
    return (table, zone, answers) => table.addZone(publishZone(zone, answers, Date.now()).compile());
  }
  const { LiveZone } = await load("zone/live-zone.js");
  const { applyTableMessage, zoneMessage } = await load("answers/table-messages.js");
  return (table, zone, answers) => {
    const live = new LiveZone(zone, answers, Date.now());
    applyTableMessage(table, zoneMessage(new ZoneCompiler(live).compile()));
  };
}

/** A table with every target of every zone up. */
async function fillTable({ prepare, createTable: Table, load }, zones) {
  const folder = mkdtempSync(join(tmpdir(), "livezone-bench-"));
  const prepared = prepare(writeLivezone({ folder, port: 53, zones }));
  rmSync(folder, { recursive: true });
  const table = new Table();
  const addTo = await zoneAdder(load);
  prepared.zones.forEach((zone, i) => {
    const answerable = prepared.config.zones[i].endpoints.map(({ fqdn, targets }) => {
      const addresses = targets.flatMap(({ id, addresses }) => addresses.map((address) => ({ target: id, address })));
      return [fqdn, { mode: "healthy", addresses, upTargets: targets.length }];
    });
    addTo(table, zone, new Map(answerable));
  });
  return { table, names: prepared.config.zones.flatMap(({ endpoints }) => endpoints.map(({ fqdn }) => fqdn)) };
}

/** Nanoseconds a query of one case. */
async function measure(checkout, name) {
  const build = await loadBuild(checkout);
  const { zones = 1, policy: settings = {}, lines } = CASES[name];
  const { table, names } = await fillTable(build, zones);
  const all = { cookieSecrets: [new Uint8Array(16)], tcpIdleMs: 10_000, ...settings };
  const clock = build.BatchClock === undefined ? build.systemClock : new build.BatchClock(build.systemClock);
  const policy = build.createPolicy(all, clock, Math.random);
  const { receive, receiveSlot, send, sendSlot, batch, peers } = build.createBuffers();
  peers.set([127, 0, 0, 1], 4);
  const client = { octets: peers, at: 4, length: 4 };
  const respond = build.createResponder({ table, ready: true, policy }, build.createQueryCounters());
  const asked = (lines ?? names.map((own) => queryLine({ name: own }))).map((line) => {
    const [hex, offset = 0, letters = 0] = line.split(" ");
    return { octets: Buffer.from(hex, "hex"), offset: Number(offset), letters: Number(letters) };
  });
  let random = 1;
  const next = () => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    return random >>> 8;
  };
  const lengths = new Int32Array(batch);
  const fill = () => {
    for (let i = 0; i < batch; i += 1) {
      const { octets, offset, letters } = asked[asked.length === 1 ? 0 : next() % asked.length];
      receive.set(octets, i * receiveSlot);
      lengths[i] = octets.length;
      for (let k = 0; k < letters; k += 1) receive[i * receiveSlot + offset + k] = 0x61 + (next() % 26);
    }
  };
  let octets = 0;
  const run = (batches) => {
    const times = new Float64Array(batches);
    for (let time = 0; time < batches; time += 1) {
      if (time % 8 === 0 || asked.length > 1) fill();
      const startNs = process.hrtime.bigint();
      clock.beginBatch?.();
      for (let i = 0; i < batch; i += 1) {
        octets += respond(receive, i * receiveSlot, lengths[i], send, i * sendSlot, 0, client);
      }
      times[time] = Number(process.hrtime.bigint() - startNs);
    }
    // The fastest tenth: the others are those that another process took the core from.
    return times.sort()[Math.floor(batches / 10)] / batch;
  };
  run(WARM_UP_BATCHES);
  const nanoseconds = run(BATCHES);
  if (octets === 0) throw new Error(`${name}: nothing is answered`);
  return nanoseconds;
}

/** In a process of its own, whose compiler has seen nothing else. */
function measureApart(checkout, name) {
  const args = [fileURLToPath(import.meta.url), checkout, "--measure", name];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${checkout}, ${name}:\n${stderr}`);
  return Number(stdout);
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "5" }, measure: { type: "string" }, only: { type: "string" } },
});
if (values.measure !== undefined) {
  console.log(await measure(positionals[0], values.measure));
} else {
  const checkouts = [HERE, ...positionals.map((path) => resolve(path))];
  for (const name of values.only?.split(",") ?? Object.keys(CASES)) {
    const times = checkouts.map(() => []);
    for (let round = 0; round < Number(values.rounds); round += 1) {
      checkouts.forEach((checkout, i) => {
        times[i].push(measureApart(checkout, name));
      });
    }
    const [here, there] = times.map(median);
    const ratio = there === undefined ? "" : `  there ${there.toFixed(0)} ns  ratio ${(here / there).toFixed(2)}`;
    console.log(`${name.padEnd(10)} ${here.toFixed(0).padStart(5)} ns${ratio}`);
  }
}

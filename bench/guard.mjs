/**
 * Whether the hot path is as fast as it was, without a clock that means anything: the time that a batch of queries
 * takes, over the time that a fixed loop takes on the same processor at the same moment.
 *
 *   node bench/guard.mjs             prints the ratios; exit code 1 if one exceeds that of bench/guard.json by a quarter
 *   node bench/guard.mjs --record    writes bench/guard.json
 *
 * Both take turns in slices of some 50 µs, far shorter than the time for which another process takes the core away,
 * and the fastest slice of each counts: on a busy machine, too, many of the thousands are undisturbed. What the ratio
 * tells is how much work a query is in this JavaScript engine. A case that exceeds its bound is measured again in a new
 * process, twice at most, since the engine's compiler now and then takes an unlucky decision; a hot path that really
 * got slower stays slow.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AnswerTable } from "../dist/answers/table.js";
import { publishZone } from "../dist/answers/zone-compiler.js";
import { createServerCookies } from "../dist/query/cookies.js";
import { createQueryCounters } from "../dist/query/counters.js";
import { createFastResponder } from "../dist/query/fast.js";
import { createReadyMade } from "../dist/query/packet-cache.js";
import { prepare } from "../dist/server/load-zones.js";
import { createBuffers } from "../dist/transport/batch/buffers.js";
import { QUERY_KINDS } from "./queries.mjs";
import { NAME, writeLivezone } from "./servers.mjs";

const RECORD = fileURLToPath(new URL("guard.json", import.meta.url));
const CASES = ["a", "edns", "cookie", "nxdomain"];
/** How much more than recorded is too much. */
const TOLERANCE = 1.25;
const ATTEMPTS = 3;
const WARM_UP_SLICES = 1_500;
const SLICES = 3_000;
const BATCHES_PER_SLICE = 8;
const LETTERS = { first: 0x61, count: 26 };

/** The hot path over the benchmark's zone, all targets up. */
function createHotPath() {
  const folder = mkdtempSync(join(tmpdir(), "livezone-guard-"));
  const { config, zones } = prepare(writeLivezone({ folder, port: 53, zones: 1 }));
  rmSync(folder, { recursive: true });
  const answerable = config.zones[0].endpoints.map(({ fqdn, targets }) => {
    const addresses = targets.flatMap(({ id, addresses }) => addresses.map((address) => ({ target: id, address })));
    return [fqdn, { mode: "healthy", addresses, upTargets: targets.length }];
  });
  const table = new AnswerTable();
  table.addZone(publishZone(zones[0], new Map(answerable), Date.now()).compile());
  const secrets = [new Uint8Array(16)];
  const policy = { cookieSecrets: secrets, tcpIdleMs: 10_000, cookies: createServerCookies(secrets, () => Date.now()) };
  const state = { table, ready: true, policy };
  const counters = createQueryCounters();
  const buffers = createBuffers();
  const { receive, receiveSlot, send, sendSlot, batch, peers } = buffers;
  const respond = createReadyMade(state, counters, createFastResponder(state, counters), receive, send);
  const client = { octets: peers, at: 4, length: 4 };
  let random = 1;
  const nextLetter = () => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    return LETTERS.first + ((random >>> 8) % LETTERS.count);
  };

  /** Fills the receive buffer with queries of a kind; returns what answers them all, so many times. */
  return (kind) => {
    const lines = QUERY_KINDS[kind](NAME).map((line) => line.split(" "));
    const lengths = Array.from({ length: batch }, (_, i) => {
      const [hex, offset = 0, letters = 0] = lines[i % lines.length];
      const query = Buffer.from(hex, "hex");
      receive.set(query, i * receiveSlot);
      for (let k = 0; k < Number(letters); k += 1) receive[i * receiveSlot + Number(offset) + k] = nextLetter();
      return query.length;
    });
    return (times) => {
      let octets = 0;
      for (let time = 0; time < times; time += 1) {
        for (let i = 0; i < batch; i += 1) octets += respond(i * receiveSlot, lengths[i], i * sendSlot, client);
      }
      if (octets < times * batch * 17) throw new Error(`${kind}: the hot path declines`);
      return octets;
    };
  };
}

/** What all are compared with: octets copied and hashed one by one, as many as a question and an answer have. */
function createReference() {
  const { receive, receiveSlot, send, sendSlot, batch } = createBuffers();
  for (let i = 0; i < receive.length; i += 1) receive[i] = i;
  return (times) => {
    let hash = 0;
    for (let time = 0; time < times; time += 1) {
      for (let i = 0; i < batch; i += 1) {
        const from = i * receiveSlot;
        const to = i * sendSlot;
        for (let k = 0; k < 80; k += 1) {
          const octet = receive[from + k];
          hash = Math.imul(hash ^ octet, 0x01000193);
          send[to + k] = octet;
        }
      }
    }
    return hash;
  };
}

/** The fastest slice of `subject` over the fastest of `reference`, which take turns. */
function ratioOf(subject, reference) {
  const fastest = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let slice = 0; slice < WARM_UP_SLICES + SLICES; slice += 1) {
    [subject, reference].forEach((work, index) => {
      const startNs = process.hrtime.bigint();
      work(BATCHES_PER_SLICE);
      const tookNs = Number(process.hrtime.bigint() - startNs);
      if (slice >= WARM_UP_SLICES && tookNs < fastest[index]) fastest[index] = tookNs;
    });
  }
  return +(fastest[0] / fastest[1]).toPrecision(3);
}

function measureAll() {
  const hotPath = createHotPath();
  const reference = createReference();
  return Object.fromEntries(CASES.map((kind) => [kind, ratioOf(hotPath(kind), reference)]));
}

/** In a process of its own, whose compiler has seen nothing else. */
function measureApart() {
  const { stdout, stderr, status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), "--measure"], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the guard's measurement failed:\n${stderr}`);
  return JSON.parse(stdout);
}

/** The least ratio of each case over so many processes; ends as soon as `isEnough` says so. */
function leastOf(attempts, isEnough) {
  const least = {};
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    for (const [kind, ratio] of Object.entries(measureApart())) least[kind] = Math.min(least[kind] ?? ratio, ratio);
    if (isEnough(least)) break;
  }
  return least;
}

if (process.argv.includes("--measure")) {
  console.log(JSON.stringify(measureAll()));
} else if (process.argv.includes("--record")) {
  const ratios = leastOf(ATTEMPTS, () => false);
  writeFileSync(RECORD, `${JSON.stringify(ratios, undefined, 2)}\n`);
  console.log(`recorded ${JSON.stringify(ratios)}`);
} else {
  const recorded = JSON.parse(readFileSync(RECORD, "utf8"));
  const tooSlow = (ratios) => CASES.filter((kind) => ratios[kind] > recorded[kind] * TOLERANCE);
  const ratios = leastOf(ATTEMPTS, (found) => tooSlow(found).length === 0);
  for (const kind of CASES) {
    const bound = +(recorded[kind] * TOLERANCE).toPrecision(3);
    const verdict = ratios[kind] > bound ? "slower by more than a quarter" : "ok";
    console.log(`${kind.padEnd(10)}${ratios[kind]} of the reference loop, recorded ${recorded[kind]}: ${verdict}`);
  }
  if (tooSlow(ratios).length > 0) {
    console.error(
      "The hot path got slower. If that is meant, run `node bench/guard.mjs --record` and say why in the commit.",
    );
    process.exitCode = 1;
  }
}

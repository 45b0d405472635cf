// What transfers cost, and what they do when things go wrong, with the real process.
//
//     node bench/transfers.mjs table | slow | busy [--rate 17] | kill [--times 200]
//
// table: who gets which answer to which request, livezone beside Knot and BIND. slow: queries/s with a secondary that is slow, one that
// resets and one that is dead, against without, in turn. busy: 1,000 zones that change once a minute each, with Knot as their secondary:
// CPU time, and queries/s against without changes. kill: SIGKILL again and again, and the clock set back a day: serials only increase, and
// secondaries follow. What each process wrote is kept if the benchmark fails.
import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { runnerImport } from "vite";
import { createAdminClient } from "../dist/client/admin.js";
import { readReply } from "../dist/client/reply.js";
import { startChild, until } from "./children.mjs";
import { compile, median, runLoad } from "./measure.mjs";
import { QUERY_KINDS } from "./queries.mjs";
import { cpuSeconds, residentMb } from "./servers.mjs";
import { kills } from "./transfer-kills.mjs";
import {
  force,
  HOME,
  KEY,
  mainText,
  PORTS,
  SECRET,
  serialAt,
  startKnot,
  startLivezone,
  write,
  ZONE,
  zoneText,
} from "./transfer-world.mjs";

const {
  values,
  positionals: [part],
} = parseArgs({
  allowPositionals: true,
  options: { rate: { type: "string", default: "17" }, times: { type: "string", default: "200" } },
});
const signing = (await runnerImport(path.join(import.meta.dirname, "../test/transfer/signing.ts"))).module;
const sign = (query, changes) =>
  signing.sign(query, { secret: SECRET, time: Math.floor(Date.now() / 1000), ...changes });

/** Sends a request over TCP. @returns the first reply, and how many records came in all; undefined: it was closed without a word */
function overTcp(port, message, from = "127.0.0.1") {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: from });
    let octets = Buffer.alloc(0);
    let soas = 0;
    let records = 0;
    let first;
    const finish = () => {
      socket.destroy();
      resolve(first && { ...first, records });
    };
    socket.setTimeout(1_500, finish);
    socket.once("error", finish);
    socket.once("close", finish);
    socket.once("connect", () => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      socket.write(Buffer.concat([length, message]));
    });
    socket.on("data", (data) => {
      octets = Buffer.concat([octets, data]);
      while (octets.length >= 2 && octets.length >= 2 + octets.readUInt16BE(0)) {
        const one = octets.subarray(2, 2 + octets.readUInt16BE(0));
        octets = octets.subarray(2 + one.length);
        first ??= describe(one);
        const { answers, rcode } = readReply(Uint8Array.from(one));
        records += answers.length;
        soas += answers.filter(({ type }) => type === "SOA").length;
        if (
          rcode !== "NOERROR" ||
          answers.length === 0 ||
          records === 1 ||
          (answers.at(-1).type === "SOA" && soas > 1)
        ) {
          return finish();
        }
      }
    });
  });
}

/** Response code, and the error of the TSIG record that ends a message. */
function describe(message) {
  const rcode = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "", "", "", "NOTAUTH"][
    message[3] & 15
  ];
  const at = message.lastIndexOf(Buffer.from("\x0bhmac-sha256\x00", "latin1"));
  if (message.readUInt16BE(10) === 0 || at < 0) return { rcode, tsig: "-" };
  const macLength = message.readUInt16BE(at + 13 + 8);
  const error = message.readUInt16BE(at + 13 + 10 + macLength + 2);
  const names = { 0: "ok", 16: "BADSIG", 17: "BADKEY", 18: "BADTIME", 22: "BADTRUNC" };
  return { rcode, tsig: `${names[error] ?? error}${macLength === 0 ? ", unsigned" : ""}` };
}

/** The same zone in Knot and in BIND, to be transferred by 127.0.0.1 with the key. */
async function startOthers(serial) {
  const text = `$TTL 5\n@ SOA ns1 hostmaster ${serial} 60 30 1209600 5\n@ NS ns1\nns1 A 127.0.0.1\napi A 127.0.1.1\napi A 127.0.1.2\n`;
  const knot = path.join(HOME, "knot");
  write(knot, {
    "zone.zone": text,
    "knot.conf": `server:
    rundir: ${knot}
    listen: 127.0.0.1@${PORTS.knot}
database:
    storage: ${knot}
key:
  - id: corp
    algorithm: hmac-sha256
    secret: ${KEY}
acl:
  - id: corp
    address: 127.0.0.1
    key: corp
    action: transfer
zone:
  - domain: ${ZONE}
    file: ${knot}/zone.zone
    acl: corp
`,
  });
  startChild("/usr/sbin/knotd", ["-c", path.join(knot, "knot.conf")], knot);
  const bind = path.join(HOME, "bind");
  write(bind, {
    "zone.zone": text,
    "named.conf": `options { directory "${bind}"; listen-on port ${PORTS.bind} { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none;
  session-keyfile "${bind}/session.key"; recursion no; notify no; allow-query { any; }; };
controls { };
key corp { algorithm hmac-sha256; secret "${KEY}"; };
acl here { 127.0.0.1; };
zone "${ZONE}" { type primary; file "zone.zone"; allow-transfer { !{ !here; any; }; key corp; }; ixfr-from-differences yes; };
`,
  });
  startChild("/usr/sbin/named", ["-g", "-n", "1", "-c", path.join(bind, "named.conf")], bind);
  for (const port of [PORTS.knot, PORTS.bind]) await until(port, async () => (await serialAt(port)) === serial);
}

async function table() {
  const folder = path.join(HOME, "livezone");
  write(folder, {
    "livezone.yaml": mainText(),
    "corp.tsig": KEY,
    "zones/a.yaml": `${zoneText(ZONE)}transfer: { allow: { from: 127.0.0.1, key: corp } }\n`,
  });
  await startLivezone(folder);
  const admin = createAdminClient({ kind: "socket", path: path.join(folder, "admin.sock") });
  const kept = [await serialAt(PORTS.livezone)];
  for (const isUp of [false, true, false, true, false]) {
    await force(admin, ZONE, "cp3", isUp);
    kept.push(await serialAt(PORTS.livezone));
  }
  const serial = kept.at(-1);
  await startOthers(serial);
  const now = Math.floor(Date.now() / 1000);
  const axfr = signing.transferQuery({ zone: ZONE, type: "AXFR" });
  const ixfr = (from) => sign(signing.transferQuery({ zone: ZONE, type: "IXFR", serial: from }));
  const cases = [
    ["AXFR with the key", sign(axfr)],
    ["AXFR without a key", axfr],
    ["AXFR, an unlisted address with the key", sign(axfr), "127.0.0.9"],
    ["AXFR, an unlisted address", axfr, "127.0.0.9"],
    ["AXFR, a key that nobody knows", sign(axfr, { key: "nope" })],
    ["AXFR, a wrong secret", sign(axfr, { secret: Buffer.alloc(32) })],
    ["AXFR, a clock 301 s late", sign(axfr, { time: now - 301 })],
    ["AXFR, a clock 310 s early", sign(axfr, { time: now + 310 })],
    ["AXFR, a MAC of 16 octets", sign(axfr, { octets: 16 })],
    ["AXFR, a MAC of 10 octets", sign(axfr, { octets: 10 })],
    ["AXFR, no MAC", sign(axfr, { octets: 0 })],
    ["AXFR of another zone", sign(signing.transferQuery({ zone: "other.test", type: "AXFR" }))],
    ["AXFR of a name in the zone", sign(signing.transferQuery({ zone: `api.${ZONE}`, type: "AXFR" }))],
    ["IXFR without an SOA", sign(signing.transferQuery({ zone: ZONE, type: "IXFR" }))],
    ["IXFR from the present serial", ixfr(serial)],
    ["IXFR from a future serial", ixfr(serial + 1_000)],
    ["IXFR from 0", ixfr(0)],
    ...kept
      .slice(0, -1)
      .map((from, index) => [`IXFR from a kept serial (${index + 1} of ${kept.length - 1})`, ixfr(from)]),
  ];
  console.log("| request | livezone | Knot | BIND |\n|---|---|---|---|");
  for (const [name, message, from] of cases) {
    const replies = [];
    for (const server of ["livezone", "knot", "bind"]) replies.push(await overTcp(PORTS[server], message, from));
    const shown = replies.map((one) =>
      one === undefined ? "closed" : `${one.rcode}, TSIG ${one.tsig}, ${one.records} records`,
    );
    console.log(`| ${name} | ${shown.join(" | ")} |`);
  }
  for (const program of ["dig", "kdig"]) {
    const counts = [];
    for (const what of ["AXFR", "IXFR=0", ...kept.map((from) => `IXFR=${from}`)]) {
      const args = ["@127.0.0.1", "-p", PORTS.livezone, "-y", `hmac-sha256:corp:${KEY}`, "+tcp", ZONE, what].map(
        String,
      );
      const { stdout, status } = spawnSync(program, args, { encoding: "utf8" });
      const lines = stdout.split("\n").filter((line) => /^\S+\s+\d+\s+IN\s/.test(line)).length;
      const isBad = /verif|BAD|failed|WARNING/i.test(stdout) || status !== 0;
      counts.push(`${what.slice(0, 4)} ${isBad ? `NOT VERIFIED ${stdout.slice(0, 200)}` : `${lines} records`}`);
    }
    console.log(`${program}, signatures verified: ${counts.join("; ")}`);
  }
}

async function loadOf(folder, zones) {
  const load = compile(folder, "load");
  const queries = path.join(folder, "queries.txt");
  writeFileSync(queries, `${zones.flatMap((zone) => QUERY_KINDS.a(`api.${zone}`)).join("\n")}\n`);
  return async (seconds) => {
    const { qps } = await runLoad(load, [
      "--port",
      PORTS.livezone,
      "--queries",
      queries,
      "--seconds",
      seconds,
      "--warmup",
      0.3,
    ]);
    return qps;
  };
}

/** What runs beside the load for a while. `pause`: waits so many milliseconds, or until it is over. */
function startState() {
  let finish = () => {};
  const over = new Promise((resolve) => (finish = resolve));
  const state = { isOver: false, pause: (ms) => Promise.race([over, sleep(ms, undefined, { ref: false })]) };
  return {
    state,
    end() {
      state.isOver = true;
      finish();
    },
  };
}

/**
 * The load in short slices, without and with what `whileRunning` does, then with and without: whatever else the machine does meets both
 * alike.
 */
async function compared(pairs, seconds, runLoadFor, whileRunning) {
  const slices = { without: [], with: [] };
  const ratios = [];
  const run = async (kind) => {
    const { state, end } = startState();
    const busy = kind === "with" ? whileRunning(state) : undefined;
    const qps = await runLoadFor(seconds);
    end();
    await busy;
    slices[kind].push(qps);
    return qps;
  };
  await runLoadFor(2);
  for (let pair = 0; pair < pairs; pair += 1) {
    const qps = {};
    for (const kind of pair % 2 === 0 ? ["without", "with"] : ["with", "without"]) qps[kind] = await run(kind);
    ratios.push(qps.with / qps.without);
  }
  const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
  const sorted = [...ratios].sort((one, other) => one - other);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(3);
  console.log(
    `queries/s: ${Math.round(median(slices.without))} without, ${Math.round(median(slices.with))} with; of ${pairs} pairs of ${seconds} s the median ratio ${median(ratios).toFixed(3)} (80 % of them ${at(0.1)} to ${at(0.9)}); of all queries together ${(sum(slices.with) / sum(slices.without)).toFixed(3)}`,
  );
}

async function slow() {
  const folder = path.join(HOME, "livezone");
  const records = `records: |\n${Array.from({ length: 20_000 }, (_, i) => `  host${i} 300 IN A 192.0.2.${i % 250}`).join("\n")}\n`;
  const to = `transfer: { to: ["127.0.0.1:${PORTS.dead}", "127.0.0.3:${PORTS.secondary}"], allow: 127.0.0.0/8 }\n`;
  write(folder, {
    "livezone.yaml": mainText(),
    "corp.tsig": KEY,
    "zones/a.yaml": `${zoneText(ZONE, records)}${to}`,
  });
  // A secondary that takes every NOTIFY and says nothing; at the other address nobody listens.
  const silent = createSocket("udp4");
  let notifies = 0;
  silent.on("message", (message) => {
    if (message[2] >> 3 === 4) notifies += 1;
  });
  silent.bind(PORTS.dead, "127.0.0.1");
  const livezone = await startLivezone(folder, { core: 0 });
  const admin = createAdminClient({ kind: "socket", path: path.join(folder, "admin.sock") });
  const axfr = signing.transferQuery({ zone: ZONE, type: "AXFR" });
  const framed = Buffer.concat([Buffer.from([0, axfr.length]), axfr]);
  const done = { slow: 0, reset: 0, whole: 0 };
  /** Reads nothing at all, until it is cut. */
  const readNothing = async (state) => {
    while (!state.isOver) {
      const socket = connect({ port: PORTS.livezone, host: "127.0.0.1", localAddress: "127.0.0.4" });
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.pause();
      socket.write(framed);
      done.slow += 1;
      await Promise.race([once(socket, "close"), state.pause(4_000)]);
      socket.resetAndDestroy();
    }
  };
  const resetInTheMiddle = async (state) => {
    while (!state.isOver) {
      const socket = connect({ port: PORTS.livezone, host: "127.0.0.1", localAddress: "127.0.0.5" });
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write(framed);
      await Promise.race([once(socket, "data"), state.pause(1_000)]);
      socket.resetAndDestroy();
      done.reset += 1;
      await state.pause(1_000);
    }
  };
  /** A change a second, which the dead and the silent one are told of again and again. */
  const change = async (state) => {
    for (let isUp = false; !state.isOver; isUp = !isUp) {
      await force(admin, ZONE, "cp1", isUp);
      await state.pause(1_000);
    }
  };
  const runLoadFor = await loadOf(folder, [ZONE]);
  await compared(40, 1.5, runLoadFor, (state) =>
    Promise.all([readNothing(state), resetInTheMiddle(state), change(state)]),
  );
  const whole = await overTcp(PORTS.livezone, axfr);
  done.whole = whole?.records;
  console.log(
    `${done.slow} transfers that nothing was read of, ${done.reset} reset in the middle; after that ${done.whole} records to who asks properly`,
  );
  console.log(
    `${notifies} NOTIFYs to the silent secondary; told in the log: ${livezone.output.split('"msg":"secondary does not follow"').length - 1}`,
  );
  silent.close();
}

async function busy() {
  const folder = path.join(HOME, "livezone");
  const zones = [ZONE, ...Array.from({ length: 999 }, (_, index) => `z${index}.example.test`)];
  const to = `transfer: { to: { address: "127.0.0.1:${PORTS.secondary}", key: corp } }\n`;
  write(folder, {
    "livezone.yaml": mainText("log: { level: warn }\n".replace("warn", "info")),
    "corp.tsig": KEY,
    ...Object.fromEntries(zones.map((zone) => [`zones/${zone}.yaml`, `${zoneText(zone)}${to}`])),
  });
  const livezone = await startLivezone(folder, { core: 0 });
  startKnot(path.join(HOME, "secondary"), zones, { port: PORTS.secondary, core: 1 });
  await until(
    "the secondary has all",
    async () => {
      for (const zone of zones) if (!Number.isInteger(await serialAt(PORTS.secondary, zone))) return false;
      return true;
    },
    120_000,
  );
  const admin = createAdminClient({ kind: "socket", path: path.join(folder, "admin.sock") });
  const rate = Number(values.rate);
  let made = 0;
  const change = async (state) => {
    const from = performance.now();
    for (let own = 0; !state.isOver; own += 1, made += 1) {
      const zone = zones[made % zones.length];
      await force(admin, zone, `cp${1 + (made % 3)}`, Math.floor(made / zones.length) % 2 === 1);
      await state.pause(Math.max(0, from + (1_000 / rate) * (own + 1) - performance.now()));
    }
  };
  const cpuOf = async (seconds, whileRunning) => {
    const { state, end } = startState();
    const running = whileRunning(state);
    const before = cpuSeconds([livezone.pid]);
    const since = performance.now();
    await sleep(seconds * 1_000);
    const share = ((cpuSeconds([livezone.pid]) - before) / (performance.now() - since)) * 1e5;
    end();
    await running;
    return share;
  };
  await sleep(5_000);
  const idle = await cpuOf(20, async () => {});
  const changing = await cpuOf(60, change);
  console.log(
    `${zones.length} zones, ${rate} changes/s: ${changing.toFixed(1)} % of a core, ${idle.toFixed(1)} % without changes (${residentMb([livezone.pid]).toFixed(0)} MB)`,
  );
  const runLoadFor = await loadOf(folder, zones);
  await compared(20, 1.5, runLoadFor, change);
  await until(
    "the secondary is current",
    async () => {
      for (const zone of zones)
        if ((await serialAt(PORTS.secondary, zone)) !== (await serialAt(PORTS.livezone, zone))) return false;
      return true;
    },
    60_000,
  );
  console.log(`the secondary has every serial after ${made} changes`);
}

const parts = { table, slow, busy, kill: () => kills(Number(values.times)) };
if (parts[part] === undefined) throw new Error(`name a part: ${Object.keys(parts).join(", ")}`);
await parts[part]().catch((error) => {
  console.log(error);
  process.exitCode = 1;
});
process.exit();

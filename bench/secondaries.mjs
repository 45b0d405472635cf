// Real servers as secondaries of a livezone primary, over loopback: how soon they answer as it does.
//
//     node bench/secondaries.mjs [--changes 1000] [--kills 10] [--seconds 60] [--zones 100] [--without SERVER,SERVER]
//                                [--parts kills,changes,lost,steady,zones] [--primary knot]
//
// Knot, NSD, BIND and PowerDNS as authoritative servers, with TSIG; BIND and Unbound as resolvers that have the zone. All ask the same
// primary. Parts: kills (SIGKILL of an apiserver, and a client through Unbound), random changes and a comparison record by record, the
// first three NOTIFYs lost, changes without pause, and many zones. What is not installed is left out, and named. With `--primary knot`
// Knot is the primary and its records are changed by knsupdate: what of the figures of `--parts steady` is the secondaries' own.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createAdminClient } from "../dist/client/admin.js";
import { ask } from "../dist/client/ask.js";
import { startChild, until } from "./children.mjs";
import { knotSecondary } from "./knot-secondary.mjs";

const { values } = parseArgs({
  options: {
    changes: { type: "string", default: "1000" },
    kills: { type: "string", default: "10" },
    seconds: { type: "string", default: "60" },
    zones: { type: "string", default: "100" },
    without: { type: "string", default: "" },
    parts: { type: "string", default: "kills,changes,lost,steady,zones" },
    primary: { type: "string", default: "livezone" },
  },
});
const PARTS = new Set(values.parts.split(","));
const CHANGES = Number(values.changes);
const KILLS = Number(values.kills);
const SECONDS = Number(values.seconds);
const ZONES = PARTS.has("zones") ? Number(values.zones) : 0;
const ZONE = "k8s.example.test";
const NAME = `api.${ZONE}`;
const PRIMARY = 15_400;
const APISERVER = 16_500;
const SECRET = Buffer.from("a secret of 32 octets, in base64").toString("base64");
const HOME = mkdtempSync(path.join(tmpdir(), "livezone-secondaries-"));
const IDS = ["cp1", "cp2", "cp3", "cp4", "cp5"];
const addressOf = (id) => `127.0.1.${id.slice(2)}`;
const zoneNames = Array.from({ length: ZONES }, (_, index) => `z${index}.example.test`);
const allZones = [ZONE, ...zoneNames];

process.on("exit", () => rmSync(HOME, { recursive: true, force: true }));

/** Each: what is asked, the address that it asks from and is notified at, and how it is run. */
const SERVERS = {
  knot: {
    program: "/usr/sbin/knotd",
    port: 15_401,
    from: "127.0.2.1",
    key: true,
    run(folder) {
      const own = { folder, port: this.port, from: this.from };
      const conf = knotSecondary({ ...own, primary: PRIMARY, secret: SECRET, zones: allZones });
      writeFileSync(path.join(folder, "knot.conf"), conf);
      return ["-c", path.join(folder, "knot.conf")];
    },
  },
  nsd: {
    program: "/usr/sbin/nsd",
    port: 15_402,
    from: "127.0.2.2",
    key: true,
    run(folder) {
      const conf = `server:
  ip-address: 127.0.0.1@${this.port}
  username: ""
  zonesdir: "${folder}"
  database: ""
  xfrdfile: "${folder}/xfrd.state"
  xfrdir: "${folder}"
  zonelistfile: "${folder}/zone.list"
  pidfile: "${folder}/nsd.pid"
  rrl-ratelimit: 0
  xfrd-reload-timeout: 1
remote-control:
  control-enable: no
key:
  name: corp
  algorithm: hmac-sha256
  secret: "${SECRET}"
${allZones.map((zone) => `zone:\n  name: ${zone}\n  zonefile: "${zone}.zone"\n  allow-notify: 127.0.0.1 corp\n  request-xfr: 127.0.0.1@${PRIMARY} corp\n  outgoing-interface: ${this.from}\n  provide-xfr: 127.0.0.1 NOKEY\n`).join("")}`;
      writeFileSync(path.join(folder, "nsd.conf"), conf);
      return ["-d", "-c", path.join(folder, "nsd.conf")];
    },
  },
  bind: {
    program: "/usr/sbin/named",
    port: 15_403,
    from: "127.0.2.3",
    key: true,
    run(folder) {
      return named(folder, this, "recursion no;");
    },
  },
  powerdns: {
    program: "/usr/sbin/pdns_server",
    port: 15_404,
    from: "127.0.2.4",
    key: true,
    needs: "/usr/lib/x86_64-linux-gnu/pdns/libgsqlite3backend.so",
    run(folder) {
      const conf = `launch=gsqlite3
gsqlite3-database=${folder}/pdns.sqlite
gsqlite3-dnssec=yes
gsqlite3-pragma-synchronous=0
local-address=127.0.0.1
local-port=${this.port}
query-local-address=${this.from}
socket-dir=${folder}
secondary=yes
xfr-cycle-interval=1
allow-axfr-ips=127.0.0.0/8
allow-unsigned-notify=no
webserver=no
`;
      writeFileSync(path.join(folder, "pdns.conf"), conf);
      const util = (...args) => execFileSync("pdnsutil", [`--config-dir=${folder}`, ...args], { stdio: "pipe" });
      const schema = "/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql";
      execFileSync("python3", [
        "-c",
        "import sqlite3,sys\nd=sqlite3.connect(sys.argv[1]);d.executescript(open(sys.argv[2]).read());d.commit()",
        `${folder}/pdns.sqlite`,
        schema,
      ]);
      util("import-tsig-key", "corp", "hmac-sha256", SECRET);
      // Asks for whole zones: PowerDNS 4.7.3 stores what an IXFR changes with auth = 0, for which it answers NODATA.
      const rows = allZones.map(
        (zone) => `insert into domains(name,master,type) values('${zone}','127.0.0.1:${PRIMARY}','SLAVE');
insert into domainmetadata(domain_id,kind,content) select id,'AXFR-MASTER-TSIG','corp' from domains where name='${zone}';`,
      );
      execFileSync(
        "python3",
        [
          "-c",
          "import sqlite3,sys\nd=sqlite3.connect(sys.argv[1]);d.executescript(sys.stdin.read());d.commit()",
          `${folder}/pdns.sqlite`,
        ],
        { input: rows.join("\n") },
      );
      return [`--config-dir=${folder}`, "--daemon=no", "--guardian=no"];
    },
  },
  unbound: {
    program: "/usr/sbin/unbound",
    port: 15_405,
    // Its transfers come from whichever address the system chooses.
    from: "127.0.0.1",
    key: false,
    isResolver: true,
    run(folder) {
      const conf = `server:
  interface: 127.0.0.1
  port: ${this.port}
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  do-not-query-localhost: no
  do-daemonize: no
  local-zone: "test." nodefault
  module-config: "iterator"
remote-control:
  control-enable: no
${allZones.map((zone) => `auth-zone:\n  name: ${zone}\n  primary: 127.0.0.1@${PRIMARY}\n  allow-notify: 127.0.0.1\n  for-downstream: yes\n  for-upstream: yes\n  fallback-enabled: no\n`).join("")}`;
      writeFileSync(path.join(folder, "unbound.conf"), conf);
      return ["-d", "-c", path.join(folder, "unbound.conf")];
    },
  },
  "bind resolver": {
    program: "/usr/sbin/named",
    port: 15_406,
    from: "127.0.2.6",
    key: true,
    isResolver: true,
    run(folder) {
      return named(folder, this, "recursion yes; allow-recursion { any; };");
    },
  },
};

function named(folder, { port, from }, lines) {
  const conf = `options { directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none;
  session-keyfile "${folder}/session.key"; allow-transfer { any; }; allow-query { any; }; notify no; dnssec-validation no;
  serial-query-rate 1000; transfer-source ${from}; ${lines} };
controls { };
key corp { algorithm hmac-sha256; secret "${SECRET}"; };
${allZones.map((zone) => `zone "${zone}" { type secondary; primaries { 127.0.0.1 port ${PRIMARY} key corp; }; file "${zone}"; min-refresh-time 60; };`).join("\n")}
`;
  writeFileSync(path.join(folder, "named.conf"), conf);
  return ["-g", "-n", "1", "-c", path.join(folder, "named.conf")];
}

/** Passes datagrams on to a secondary; loses the next NOTIFYs of a zone if told. */
async function startRelay({ port, from: own }) {
  const front = createSocket("udp4");
  const relay = { lose: 0, port: 0, close: () => front.close() };
  front.on("message", (message, from) => {
    const isNotify = (message[2] ?? 0) >> 3 === 4;
    if (isNotify && relay.lose > 0) {
      relay.lose -= 1;
      return;
    }
    const back = createSocket("udp4");
    back.on("message", (reply) => {
      front.send(reply, from.port, from.address);
      back.close();
      clearTimeout(timer);
    });
    const timer = setTimeout(() => back.close(), 1_000);
    back.send(message, port, "127.0.0.1");
  });
  front.bind(0, own);
  await once(front, "listening");
  relay.port = front.address().port;
  return relay;
}

const APISERVER_CODE = `require("net").createServer((s)=>{s.on("error",()=>{})}).listen(${APISERVER},process.argv[1],()=>console.log("up"))`;
async function startApiserver(id) {
  const child = startChild(process.execPath, ["-e", APISERVER_CODE, addressOf(id)], HOME);
  await once(child.stdout, "data");
  return child;
}

function writeZone(relays, chosen) {
  const to = chosen.map(
    (name) => `{ address: "${SERVERS[name].from}:${relays[name].port}"${SERVERS[name].key ? ", key: corp" : ""} }`,
  );
  const transfer = `transfer: { to: [${to.join(", ")}] }\n`;
  mkdirSync(path.join(HOME, "zones"), { recursive: true });
  const targets = `{ ${IDS.map((id) => `${id}: ${addressOf(id)}`).join(", ")} }`;
  writeFileSync(
    path.join(HOME, "zones", "k8s.yaml"),
    `zone: ${ZONE}
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
records: |
  registry 300 IN A 192.0.2.20
${transfer}endpoints:
  api: { port: ${APISERVER}, ttl: 300, targets: ${targets}, probe: { type: tcp } }
  other: { port: ${APISERVER}, targets: ${targets}, probe: { type: none } }
`,
  );
  for (const zone of zoneNames) {
    writeFileSync(
      path.join(HOME, "zones", `${zone}.yaml`),
      `zone: ${zone}
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
${transfer}endpoints:
  api: { port: ${APISERVER}, targets: { cp1: 127.0.1.1, cp2: 127.0.1.2, cp3: 127.0.1.3 }, probe: { type: none } }
`,
    );
  }
  writeFileSync(path.join(HOME, "corp.tsig"), SECRET, { mode: 0o600 });
  writeFileSync(
    path.join(HOME, "livezone.yaml"),
    `listen: ["127.0.0.1:${PRIMARY}"]
stateDir: state
admin: { socket: admin.sock }
log: { level: debug }
transfer: { keys: { corp: { secretFile: corp.tsig } } }
zones: [zones/*.yaml]
`,
  );
}

const query = (port, name = NAME, type = "A") =>
  ask({ server: { address: "127.0.0.1", port }, name, type, recurse: false, timeoutMs: 300 }).catch(() => undefined);
const addressesOf = async (port, name = NAME) => (await query(port, name))?.answers.map(({ data }) => data) ?? [];
async function serialOf(port, zone = ZONE) {
  const reply = await query(port, zone, "SOA");
  return Number(reply?.answers.find(({ type }) => type === "SOA")?.data.split(" ")[2]);
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const shown = (numbers) => `median ${Math.round(median(numbers))} ms, worst ${Math.round(Math.max(...numbers))} ms`;

const admin = createAdminClient({ kind: "socket", path: path.join(HOME, "admin.sock") });
async function force(endpoint, id, isUp) {
  if (values.primary === "knot") return updateKnot(endpoint, id, isUp);
  const at = `/api/v1/endpoints/${endpoint}/targets/${id}`;
  const reply = isUp
    ? await admin.ask("POST", `${at}/unforce`, {})
    : await admin.ask("POST", `${at}/force`, { health: "down", force: true });
  if (reply.status >= 300) throw new Error(`${at}: ${reply.status} ${JSON.stringify(reply.body)}`);
}

/** Has Knot change a record, and waits until it answers so. */
async function updateKnot(endpoint, id, isUp) {
  const before = await serialOf(PRIMARY);
  const what = isUp ? `add ${endpoint}. 5 A ${addressOf(id)}` : `delete ${endpoint}. A ${addressOf(id)}`;
  const input = `server 127.0.0.1 ${PRIMARY}\nzone ${ZONE}.\nupdate ${what}\nsend\n`;
  updater.stdin.write(input);
  await until("the update", async () => (await serialOf(PRIMARY)) !== before);
}

/** Knot as the primary of one zone. It notifies over TCP, which the relays do not know. */
function startKnotPrimary(chosen) {
  const folder = path.join(HOME, "primary");
  mkdirSync(folder);
  const addresses = (name) => IDS.map((id) => `${name} A ${addressOf(id)}\n`).join("");
  writeFileSync(
    path.join(folder, "zone"),
    `$TTL 5\n@ SOA ns1 hostmaster 1 60 30 1209600 5\n@ NS ns1\nns1 A 127.0.0.1\n${addresses("api")}${addresses("other")}`,
  );
  const remotes = chosen.map((name, index) => {
    const key = SERVERS[name].key ? "    key: corp\n" : "";
    return `  - id: to${index}\n    address: 127.0.0.1@${SERVERS[name].port}\n${key}`;
  });
  writeFileSync(
    path.join(folder, "knot.conf"),
    `server:
    rundir: ${folder}
    listen: 127.0.0.1@${PRIMARY}
log:
  - target: stderr
    any: info
database:
    storage: ${folder}
key:
  - id: corp
    algorithm: hmac-sha256
    secret: ${SECRET}
remote:
${remotes.join("")}acl:
  - id: signed
    address: 127.0.0.0/8
    key: corp
    action: transfer
  - id: unsigned
    address: 127.0.0.1
    action: [transfer, update]
zone:
  - domain: ${ZONE}
    file: ${folder}/zone
    zonefile-sync: -1
    zonefile-load: whole
    acl: [signed, unsigned]
    notify: [${chosen.map((_, index) => `to${index}`).join(", ")}]
`,
  );
  return startChild("/usr/sbin/knotd", ["-c", path.join(folder, "knot.conf")], folder);
}

/** Kills one apiserver after the other; milliseconds from the primary's changed answer to that of each secondary. */
async function kills(chosen, apiservers, viaPort) {
  const lags = Object.fromEntries(chosen.map((name) => [name, []]));
  const noticed = [];
  const clients = [];
  for (let round = 0; round < KILLS; round += 1) {
    const id = IDS[round % IDS.length];
    const gone = addressOf(id);
    const client = connectAll(viaPort);
    await sleep(500);
    const killedAt = performance.now();
    apiservers[id].kill("SIGKILL");
    const without = async (name, port) => {
      while (performance.now() < killedAt + 10_000) {
        const answers = await addressesOf(port);
        if (answers.length > 0 && !answers.includes(gone)) return performance.now();
        await sleep(2);
      }
      console.log(`  ${name} still answers with ${gone} 10 s after the kill: ${JSON.stringify(await query(port))}`);
      return performance.now();
    };
    const looks = chosen.map((name) => without(name, SERVERS[name].port));
    const all = await Promise.all([without("the primary", PRIMARY), ...looks]);
    noticed.push(all[0] - killedAt);
    for (const [index, name] of chosen.entries()) lags[name].push(Math.max(0, all[index + 1] - all[0]));
    await sleep(1_500);
    clients.push(Math.max(0, client.stop() - killedAt));
    apiservers[id] = await startApiserver(id);
    await until("back", async () => {
      for (const name of ["primary", ...chosen]) {
        const port = name === "primary" ? PRIMARY : SERVERS[name].port;
        if (!(await addressesOf(port)).includes(gone)) return false;
      }
      return true;
    });
  }
  console.log(`\nkilled ${KILLS} times: withdrawn by the primary ${shown(noticed)}`);
  for (const name of chosen) console.log(`  ${name}: ${shown(lags[name])} after the primary`);
  console.log(`  client through Unbound (TTL 300): last failed or slow connection ${shown(clients)} after the kill`);
}

/** A new connection every 50 ms to the first address that a resolver gives. */
function connectAll(port) {
  let lastBad = 0;
  const timer = setInterval(async () => {
    const began = performance.now();
    const [first] = await addressesOf(port);
    const bad = () => {
      lastBad = Math.max(lastBad, performance.now());
    };
    if (first === undefined) return bad();
    const socket = connect({ host: first, port: APISERVER });
    socket.setTimeout(1_000, () => socket.destroy(new Error("slow")));
    socket.once("connect", () => {
      if (performance.now() - began > 500) bad();
      socket.destroy();
    });
    socket.once("error", bad);
  }, 50);
  return {
    stop() {
      clearInterval(timer);
      return lastBad;
    },
  };
}

/** The zone as the primary has it: every record as a line, without the SOA's serial. */
function transferred(port, zone) {
  // The secondaries let anyone on loopback look, and some refuse a signature that they did not ask for.
  const key = port === PRIMARY ? ["-y", `hmac-sha256:corp:${SECRET}`] : [];
  const args = ["@127.0.0.1", "-p", String(port), zone, "AXFR", "+onesoa", "+noall", "+answer", ...key];
  const output = spawnSync("dig", args, { encoding: "utf8" }).stdout;
  const lines = output.split("\n").filter((line) => /\sIN\s/.test(line));
  return lines.map((line) => line.replace(/\s+/g, " ").toLowerCase()).sort();
}

/** Names what differs between the primary and a secondary, record by record; resolvers are asked for each RRset. */
async function differences(name, zone) {
  const { port, isResolver } = SERVERS[name];
  const right = transferred(PRIMARY, zone);
  if (right.length < 3) return ["the primary gave no zone"];
  if (!isResolver) {
    const theirs = transferred(port, zone);
    return [
      ...right.filter((line) => !theirs.includes(line)).map((line) => `- ${line}`),
      ...theirs.filter((line) => !right.includes(line)).map((line) => `+ ${line}`),
    ];
  }
  const wrong = [];
  const sets = new Map();
  for (const line of right) {
    const [owner, ttl, , type, ...data] = line.split(" ");
    const key = `${owner} ${type}`;
    sets.set(key, [...(sets.get(key) ?? []), `${ttl} ${data.join(" ")}`]);
  }
  for (const [key, lines] of sets) {
    const [owner, type] = key.split(" ");
    const reply = await query(port, owner.slice(0, -1), type.toUpperCase());
    const got = (reply?.answers ?? []).map(({ ttl, data }) => `${ttl} ${data.toLowerCase()}`).sort();
    if (JSON.stringify(got) !== JSON.stringify(lines.sort())) wrong.push(`${key}: ${got} instead of ${lines}`);
  }
  return wrong;
}

async function allCurrent(chosen, zones, timeoutMs) {
  const began = performance.now();
  const took = Object.fromEntries(chosen.map((name) => [name, 0]));
  await until(
    "all current",
    async () => {
      let isDone = true;
      for (const name of chosen) {
        if (took[name] > 0) continue;
        let isCurrent = true;
        for (const zone of zones) {
          const [ours, theirs] = await Promise.all([serialOf(PRIMARY, zone), serialOf(SERVERS[name].port, zone)]);
          if (ours !== theirs) {
            isCurrent = false;
            break;
          }
        }
        if (isCurrent) took[name] = performance.now() - began;
        else isDone = false;
      }
      return isDone;
    },
    timeoutMs,
  );
  return took;
}

/** How often each secondary has transferred the zone whole, and only what changed. */
function transfersOf(chosen, livezone) {
  const isKnot = values.primary === "knot";
  const lines = livezone.output.split("\n").filter((line) => line.includes(isKnot ? "outgoing" : `"zone":"${ZONE}"`));
  const [axfr, ixfr] = isKnot
    ? [/ AXFR, outgoing.* started/, / IXFR, outgoing.* started/]
    : [/zone transferred/, /changes transferred/];
  const count = (name, message) => {
    const from = isKnot ? `remote ${SERVERS[name].from}@` : `"secondary":"${SERVERS[name].from}"`;
    return lines.filter((line) => line.includes(from) && message.test(line)).length;
  };
  return Object.fromEntries(chosen.map((name) => [name, { axfr: count(name, axfr), ixfr: count(name, ixfr) }]));
}

function since(before, after) {
  return Object.entries(after)
    .map(([name, { axfr, ixfr }]) => `${name} ${axfr - before[name].axfr} and ${ixfr - before[name].ixfr}`)
    .join(", ");
}

async function randomChanges(chosen, livezone) {
  const down = new Set();
  const before = transfersOf(chosen, livezone);
  const began = performance.now();
  let made = 0;
  while (made < CHANGES) {
    const endpoint = Math.random() < 0.5 ? NAME : `other.${ZONE}`;
    const id = IDS[Math.floor(Math.random() * IDS.length)];
    const key = `${endpoint} ${id}`;
    if (!down.has(key) && [...down].filter((one) => one.startsWith(endpoint)).length >= IDS.length - 1) continue;
    await force(endpoint, id, down.has(key));
    if (!down.delete(key)) down.add(key);
    made += 1;
    if (made % 50 === 0) await sleep(Math.random() * 300);
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const took = await allCurrent(chosen, [ZONE], 40_000);
  console.log(
    `\n${CHANGES} random changes in ${seconds} s; AXFRs and IXFRs: ${since(before, transfersOf(chosen, livezone))}`,
  );
  for (const name of chosen) {
    const wrong = await differences(name, ZONE);
    console.log(
      `  ${name}: current ${Math.round(took[name])} ms after the last; ${wrong.length === 0 ? "the same record by record" : `DIFFERS: ${wrong.slice(0, 8).join("; ")}`}`,
    );
  }
  for (const key of down) await force(...key.split(" "), true);
  await allCurrent(chosen, [ZONE], 40_000);
}

async function lostNotifies(chosen, relays) {
  await sleep(500);
  for (const name of chosen) relays[name].lose = 3;
  const lags = Object.fromEntries(chosen.map((name) => [name, 0]));
  await force(NAME, "cp1", false);
  const began = performance.now();
  await Promise.all(
    chosen.map(async (name) => {
      await until(name, async () => !(await addressesOf(SERVERS[name].port)).includes(addressOf("cp1")), 60_000);
      lags[name] = performance.now() - began;
    }),
  );
  console.log(`\nfirst three NOTIFYs lost: ${chosen.map((name) => `${name} ${Math.round(lags[name])} ms`).join(", ")}`);
  for (const name of chosen) relays[name].lose = 0;
  await force(NAME, "cp1", true);
}

/** 20 changes a second: how old the newest change is that a secondary does not have, looked at every 100 ms. */
async function steady(chosen, livezone) {
  const before = transfersOf(chosen, livezone);
  const history = [];
  let isOver = false;
  const worst = Object.fromEntries(chosen.map((name) => [name, 0]));
  const watching = chosen.map(async (name) => {
    while (!isOver) {
      const at = performance.now();
      const serial = await serialOf(SERVERS[name].port);
      const missing = history.find((one) => one.serial > serial);
      if (missing !== undefined && missing.at < at) worst[name] = Math.max(worst[name], at - missing.at);
      await sleep(100);
    }
  });
  let isDown = false;
  const end = performance.now() + SECONDS * 1000;
  for (let next = performance.now(); next < end; next += 50) {
    isDown = !isDown;
    await force(`other.${ZONE}`, "cp2", !isDown);
    history.push({ serial: await serialOf(PRIMARY), at: performance.now() });
    await sleep(Math.max(0, next + 50 - performance.now()));
  }
  isOver = true;
  await Promise.all(watching);
  const took = await allCurrent(chosen, [ZONE], 40_000);
  console.log(
    `\n${history.length} changes in ${SECONDS} s; AXFRs and IXFRs: ${since(before, transfersOf(chosen, livezone))}; most behind, and current after the end`,
  );
  for (const name of chosen) console.log(`  ${name}: ${Math.round(worst[name])} ms; ${Math.round(took[name])} ms`);
  if (isDown) await force(`other.${ZONE}`, "cp2", true);
  memory(livezone);
}

async function manyZones(chosen, livezone) {
  const down = new Set();
  const end = performance.now() + Math.min(30, SECONDS) * 1000;
  let made = 0;
  for (let next = performance.now(); next < end; next += 100) {
    const zone = zoneNames[Math.floor(Math.random() * zoneNames.length)];
    await force(`api.${zone}`, "cp1", down.has(zone));
    if (!down.delete(zone)) down.add(zone);
    made += 1;
    await sleep(Math.max(0, next + 100 - performance.now()));
  }
  const took = await allCurrent(chosen, zoneNames, 60_000);
  console.log(`\n${made} changes of ${ZONES} zones, 10 a second: all current after the last`);
  for (const name of chosen) console.log(`  ${name}: ${Math.round(took[name])} ms (the time to look included)`);
  memory(livezone);
}

function memory(livezone) {
  const kib = execFileSync("ps", ["-o", "rss=", "-p", String(livezone.pid)], { encoding: "utf8" }).trim();
  console.log(`  livezone's memory: ${Math.round(Number(kib) / 1024)} MiB`);
}

const chosen = Object.keys(SERVERS).filter((name) => {
  const { program, needs = program } = SERVERS[name];
  const isThere = existsSync(program) && existsSync(needs);
  if (values.without.split(",").includes(name)) return false;
  if (!isThere) console.log(`left out, since it is not installed: ${name}`);
  return isThere;
});
const relays = {};
for (const name of chosen) relays[name] = await startRelay(SERVERS[name]);
writeZone(relays, chosen);
const apiservers = {};
for (const id of IDS) apiservers[id] = await startApiserver(id);
const livezone =
  values.primary === "knot"
    ? startKnotPrimary(chosen)
    : startChild(
        process.execPath,
        [path.resolve(import.meta.dirname, "../dist/main.js"), "serve", "--config", "livezone.yaml"],
        HOME,
      );
const updater = values.primary === "knot" ? spawn("knsupdate", [], { stdio: ["pipe", "ignore", "ignore"] }) : undefined;
process.on("exit", () => updater?.kill());
await until("ready", async () =>
  values.primary === "knot" ? Number.isInteger(await serialOf(PRIMARY)) : livezone.output.includes('"msg":"ready"'),
).catch((error) => {
  console.log(livezone.output.slice(-2_000));
  throw error;
});
const servers = {};
for (const name of chosen) {
  const folder = path.join(HOME, name.replace(" ", "-"));
  mkdirSync(folder);
  servers[name] = startChild(SERVERS[name].program, SERVERS[name].run(folder), folder);
}
try {
  for (const name of chosen) {
    await until(`${name} has the zone`, async () => Number.isInteger(await serialOf(SERVERS[name].port)), 60_000).catch(
      (error) => {
        console.log(`${error.message}\n${servers[name].output.slice(-1500)}`);
        throw error;
      },
    );
  }
  const took = await allCurrent(chosen, allZones, 60_000);
  console.log(
    `all have ${allZones.length} zones: ${chosen.map((name) => `${name} ${Math.round(took[name])} ms`).join(", ")}`,
  );
  if (PARTS.has("kills")) await kills(chosen, apiservers, SERVERS.unbound.port);
  if (PARTS.has("changes")) await randomChanges(chosen, livezone);
  if (PARTS.has("lost")) await lostNotifies(chosen, relays);
  if (PARTS.has("steady")) await steady(chosen, livezone);
  if (PARTS.has("zones")) await manyZones(chosen, livezone);
} catch (error) {
  console.log(error);
  console.log(
    livezone.output
      .split("\n")
      .filter((line) => /"level":(40|50)|warn|error/.test(line))
      .slice(-10)
      .join("\n"),
  );
  process.exitCode = 1;
}
process.exit();

// Time from the failure of an apiserver to the changed answer, with livezone's default settings, over loopback.
//
//     node bench/withdrawal.mjs [ROUNDS]      (default 30; about 8 minutes)
//
// Thirty stand-in apiservers, one endpoint; the server is asked every 5 ms, which is the precision of the figures.
// Each apiserver fails at most twice, so that none is taken to flap. Runs in a network of its own if it may
// make one; without one the black hole is left out.
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startApiserver } from "../dist/demo/apiserver-process.js";
import { createAuthority } from "../dist/demo/certificates.js";
import { enterNamespace, isInNamespace, mayMakeNamespace, nft } from "./namespace.mjs";

const ROUNDS = Number(process.argv[2] ?? 30);
const TARGETS = 30;
const PORT = 16_443;
const DNS_PORT = 15_353;
const NAME = "api.k8s.example.com";
const ASK_EVERY_MS = 5;
const INTERVAL_MS = 2_000;
const TIMEOUT_MS = 3_000;
const CONNECT_TIMEOUT_MS = 1_500;
/** Timeouts in a row that withdraw. */
const TIMEOUTS = 2;

if (mayMakeNamespace()) await enterNamespace(fileURLToPath(import.meta.url), String(ROUNDS));

const PARTS = [
  {
    name: "killed (SIGKILL)",
    rounds: ROUNDS,
    median: 350,
    worst: 800,
    fail: (target) => target.apiserver.crash(),
    mend: (target) => target.apiserver.revive(),
  },
  {
    name: "/readyz says 500",
    rounds: Math.ceil(ROUNDS / 2),
    worst: INTERVAL_MS + 500,
    fail: (target) => target.apiserver.setReady(false),
    mend: (target) => target.apiserver.setReady(true),
  },
  {
    name: "hung (SIGSTOP)",
    rounds: Math.ceil(ROUNDS / 5),
    worst: INTERVAL_MS * 1.1 + TIMEOUTS * TIMEOUT_MS + 500,
    fail: async (target) => target.apiserver.hang(),
    mend: async (target) => target.apiserver.resume(),
  },
  {
    name: "black hole (nftables drop)",
    rounds: isInNamespace ? Math.ceil(ROUNDS / 5) : 0,
    worst: INTERVAL_MS * 1.1 + TIMEOUTS * CONNECT_TIMEOUT_MS + 500,
    fail: async ({ address }) => nft("add", "element", "ip", "bench", "dark", `{ ${address} }`),
    mend: async ({ address }) => nft("delete", "element", "ip", "bench", "dark", `{ ${address} }`),
  },
];

if (isInNamespace) {
  nft("add", "table", "ip", "bench");
  nft("add", "set", "ip", "bench", "dark", "{ type ipv4_addr; }");
  nft("add", "chain", "ip", "bench", "in", "{ type filter hook input priority 0; }");
  nft("add", "rule", "ip", "bench", "in", "ip", "daddr", "@dark", "drop");
}

const folder = mkdtempSync(path.join(tmpdir(), "livezone-bench-"));
const authority = await createAuthority();
const certificate = await authority.issue({ names: [NAME] });
const targets = await Promise.all(
  Array.from({ length: TARGETS }, async (_, index) => {
    const address = `127.0.1.${index + 1}`;
    return { address, apiserver: await startApiserver({ address, port: PORT, ...certificate }) };
  }),
);
mkdirSync(path.join(folder, "zones"));
writeFileSync(path.join(folder, "ca.crt"), authority.caPem);
writeFileSync(path.join(folder, "livezone.yaml"), `listen: "127.0.0.1:${DNS_PORT}"\nzones: [zones/*.yaml]\n`);
writeFileSync(
  path.join(folder, "zones", "k8s.yaml"),
  `zone: k8s.example.com
nameservers: { ns1: 127.0.0.1 }
allowSpecialAddresses: true
endpoints:
  api:
    port: ${PORT}
    probe: { ca: ../ca.crt }
    targets:
${targets.map(({ address }, index) => `      cp${index}: ${address}\n`).join("")}`,
);
const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const server = spawn(process.execPath, [main, "serve", "--config", path.join(folder, "livezone.yaml")], {
  stdio: ["ignore", "pipe", "inherit"],
});
/** What the server logged of late, to explain a slow round with. */
let logged = [];
createInterface({ input: server.stdout }).on("line", (line) => logged.push(line));

process.on("exit", () => server.kill("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
const asker = createSocket("udp4");
asker.connect(DNS_PORT, "127.0.0.1");
await once(asker, "connect");
// A query for NAME, A, with room for every address (EDNS 1232).
const labels = NAME.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
const query = Buffer.concat([
  Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]),
  ...labels,
  Buffer.from([0, 0, 1, 0, 1]),
  Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]),
]);
let latest = [];
const waiters = new Set();
asker.on("message", (reply) => {
  const count = reply.readUInt16BE(6);
  const from = query.length - 11;
  latest = Array.from({ length: count }, (_, index) =>
    reply.subarray(from + index * 16 + 12, from + index * 16 + 16).join("."),
  );
  for (const waiter of waiters) waiter();
});
asker.on("error", () => {});
const asking = setInterval(() => asker.send(query), ASK_EVERY_MS);

/** Milliseconds until the answer holds, or does not hold, an address. */
function answered(address, isPresent) {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const waiter = () => {
      const tookMs = performance.now() - startedMs;
      const isThere = latest.includes(address);
      if (isThere !== isPresent && tookMs < 60_000) return;
      waiters.delete(waiter);
      if (isThere === isPresent) resolve(tookMs);
      else reject(new Error(`${address}: the answer did not change within a minute`));
    };
    waiters.add(waiter);
  });
}

let isMissed = false;
try {
  await Promise.all(targets.map(({ address }) => answered(address, true)));
  console.log("| failure | rounds | median | worst | bar |\n|---|---|---|---|---|");
  let next = 0;
  for (const part of PARTS) {
    const gone = [];
    for (let round = 0; round < part.rounds; round += 1) {
      const target = targets[next++ % TARGETS];
      // Anywhere in the interval; and the tripwire is open again.
      await sleep(1_500 + Math.random() * INTERVAL_MS);
      logged = [];
      const changed = answered(target.address, false);
      await part.fail(target);
      const tookMs = await changed;
      gone.push(tookMs);
      if (tookMs > part.worst)
        console.log(`\n${target.address} took ${Math.round(tookMs)} ms:\n${logged.join("\n")}\n`);
      const back = answered(target.address, true);
      await part.mend(target);
      await back;
    }
    if (gone.length === 0) continue;
    gone.sort((a, b) => a - b);
    const median = gone[Math.floor((gone.length - 1) / 2)];
    const worst = gone.at(-1);
    const bars = [part.median && `median ${part.median} ms`, `worst ${part.worst} ms`].filter(Boolean).join(", ");
    console.log(`| ${part.name} | ${gone.length} | ${Math.round(median)} ms | ${Math.round(worst)} ms | ${bars} |`);
    if (worst > part.worst || median > (part.median ?? Number.POSITIVE_INFINITY)) isMissed = true;
  }
} finally {
  clearInterval(asking);
  asker.close();
  server.kill();
  await once(server, "exit");
  for (const { apiserver } of targets) await apiserver.crash();
  rmSync(folder, { recursive: true, force: true });
}
console.log(isMissed ? "\nMissed a bar." : "\nWithin every bar.");
process.exit(isMissed ? 1 : 0);

// What discovery costs: 500 Nodes of 10 KiB, 50 changes a second, against the same targets without discovery.
//
//     node bench/discovery.mjs [SECONDS] [ADDRESSES]      (default 30 1)
//
// livezone runs on one core; the stand-in for the API and the load share the other. ADDRESSES of the changes a second give a Node
// another address; the others are heartbeats, which change nothing that matters. Prints CPU time without queries, memory at the beginning and the
// end, queries a second with and without discovery, and whether each Node's last address arrived.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createAuthority } from "../dist/demo/certificates.js";
import { compile, freePort, median, runLoad } from "./measure.mjs";
import { QUERY_KINDS } from "./queries.mjs";
import { cpuSeconds, residentMb } from "./servers.mjs";

const NODES = 500;
const PER_SECOND = 50;
const NODE_OCTETS = 10 * 1024;
/** Many short rounds, in turn, the order changing: a machine that others share differs by more than discovery costs. */
const ROUNDS = 16;
const LOAD_S = 2;
const NAME = "api.bench.example";
const FOLDER = "LIVEZONE_BENCH_FOLDER";

const relevant = Number(process.argv[3] ?? 1);

const addressOf = (index, generation) =>
  `127.${10 + (generation % 200)}.${10 + Math.floor(index / 200)}.${10 + (index % 200)}`;

if (process.env[FOLDER] !== undefined) await api(process.env[FOLDER]);
else await measure(Number(process.argv[2] ?? 30));

/** The stand-in: list, watch, and changes as long as it is told. */
async function api(folder) {
  process.on("disconnect", () => process.exit());
  const pem = readFileSync(join(folder, "server.pem"), "utf8");
  const watchers = new Set();
  const generations = new Array(NODES).fill(0);
  let version = 1;
  let changes = 0;
  let lists = 0;
  const node = (index) => ({
    metadata: { name: `cp${index}`, resourceVersion: String(version) },
    status: {
      addresses: [{ type: "InternalIP", address: addressOf(index, generations[index]) }],
      conditions: [{ type: "Ready", lastHeartbeatTime: String(version) }],
      images: "x".repeat(NODE_OCTETS),
    },
  });
  const server = createServer({ cert: pem, key: pem }, (request, response) => {
    const url = new URL(request.url, "https://api");
    if (url.searchParams.get("watch") === "1") {
      response.writeHead(200);
      response.flushHeaders();
      watchers.add(response);
      response.on("close", () => watchers.delete(response));
      return;
    }
    const from = Number(url.searchParams.get("continue") ?? 0);
    const limit = Number(url.searchParams.get("limit"));
    if (from === 0) lists += 1;
    const items = Array.from({ length: Math.min(limit, NODES - from) }, (_, at) => node(from + at));
    const more = from + limit < NODES ? { continue: String(from + limit) } : {};
    response.end(JSON.stringify({ metadata: { resourceVersion: String(version), ...more }, items }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  let isChanging = false;
  process.on("message", (wanted) => {
    isChanging = wanted.isChanging;
    process.send({ changes, lists, addresses: generations.map((generation, index) => addressOf(index, generation)) });
  });
  process.send({ port: server.address().port });
  setInterval(() => {
    if (!isChanging) return;
    const index = changes % NODES;
    changes += 1;
    version += 1;
    if (relevant > 0 && changes % Math.round(PER_SECOND / relevant) === 0) generations[index] += 1;
    const line = `${JSON.stringify({ type: "MODIFIED", object: node(index) })}\n`;
    for (const response of watchers) response.write(line);
  }, 1000 / PER_SECOND);
}

async function startLivezone(folder, name, port, lines) {
  const http = await freePort();
  writeFileSync(
    join(folder, `${name}.yaml`),
    `listen: "127.0.0.1:${port}"\nadmin: { http: "127.0.0.1:${http}" }\nlog: { level: error }\nzones: [zone-${name}.yaml]\n`,
  );
  writeFileSync(
    join(folder, `zone-${name}.yaml`),
    `zone: bench.example
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: 9
    whenAllDown: { addresses: [127.0.0.11, 127.0.0.12, 127.0.0.13] }
    probe: { type: tcp, interval: 60s, timeout: 1s, tripwire: false }
${lines}`,
  );
  const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
  const child = spawn(
    "taskset",
    ["-c", "0", process.execPath, main, "serve", "--config", join(folder, `${name}.yaml`)],
    {
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  const status = async () => (await fetch(`http://127.0.0.1:${http}/api/v1/status`)).json();
  for (;;) {
    const ready = await fetch(`http://127.0.0.1:${http}/readyz`).catch(() => undefined);
    if (ready?.ok) break;
    await sleep(100);
  }
  return { child, port, pids: [child.pid], targets: async () => (await status()).zones[0].endpoints[0].targets };
}

async function measure(seconds) {
  const folder = mkdtempSync(join(tmpdir(), "livezone-discovery-"));
  const children = [];
  process.on("exit", () => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  const { caPem, issue } = await createAuthority();
  const { certPem, keyPem } = await issue({ names: ["127.0.0.1"] });
  writeFileSync(join(folder, "server.pem"), `${certPem}\n${keyPem}`);
  writeFileSync(join(folder, "q.txt"), `${QUERY_KINDS.a(NAME).join("\n")}\n`);
  const load = compile(folder, "load");
  const stub = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
    ...{ execPath: "taskset", execArgv: ["-c", "1", process.execPath], env: { ...process.env, [FOLDER]: folder } },
  });
  children.push(stub);
  const [{ port: apiPort }] = await once(stub, "message");
  const ask = async (isChanging) => {
    stub.send({ isChanging });
    return (await once(stub, "message"))[0];
  };
  const cluster = {
    server: `https://127.0.0.1:${apiPort}`,
    "certificate-authority-data": Buffer.from(caPem).toString("base64"),
  };
  const kubeconfig = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user: { token: "t" } }],
  };
  writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
  const written = Array.from({ length: NODES }, (_, index) => `cp${index}: ${addressOf(index, 0)}`).join(", ");
  const plain = await startLivezone(folder, "plain", await freePort(), `    targets: { ${written} }\n`);
  children.push(plain.child);
  const discovering = await startLivezone(
    ...[folder, "discovering", await freePort()],
    `    targets: { first: 127.0.0.99 }\n    discover: [{ type: kubernetes, kubeconfig: kubeconfig }]\n    maxTargets: 1000\n    forgetAfter: 1m\n`,
  );
  children.push(discovering.child);
  while ((await discovering.targets()).length < NODES) await sleep(100);

  await ask(true);
  await sleep(2_000);
  const [beginMb, beginCpu] = [residentMb(discovering.pids), cpuSeconds(discovering.pids)];
  const plainCpu = cpuSeconds(plain.pids);
  await sleep(seconds * 1_000);
  const share = ((cpuSeconds(discovering.pids) - beginCpu) / seconds) * 100;
  const plainShare = ((cpuSeconds(plain.pids) - plainCpu) / seconds) * 100;
  const endMb = residentMb(discovering.pids);
  console.log(`CPU: ${share.toFixed(1)} % of a core with, ${plainShare.toFixed(1)} % without`);
  console.log(
    `memory: ${beginMb.toFixed(0)} MB, after ${seconds} s ${endMb.toFixed(0)} MB; without ${residentMb(plain.pids).toFixed(0)} MB`,
  );

  const rates = { plain: [], discovering: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = Object.entries({ plain, discovering });
    for (const [name, server] of round % 2 === 0 ? order : order.reverse()) {
      // The other must not take the core away.
      const other = server === plain ? discovering : plain;
      other.child.kill("SIGSTOP");
      const args = ["--port", server.port, "--queries", join(folder, "q.txt"), "--seconds", LOAD_S, "--warmup", 0.5];
      rates[name].push((await runLoad(load, args)).qps);
      other.child.kill("SIGCONT");
    }
  }
  const [without, with_] = [median(rates.plain), median(rates.discovering)];
  const ratios = rates.plain.map((rate, round) => rates.discovering[round] / rate).sort((a, b) => a - b);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => ratios[Math.floor(part * ROUNDS)].toFixed(3));
  console.log(
    `queries/s: ${Math.round(with_)} with, ${Math.round(without)} without; ratio of each pair: median ${middle}, half of them ${low} to ${high}`,
  );

  const { changes, lists, addresses } = await ask(false);
  await sleep(1_000);
  const arrived = new Map(
    (await discovering.targets()).map((target) => [target.id, target.addresses.map((one) => one.address)]),
  );
  const missed = addresses.filter((address, index) => arrived.get(`cp${index}`)?.includes(address) !== true);
  console.log(`${changes} changes, ${lists} lists: ${missed.length} final states missed`);
  process.exit(missed.length === 0 ? 0 : 1);
}

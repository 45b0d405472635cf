// How soon HAProxy and nginx follow livezone: from the withdrawal (or the return) of a target in livezone's log to the last (or
// first) new connection that they send to it. Established connections must survive.
//
//     node bench/neighbours.mjs [ROUNDS]      (default 10; about 2 minutes, needs haproxy, and nginx with its stream module)
//
// The three stand-in apiservers say that they are not ready, but go on accepting connections: who still sends some is seen. The
// configurations are those of docs/neighbours.md, HAProxy's without its own check.
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const ROUNDS = Number(process.argv[2] ?? 10);
const ADDRESSES = ["127.0.7.1", "127.0.7.2", "127.0.7.3"];
const [GOING] = ADDRESSES;
const ENDPOINT = "api.k8s.example.test";
const PORT = 16_443;
const DNS_PORT = 15_353;
const PROXY_PORT = 17_443;
/** Milliseconds between two connections of the one who looks. */
const LOOK_EVERY_MS = 10;
/** Milliseconds that a neighbour may take beyond its own interval. */
const BAR_MS = 1_000;
/** Milliseconds of `timeout resolve` in docs/neighbours.md. */
const HAPROXY_INTERVAL_MS = 1_000;
const WAIT_MS = 4_000;

const root = fileURLToPath(new URL("..", import.meta.url));
const load = async (file) => (await runnerImport(path.join(root, "test/support", file))).module;
const { LIVEZONE_MAIN, startLivezone } = await load("livezone.ts");
const { startProcess } = await load("processes.ts");
const STREAM_MODULE = "/usr/lib/nginx/modules/ngx_stream_module.so";

const ready = new Map(ADDRESSES.map((address) => [address, true]));
const tasks = [];
const cleanup = (task) => tasks.push(task);

/** Answers `GET` as an apiserver's /readyz, anything else with its address; keeps the connection. */
async function startStandIn(address) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      if (!data.toString().startsWith("GET ")) return void socket.write(`${address}\n`);
      socket.end(
        `HTTP/1.1 ${ready.get(address) ? "200 OK" : "500 No"}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      );
    });
  });
  server.listen(PORT, address);
  await once(server, "listening");
  cleanup(() => server.close());
}

/** A connection through the neighbour, and who answered; it stays open. */
function connectOnce() {
  return new Promise((resolve) => {
    const socket = connect(PROXY_PORT, "127.0.0.1", () => socket.write("who\n"));
    socket.on("error", () => resolve({ socket, who: undefined }));
    socket.on("close", () => resolve({ socket, who: undefined }));
    socket.on("data", (data) => resolve({ socket, who: data.toString().trim() }));
  });
}

/** Connects again and again until `isOver`; when each connection began, and who answered. */
async function watch(isOver) {
  const seen = [];
  while (!isOver()) {
    const atMs = Date.now();
    const { socket, who } = await connectOnce();
    socket.destroy();
    seen.push({ atMs, who });
    await sleep(LOOK_EVERY_MS);
  }
  return seen;
}

/** One change: what livezone took to say so, and what the neighbour took from then on. Milliseconds. */
async function change(livezone, isReady) {
  const message = isReady ? "target returned" : "target withdrawn";
  const before = livezone.logs(message).length;
  const changedMs = Date.now();
  ready.set(GOING, isReady);
  let endMs = changedMs + 10_000;
  const watched = watch(() => Date.now() > endMs);
  while (livezone.logs(message).length === before) await sleep(5);
  const toldMs = Date.parse(livezone.logs(message).at(-1).time) || Number(livezone.logs(message).at(-1).time);
  endMs = Date.now() + WAIT_MS;
  const seen = await watched;
  const reached = seen.filter(({ who }) => who === GOING).map(({ atMs }) => atMs);
  const lost = seen.filter(({ who }) => who === undefined).length;
  const followedMs = isReady ? (reached.find((atMs) => atMs >= changedMs) ?? Infinity) : (reached.at(-1) ?? toldMs);
  return { detectionMs: toldMs - changedMs, followMs: Math.max(0, followedMs - toldMs), lost };
}

function figures(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return `median ${sorted[sorted.length >> 1].toFixed(0)} ms, worst ${sorted.at(-1).toFixed(0)} ms`;
}

async function measure(name, livezone, ownIntervalMs) {
  const until = Date.now() + 20_000;
  for (const seen = new Set(); seen.size < ADDRESSES.length; ) {
    if (Date.now() > until) throw new Error(`${name} does not reach every stand-in`);
    const { socket, who } = await connectOnce();
    socket.destroy();
    if (who !== undefined) seen.add(who);
    await sleep(LOOK_EVERY_MS);
  }
  // A client that stays connected to the target that goes.
  let kept;
  do kept = await connectOnce();
  while (kept.who !== GOING);
  let isDropped = false;
  kept.socket.on("close", () => {
    isDropped = true;
  });
  const rounds = { withdrawal: [], return: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.withdrawal.push(await change(livezone, false));
    rounds.return.push(await change(livezone, true));
  }
  const limitMs = ownIntervalMs + BAR_MS;
  for (const [kind, list] of Object.entries(rounds)) {
    const follow = list.map(({ followMs }) => followMs);
    const isMet = Math.max(...follow) <= limitMs;
    if (!isMet) process.exitCode = 1;
    console.log(
      `${name.padEnd(8)} ${kind.padEnd(11)} detected: ${figures(list.map(({ detectionMs }) => detectionMs))}; followed: ${figures(follow)}; ` +
        `bar ${limitMs} ms: ${isMet ? "met" : "NOT met"}; connections that failed: ${list.reduce((sum, { lost }) => sum + lost, 0)}`,
    );
  }
  console.log(`${name.padEnd(8)} established connection: ${isDropped ? "DROPPED" : "kept"}`);
  if (isDropped) process.exitCode = 1;
  kept.socket.destroy();
}

function haproxyText() {
  const example = /```haproxy\n(.*?)```/s.exec(readFileSync(path.join(root, "docs/neighbours.md"), "utf8"))[1];
  return example
    .replace("192.0.2.53:53", `127.0.0.1:${DNS_PORT}`)
    .replace(/^\s*nameserver ns2.*\n/m, "")
    .replace(":6443", `127.0.0.1:${PROXY_PORT}`)
    .replaceAll("api.k8s.example.com", ENDPOINT)
    .replace(" check", "");
}

async function startNginx(folder) {
  const upstream = path.join(folder, "upstream.conf");
  const config = path.join(folder, "nginx.conf");
  writeFileSync(
    config,
    `load_module ${STREAM_MODULE};\ndaemon off;\nuser root;\npid ${folder}/nginx.pid;\nerror_log stderr notice;\nevents {}\nstream {
  include ${upstream};\n  server { listen 127.0.0.1:${PROXY_PORT}; proxy_connect_timeout 1s; proxy_pass api_k8s_example_test; }\n}\n`,
  );
  const reload = `test ! -s ${folder}/nginx.pid || nginx -c ${config} -s reload`;
  const words = ["export", "nginx", ENDPOINT, "--admin", `${folder}/admin.sock`, "--output", upstream];
  const exporter = await startProcess(
    process.execPath,
    [LIVEZONE_MAIN, ...words, "--watch", "--reload-command", reload],
    {
      readyWhen: () => existsSync(upstream),
      cleanup,
    },
  );
  const nginx = await startProcess("nginx", ["-c", config], {
    readyWhen: () => existsSync(`${folder}/nginx.pid`),
    cleanup,
  });
  return async () => {
    await exporter.stop();
    await nginx.stop();
  };
}

try {
  for (const address of ADDRESSES) await startStandIn(address);
  const targets = ADDRESSES.map((address, index) => `cp${index + 1}: ${address}`).join(", ");
  const livezone = await startLivezone({
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${DNS_PORT}"]\nadmin: { socket: admin.sock }\nzones: [zone.yaml]\n`,
      // Not suppressed, although it comes and goes.
      "zone.yaml": `zone: k8s.example.test\nnameservers: { ns1: 127.0.0.1 }\nallowSpecialAddresses: true
endpoints:
  api: { port: ${PORT}, ttl: 1, targets: { ${targets} }, probe: { type: http, path: /readyz, interval: 1s, timeout: 900ms, recheck: 200ms, FLAP } }\n`.replace(
        ", FLAP",
        "",
      ),
    },
    cleanup,
  });
  const config = path.join(livezone.folder, "haproxy.cfg");
  writeFileSync(config, haproxyText());
  const haproxy = await startProcess("haproxy", ["-db", "-f", config], { cleanup });
  await measure("HAProxy", livezone, HAPROXY_INTERVAL_MS);
  await haproxy.stop();
  const stopNginx = await startNginx(livezone.folder);
  await measure("nginx", livezone, 0);
  await stopNginx();
} finally {
  for (const task of tasks.reverse()) await task();
}

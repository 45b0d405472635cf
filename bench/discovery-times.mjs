// How soon discovery shows in answers: from a Node's object to its address, from its deletion to the address gone, and from a
// start with the API out of reach to the first answer.
//
//     node bench/discovery-times.mjs [NODES] [STARTS]      (default 20 5)
//
// Probes have the defaults: interval 2 s, recheck 1 s, rise 2. The apiserver of a Node is ready before its object appears, so
// what is measured is the source, the decision and `rise`. The API is a stand-in in this process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ask } from "../dist/client/ask.js";
import { createAuthority } from "../dist/demo/certificates.js";
import { freePort, median } from "./measure.mjs";

const [nodes = 20, starts = 5] = process.argv.slice(2, 4).map(Number);
const NAME = "api.bench.example";
/** Longest wait for anything, milliseconds. */
const LIMIT_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), "livezone-discovery-times-"));
const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const addressOf = (index) => `127.61.0.${10 + index}`;
const port = await freePort();

/** An apiserver that is ready, until it is stopped. */
async function startReady(index) {
  const server = createHttp((_, response) => response.end("ok"));
  server.listen({ host: addressOf(index), port, exclusive: true });
  await once(server, "listening");
  return () => {
    server.closeAllConnections();
    server.close();
  };
}

/** A list that is empty at first, and watches that get every change. */
async function startApi() {
  const { caPem, issue } = await createAuthority();
  const { certPem, keyPem } = await issue({ names: ["127.0.0.1"] });
  const watchers = new Set();
  const known = new Map();
  let version = 1;
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    if (!request.url.includes("watch=1")) {
      response.end(JSON.stringify({ metadata: { resourceVersion: String(version) }, items: [...known.values()] }));
      return;
    }
    response.writeHead(200);
    response.flushHeaders();
    watchers.add(response);
    response.on("close", () => watchers.delete(response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const tell = (type, index) => {
    version += 1;
    const object = {
      metadata: { name: `cp${index}`, resourceVersion: String(version) },
      status: { addresses: [{ type: "InternalIP", address: addressOf(index) }] },
    };
    if (type === "DELETED") known.delete(index);
    else known.set(index, object);
    for (const response of watchers) response.write(`${JSON.stringify({ type, object })}\n`);
  };
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { caPem, port: server.address().port, watchers, tell, stop };
}

function writeFiles(name, api, lines) {
  const own = join(folder, name);
  mkdirSync(own, { recursive: true });
  const cluster = {
    server: `https://127.0.0.1:${api.port}`,
    "certificate-authority-data": Buffer.from(api.caPem).toString("base64"),
  };
  const kubeconfig = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user: { token: "t" } }],
  };
  writeFileSync(join(own, "kubeconfig"), JSON.stringify(kubeconfig));
  writeFileSync(join(own, "targets.json"), JSON.stringify({ first: addressOf(0) }));
  writeFileSync(
    join(own, "zone.yaml"),
    `zone: bench.example
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${port}
    probe: { type: http }
${lines}`,
  );
  return own;
}

async function start(own, dns) {
  writeFileSync(
    join(own, "livezone.yaml"),
    `listen: "127.0.0.1:${dns}"\nstateDir: state\nlog: { level: error }\nzones: [zone.yaml]\n`,
  );
  const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
  const child = spawn(process.execPath, [main, "serve", "--config", join(own, "livezone.yaml")], { stdio: "inherit" });
  children.add(child);
  return async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
    children.delete(child);
  };
}

/** Milliseconds until the answer has the address, or lacks it. */
async function untilAnswered(dns, address, isThere = true) {
  const begun = performance.now();
  while (performance.now() - begun < LIMIT_MS) {
    const reply = await ask({
      server: { address: "127.0.0.1", port: dns },
      name: NAME,
      type: "A",
      timeoutMs: 100,
    }).catch(() => undefined);
    if (reply !== undefined && reply.answers.some((one) => one.address === address) === isThere) {
      return performance.now() - begun;
    }
    await sleep(2);
  }
  throw new Error(`in vain: ${address}`);
}

const shown = (list) =>
  `median ${Math.round(median(list))} ms, ${Math.round(Math.min(...list))} to ${Math.round(Math.max(...list))} ms`;

const stops = [await startReady(0)];
const api = await startApi();
const dns = await freePort();
const own = writeFiles(
  "main",
  api,
  `    targets: { first: ${addressOf(0)} }\n    discover: [{ type: kubernetes, kubeconfig: kubeconfig }]\n`,
);
let stop = await start(own, dns);
await untilAnswered(dns, addressOf(0));
while (api.watchers.size === 0) await sleep(10);

const joins = [];
for (let index = 1; index <= nodes; index += 1) {
  stops.push(await startReady(index));
  await sleep(Math.random() * 500);
  api.tell("ADDED", index);
  joins.push(await untilAnswered(dns, addressOf(index)));
}
console.log(`from a Node's object to its address in the answer: ${shown(joins)}; of that rise: 1000 ms`);

const leaves = [];
for (let index = 1; index <= nodes / 2; index += 1) {
  stops[index]();
  await untilAnswered(dns, addressOf(index), false);
  api.tell("DELETED", index);
  leaves.push(await untilAnswered(dns, addressOf(index), false));
}
console.log(`from the deletion of a Node that is down to its address gone: ${shown(leaves)}`);

const fails = [];
for (let index = Math.floor(nodes / 2) + 1; index <= nodes; index += 1) {
  api.tell("DELETED", index);
  await sleep(300);
  await untilAnswered(dns, addressOf(index));
  stops[index]();
  fails.push(await untilAnswered(dns, addressOf(index), false));
}
console.log(`from the end of an apiserver whose Node is deleted to its address gone: ${shown(fails)}`);
await stop();
api.stop();

const kubernetes = "{ type: kubernetes, kubeconfig: kubeconfig }";
const ways = {
  "what is written": `    targets: { first: ${addressOf(0)} }\n    discover: [${kubernetes}]\n`,
  "a file": `    discover: [${kubernetes}, { type: file, path: targets.json }]\n`,
};
for (const [name, lines] of Object.entries(ways)) {
  const times = { first: [], learned: [] };
  for (let round = 0; round < starts; round += 1) {
    const at = writeFiles(`start-${round}-${lines.length}`, api, lines);
    for (const kind of ["first", "learned"]) {
      const startDns = await freePort();
      stop = await start(at, startDns);
      times[kind].push(await untilAnswered(startDns, addressOf(0)));
      // What was learned is written once a second.
      await sleep(1_500);
      await stop();
    }
  }
  console.log(
    `start without the API, with ${name}: ${shown(times.first)}; again, with its state: ${shown(times.learned)}`,
  );
}
process.exit(0);

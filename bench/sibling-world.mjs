/**
 * Servers that are each other's siblings, each in a network namespace of its own, and their targets in that of the benchmark,
 * through which every packet goes: so any link can be cut, or lose packets.
 */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { nft } from "./namespace.mjs";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

export const ENDPOINT = "api.k8s.example.test";
export const TARGET_PORT = 6443;

/** Where server `i` (from 1) and target `j` (from 1) are. */
export const serverAddress = (i) => `10.77.${i}.1`;
export const targetAddress = (j) => `10.77.100.${j}`;

function run(program, ...args) {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
}

/** Makes the namespace of this process a router between servers and targets. @param targets how many addresses */
export function prepareRouter(targets) {
  writeFileSync("/proc/sys/net/ipv4/ip_forward", "1");
  for (let j = 1; j <= targets; j += 1) run("ip", "address", "add", `${targetAddress(j)}/32`, "dev", "lo");
  nft("add", "table", "ip", "bench");
  nft("add", "chain", "ip", "bench", "links", "{ type filter hook prerouting priority -300; }");
}

/** Lets every packet through again. */
export function mendLinks() {
  nft("flush", "chain", "ip", "bench", "links");
}

/** Drops what goes from one address to another, both ways where both are servers. @param lossPercent 100 = all */
export function cutLink(from, to, lossPercent = 100) {
  for (const [source, destination] of [
    [from, to],
    [to, from],
  ]) {
    const loss = lossPercent === 100 ? [] : ["numgen", "random", "mod", "100", "<", String(lossPercent)];
    nft("add", "rule", "ip", "bench", "links", "ip", "saddr", source, "ip", "daddr", destination, ...loss, "drop");
  }
}

/** Every unordered pair of these servers. */
export function pairs(count) {
  const all = [];
  for (let i = 1; i <= count; i += 1) for (let k = i + 1; k <= count; k += 1) all.push([i, k]);
  return all;
}

/** Processes that must not outlive this one, whatever ends it. */
const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** One server. */
export class Server {
  constructor(index, world) {
    this.index = index;
    this.name = `ns${index}`;
    this.address = serverAddress(index);
    this.world = world;
    this.folder = path.join(world.folder, this.name);
    this.socket = path.join(this.folder, "admin.sock");
    /** Octets that went over its link, both ways. */
    this.link = `s${index}`;
  }

  async prepare() {
    const holder = spawn("unshare", ["--net", "sleep", "86400"], { stdio: "ignore" });
    this.holder = holder;
    children.add(holder);
    await once(holder, "spawn");
    const inside = (...args) => run("nsenter", "-t", String(holder.pid), "-n", ...args);
    // Until `unshare` has made it, the namespace is that of this process.
    const own = spawnSync("readlink", ["/proc/self/ns/net"], { encoding: "utf8" }).stdout;
    while (spawnSync("readlink", [`/proc/${holder.pid}/ns/net`], { encoding: "utf8" }).stdout === own) await sleep(10);
    run("ip", "link", "add", this.link, "type", "veth", "peer", "name", "eth0", "netns", String(holder.pid));
    run("ip", "address", "add", `10.77.${this.index}.254/24`, "dev", this.link);
    run("ip", "link", "set", this.link, "up");
    inside("ip", "link", "set", "lo", "up");
    inside("ip", "address", "add", `${this.address}/24`, "dev", "eth0");
    inside("ip", "link", "set", "eth0", "up");
    inside("ip", "route", "add", "default", "via", `10.77.${this.index}.254`);
    mkdirSync(path.join(this.folder, "zones"), { recursive: true });
    const { secret, count, zone, more = "", siblings = "" } = this.world.options;
    const write = (name, text) => writeFileSync(path.join(this.folder, name), text, { mode: 0o600 });
    write("siblings.key", `${secret}\n`);
    write("zones/k8s.yaml", zone);
    const others = Array.from({ length: count }, (_, k) => k + 1).filter((k) => k !== this.index);
    const places = others.map((k) => [`ns${k}`, `${serverAddress(k)}:9854`]);
    const peers = Object.entries(this.world.options.peers ?? Object.fromEntries(places)).map(
      ([name, place]) => `${name}: "${place}"`,
    );
    const block =
      peers.length === 0
        ? ""
        : `siblings: { name: ${this.name}, listen: "${this.address}:9854", peers: { ${peers.join(", ")} }, secretFile: siblings.key${siblings} }\n`;
    write(
      "livezone.yaml",
      `listen: "${this.address}:53"\nstateDir: ${this.folder}/state\nadmin: { socket: ${this.socket} }\n${block}zones: [zones/*.yaml]\n${more}`,
    );
  }

  /** Starts it, and resolves when it answers its control socket. */
  async start() {
    const log = openSync(path.join(this.folder, "log"), "a");
    const args = ["-t", String(this.holder.pid), "-n", process.execPath, MAIN, "serve", "--config", "livezone.yaml"];
    this.process = spawn("nsenter", args, { cwd: this.folder, stdio: ["ignore", log, log] });
    this.process.on("error", () => {});
    const { process: started } = this;
    children.add(started);
    started.once("exit", () => children.delete(started));
    for (let tries = 0; tries < 600; tries += 1) {
      const status = await this.ask("GET", "/api/v1/status").catch(() => undefined);
      if (status?.body?.ready === true) return;
      if (this.process.exitCode !== null) break;
      await sleep(50);
    }
    throw new Error(
      `${this.name} does not start: ${readFileSync(path.join(this.folder, "log"), "utf8").slice(-2_000)}`,
    );
  }

  async kill(signal = "SIGKILL") {
    if (this.process === undefined || this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill(signal);
    await ended;
  }

  ask(method, url, body) {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? "" : JSON.stringify(body);
      const headers = body === undefined ? {} : { "content-type": "application/json" };
      const asked = request({ socketPath: this.socket, method, path: url, headers, timeout: 15_000 }, (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("end", () => {
          const got = Buffer.concat(parts).toString();
          resolve({ status: response.statusCode, body: got === "" ? undefined : JSON.parse(got) });
        });
        response.on("error", reject);
      });
      asked.on("timeout", () => asked.destroy(new Error("no reply")));
      asked.on("error", reject);
      asked.end(text);
    });
  }

  post(action, target, body = {}) {
    return this.ask("POST", `/api/v1/endpoints/${ENDPOINT}/targets/${target}/${action}`, body);
  }

  async status() {
    return (await this.ask("GET", "/api/v1/status")).body;
  }

  /** Octets since its link was made, in and out. */
  octets() {
    const line = readFileSync("/proc/net/dev", "utf8")
      .split("\n")
      .find((one) => one.trim().startsWith(`${this.link}:`));
    const fields = (line ?? "").trim().split(/[\s:]+/);
    return Number(fields[1]) + Number(fields[9]);
  }

  /** Seconds of processor time that it has used. */
  cpuSeconds() {
    const fields = readFileSync(`/proc/${this.process.pid}/stat`, "utf8").replace(/.*\) /, "").split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  /** Memory, MB. */
  memory() {
    const status = readFileSync(`/proc/${this.process.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }
}

/** Servers, ready to be started. @param options `count`, `zone` (its file), `siblings` and `more` (configuration) */
export async function createWorld(options) {
  const folder = mkdtempSync(path.join(tmpdir(), "livezone-siblings-"));
  const world = { folder, options: { secret: randomBytes(32).toString("hex"), ...options }, servers: [] };
  for (let index = 1; index <= options.count; index += 1) {
    const server = new Server(index, world);
    await server.prepare();
    world.servers.push(server);
  }
  world.start = () => Promise.all(world.servers.map((server) => server.start()));
  world.allHeard = async () => {
    for (const server of world.servers) {
      for (let tries = 0; ; tries += 1) {
        const peers = (await server.status())?.siblings?.peers ?? [];
        if (peers.every(({ condition, trouble }) => condition === "fresh" && trouble === undefined)) break;
        if (tries > 400) throw new Error(`${server.name} hears: ${JSON.stringify(peers)}`);
        await sleep(50);
      }
    }
  };
  world.end = async () => {
    for (const server of world.servers) {
      await server.kill();
      server.holder.kill("SIGKILL");
      spawnSync("ip", ["link", "delete", server.link]);
    }
    rmSync(folder, { recursive: true, force: true });
  };
  return world;
}

/** Asks every server again and again, and takes note of each change of its answer. */
export class Watch {
  constructor(servers, everyMs = 5) {
    this.seen = servers.map(() => []);
    this.sockets = servers.map((server, index) => {
      const socket = createSocket("udp4");
      socket.on("message", (reply) => this.#note(index, addressesIn(reply)));
      socket.on("error", () => {});
      socket.connect(53, server.address);
      return socket;
    });
    this.timer = setInterval(() => {
      for (const socket of this.sockets) {
        try {
          socket.send(QUERY);
        } catch {
          // Not connected yet.
        }
      }
    }, everyMs);
  }

  #note(index, addresses) {
    const key = addresses.sort().join();
    const last = this.seen[index].at(-1);
    if (last?.key !== key) this.seen[index].push({ atMs: performance.now(), key, addresses });
  }

  /** What server `index` (from 0) answered last. */
  now(index) {
    return this.seen[index].at(-1)?.addresses ?? [];
  }

  /** What it answered from a moment on, the answer at that moment first. */
  since(index, fromMs) {
    const all = this.seen[index];
    const first = all.findLastIndex(({ atMs }) => atMs <= fromMs);
    return all.slice(Math.max(0, first));
  }

  /** Resolves with the moment since which it answers so; undefined if it does not in time. */
  async until(index, matches, withinMs) {
    const endMs = performance.now() + withinMs;
    while (performance.now() < endMs) {
      const last = this.seen[index].at(-1);
      if (last !== undefined && matches(last.addresses)) return last.atMs;
      await sleep(5);
    }
    return undefined;
  }

  forget() {
    for (const all of this.seen) all.splice(0, Math.max(0, all.length - 1));
  }

  stop() {
    clearInterval(this.timer);
    for (const socket of this.sockets) socket.close();
  }
}

const QUERY = Buffer.concat([
  Buffer.from([0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
  ...ENDPOINT.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
  Buffer.from([0, 0, 1, 0, 1]),
]);

function addressesIn(reply) {
  const found = [];
  let at = QUERY.length;
  for (let left = reply.readUInt16BE(6); left > 0; left -= 1) {
    while (reply[at] !== 0 && reply[at] < 192) at += reply[at] + 1;
    at += reply[at] === 0 ? 1 : 2;
    const length = reply.readUInt16BE(at + 8);
    if (reply.readUInt16BE(at) === 1) found.push([...reply.subarray(at + 10, at + 14)].join("."));
    at += 10 + length;
  }
  return found;
}

/** Median, 99th percentile and worst of some milliseconds. */
export function spreadOf(samples) {
  const sorted = samples.toSorted((a, b) => a - b);
  const part = (share) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN);
  return { count: sorted.length, median: part(0.5), p99: part(0.99), worst: part(1) };
}

// What siblings promise, measured in network namespaces whose links a packet filter cuts.
//
//     node bench/siblings.mjs PART [--servers 2] [--rounds N] [--loss 0] [--failure crash]     (needs root, nft and ip)
//
// Parts:
//   drain       time from a drain that is given to one server until all answer without the target
//   kill        drains, and `kill -9` of any server at any moment: nothing that was acknowledged is lost
//   partition   links are cut and mended in random order, with drains meanwhile: all come to one state
//   rest        processor time and octets at rest, 100 endpoints of 64 targets
//   links       each single and double link between servers and targets cut, while a target fails (--failure crash, 500 or
//               hang; --from and --to choose among the sets of links; --servers 1: alone, to compare)
//   isolation   one server or both cut off from the targets, also with `whenIsolated: silent` behind an Unbound
//   alldead     all targets fail at once: when every server knows (--servers 1: alone, to compare)
//   junk        junk to the port for siblings: no crash, no withdrawal, no memory, queries/s (--says right, endless, deaf,
//               wrong, none, truncated, replayed or all)
//   million     --messages (1,000,000) of junk with the right secret to the part of a server that hears siblings
//   liar        a sibling that always says up or down, is dead, or is not there (--says up, down, dead or nobody)
//
// Each has its bars in BARS; the exit code is 1 if one is missed.
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { enterNamespace } from "./namespace.mjs";
import {
  createWorld,
  cutLink,
  mendLinks,
  pairs,
  prepareRouter,
  serverAddress,
  spreadOf,
  targetAddress,
  Watch,
} from "./sibling-world.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    servers: { type: "string", default: "2" },
    rounds: { type: "string" },
    loss: { type: "string", default: "0" },
    failure: { type: "string", default: "crash" },
    from: { type: "string", default: "0" },
    to: { type: "string", default: "1000" },
    says: { type: "string" },
    messages: { type: "string", default: "1000000" },
    seconds: { type: "string", default: "30" },
  },
});
const [part] = positionals;
const count = Number(options.servers);
const TARGETS = 3;

await enterNamespace(fileURLToPath(import.meta.url), ...process.argv.slice(2));

const misses = [];
const failures = await import("./sibling-failures.mjs");
const { junk, million } = await import("./sibling-junk.mjs");
const { links, isolation, alldead, liar } = failures;
const parts = { drain, kill, partition, rest, links, isolation, alldead, liar, junk, million };
if (parts[part] === undefined) throw new Error(`part is one of ${Object.keys(parts).join(", ")}`);
prepareRouter(64);
await parts[part]({
  count,
  failure: options.failure,
  from: Number(options.from),
  to: Number(options.to),
  rounds: Number(options.rounds ?? 10),
  says: options.says ?? (part === "junk" ? "all" : "up"),
  messages: Number(options.messages),
  misses,
});
for (const miss of misses) console.log(`MISSED: ${miss}`);
process.exit(misses.length === 0 ? 0 : 1);

/** Targets that are never probed: what is measured here is what is said. */
function unprobed(targets = TARGETS) {
  const all = Array.from({ length: targets }, (_, j) => `cp${j + 1}: ${targetAddress(j + 1)}`);
  return `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 10.77.1.1 }
ttl: 1
endpoints:
  api: { targets: { ${all.join(", ")} }, probe: { type: none } }
`;
}

function pick(items) {
  return items[Math.floor(Math.random() * items.length)];
}

async function drain() {
  const rounds = Number(options.rounds ?? 200);
  const loss = Number(options.loss);
  const barMs = loss === 0 ? 300 : 2_000;
  const world = await createWorld({ count, zone: unprobed() });
  await world.start();
  await world.allHeard();
  const watch = new Watch(world.servers);
  if (loss > 0) for (const [i, k] of pairs(count)) cutLink(serverAddress(i), serverAddress(k), loss);
  const took = [];
  const replied = [];
  let lost = 0;
  for (let round = 0; round < rounds; round += 1) {
    const address = targetAddress((round % TARGETS) + 1);
    const target = `cp${(round % TARGETS) + 1}`;
    for (const [action, isAnswered] of [
      ["drain", false],
      ["undrain", true],
    ]) {
      const fromMs = performance.now();
      const asked = pick(world.servers)
        .post(action, target)
        .then(() => replied.push(performance.now() - fromMs));
      const seen = await Promise.all(
        world.servers.map((_, index) => watch.until(index, (all) => all.includes(address) === isAnswered, 20_000)),
      );
      if (seen.includes(undefined)) lost += 1;
      else took.push(Math.max(...seen) - fromMs);
      await asked;
      await sleep(20 + Math.random() * 100);
    }
  }
  watch.stop();
  await world.end();
  if (process.env.ALL)
    console.log(
      took
        .map(Math.round)
        .sort((a, b) => a - b)
        .join(" "),
    );
  const { median, p99, worst } = spreadOf(took);
  console.log(
    `${count} servers, ${loss} % loss, ${took.length} drains and undrains: answered by all after ${median} ms (median), ${p99} ms (p99), ${worst} ms (worst); bar: ${barMs} ms (p99); not within 20 s: ${lost}; replied after ${spreadOf(replied).p99} ms (p99)`,
  );
  if (p99 > barMs || lost > 0) misses.push(`drain, ${count} servers, ${loss} % loss`);
}

/** What each server says of each target, as one line. */
async function overridesOf(server) {
  const { zones } = await server.status();
  return zones[0].endpoints[0].targets
    .map(({ id, override }) => `${id}:${override?.kind ?? "-"}:${override?.reason ?? ""}`)
    .join(" ");
}

/** Waits until all servers say the same of every target. @returns milliseconds; undefined if they do not */
async function converge(servers, withinMs = 30_000) {
  const fromMs = performance.now();
  while (performance.now() - fromMs < withinMs) {
    const all = await Promise.all(servers.map((server) => overridesOf(server).catch(() => server.name)));
    if (new Set(all).size === 1) return { tookMs: performance.now() - fromMs, state: all[0] };
    await sleep(20);
  }
  return undefined;
}

/** Drains and undrains on one server as fast as it goes, and takes note of what is acknowledged of each target. */
async function operate(server, round, said, state) {
  for (let n = 0; !state.isOver; n += 1) {
    const target = `cp${(n % 6) + 1}`;
    const isDrain = Math.random() < 0.5;
    const reason = `round ${round}, ${n}`;
    const next = isDrain ? `drained:${reason}` : "-:";
    const reply = await server
      .post(isDrain ? "drain" : "undrain", target, isDrain ? { reason } : {})
      .catch(() => undefined);
    if (reply?.status === 200) {
      state.acknowledged += 1;
      said.set(target, { sure: next, unsure: [] });
    } else if (reply === undefined) {
      const entry = said.get(target) ?? { unsure: [] };
      said.set(target, { ...entry, unsure: [...entry.unsure, next] });
      await sleep(10);
    }
  }
}

async function kill() {
  const rounds = Number(options.rounds ?? 60);
  const world = await createWorld({ count, zone: unprobed(8) });
  await world.start();
  await world.allHeard();
  let acknowledged = 0;
  let lost = 0;
  const took = [];
  for (let round = 0; round < rounds; round += 1) {
    // The last word on each target that was acknowledged, and those that may or may not hold.
    const said = new Map();
    const victim = pick(world.servers);
    const operator = pick(world.servers);
    const operating = { isOver: false, acknowledged: 0 };
    const operated = operate(operator, round, said, operating);
    await sleep(20 + Math.random() * 200);
    await victim.kill();
    await sleep(Math.random() * 300);
    operating.isOver = true;
    await operated;
    acknowledged += operating.acknowledged;
    await victim.start();
    const converged = await converge(world.servers);
    if (converged === undefined) {
      lost += 1;
      console.log(`round ${round}: no one state: ${await Promise.all(world.servers.map(overridesOf))}`);
      continue;
    }
    took.push(converged.tookMs);
    for (const [target, { sure, unsure }] of said) {
      const holds = new RegExp(`(?:^| )${target}:(.*?)(?= cp\\d|$)`).exec(converged.state)?.[1];
      if (sure === undefined || holds === sure || unsure.includes(holds)) continue;
      lost += 1;
      console.log(`round ${round}: ${target} is ${holds}, acknowledged was ${sure} (${unsure})`);
    }
    await world.allHeard();
  }
  await world.end();
  const { median, worst } = spreadOf(took);
  console.log(
    `${count} servers, ${rounds} times kill -9 of one: ${acknowledged} overrides acknowledged, lost: ${lost}; one state after ${median} ms (median), ${worst} ms (worst) from the start of the killed one`,
  );
  if (lost > 0) misses.push(`kill, ${count} servers`);
}

async function partition() {
  const rounds = Number(options.rounds ?? 20);
  const world = await createWorld({ count, zone: unprobed(8) });
  await world.start();
  await world.allHeard();
  const took = [];
  let apart = 0;
  for (let round = 0; round < rounds; round += 1) {
    const links = pairs(count).map(([i, k]) => [serverAddress(i), serverAddress(k)]);
    let down = links.filter(() => Math.random() < 0.6);
    const apply = () => {
      mendLinks();
      for (const [from, to] of down) cutLink(from, to);
    };
    apply();
    for (let step = 0; step < 6; step += 1) {
      await pick(world.servers).post(pick(["drain", "undrain"]), `cp${1 + Math.floor(Math.random() * 6)}`, {});
      await sleep(Math.random() * 400);
      if (Math.random() < 0.4) {
        down = links.filter(() => Math.random() < 0.5);
        apply();
      }
    }
    down = down.toSorted(() => Math.random() - 0.5);
    while (down.length > 0) {
      down.pop();
      apply();
      await sleep(Math.random() * 500);
    }
    apply();
    const converged = await converge(world.servers, 60_000);
    if (converged === undefined) {
      apart += 1;
      console.log(`round ${round}: ${(await Promise.all(world.servers.map(overridesOf))).join("\n")}`);
    } else took.push(converged.tookMs);
  }
  await world.end();
  const { median, worst } = spreadOf(took);
  console.log(
    `${count} servers, ${rounds} partitions healed in random order: one state after ${median} ms (median), ${worst} ms (worst); never: ${apart}`,
  );
  if (apart > 0) misses.push(`partition, ${count} servers`);
}

async function rest() {
  const seconds = Number(options.seconds);
  const figures = {};
  for (const servers of [1, count]) {
    const endpoint = (n) => {
      const targets = Array.from({ length: 64 }, (_, j) => `t${j + 1}: 10.${n}.0.${j + 1}`);
      return `  e${n}: { targets: { ${targets.join(", ")} }, probe: { type: none } }\n`;
    };
    const endpoints = Array.from({ length: 100 }, (_, n) => endpoint(n + 100)).join("");
    const zone = `zone: k8s.example.test\nallowSpecialAddresses: true\nnameservers: { ns1: 10.77.1.1 }\nendpoints:\n${endpoints}`;
    const world = await createWorld({ count: servers, zone });
    await world.start();
    await world.allHeard();
    await sleep(5_000);
    const [server] = world.servers;
    const before = { cpu: server.cpuSeconds(), octets: server.octets() };
    await sleep(seconds * 1_000);
    const cpu = ((server.cpuSeconds() - before.cpu) / seconds) * 100;
    const kilobytes = (server.octets() - before.octets) / seconds / 1_000;
    figures[servers] = { cpu, kilobytes };
    await world.end();
  }
  const cpu = figures[count].cpu - figures[1].cpu;
  const { kilobytes } = figures[count];
  console.log(
    `${count} servers, 100 endpoints of 64 targets at rest, ${seconds} s: ${cpu.toFixed(2)} % of a core more than alone (${figures[count].cpu.toFixed(2)} % in all; bar: 1 %), ${kilobytes.toFixed(2)} kB/s (bar: 20 kB/s)`,
  );
  if (figures[count].cpu > 1 || kilobytes > 20) misses.push(`rest, ${count} servers`);
}

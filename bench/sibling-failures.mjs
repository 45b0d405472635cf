/** The parts of `bench/siblings.mjs` in which targets and links fail: see there. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";
import {
  createWorld,
  cutLink,
  ENDPOINT,
  mendLinks,
  pairs,
  serverAddress,
  spreadOf,
  TARGET_PORT,
  targetAddress,
  Watch,
} from "./sibling-world.mjs";

const { startApiserver } = await import("../dist/demo/apiserver-process.js");
const { createAuthority } = await import("../dist/demo/certificates.js");

const FAILURES = {
  crash: { fail: (one) => one.crash(), watchMs: 3_000 },
  500: { fail: (one) => one.setReady(false), watchMs: 5_000 },
  hang: { fail: (one) => one.hang(), watchMs: 9_000 },
};

/** Stand-ins for apiservers, in the namespace of the benchmark. */
export async function startTargets(count) {
  const certificate = await (await createAuthority()).issue({ names: [ENDPOINT] });
  return Promise.all(
    Array.from({ length: count }, (_, j) =>
      startApiserver({ address: targetAddress(j + 1), port: TARGET_PORT, ...certificate }),
    ),
  );
}

/** @param endpoint more lines of the endpoint */
export function probed(targets, endpoint = "") {
  const all = Array.from({ length: targets }, (_, j) => `cp${j + 1}: ${targetAddress(j + 1)}`);
  return `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 10.77.1.1 }
endpoints:
  api:
    ttl: 1
    targets: { ${all.join(", ")} }
    probe: { insecureSkipVerify: true, interval: 1s, timeout: 1s, recheck: 300ms, flap: { limit: 100 } }
${endpoint}`;
}

/** Waits until every server answers so many addresses. */
async function allAnswer(watch, count, withinMs = 40_000) {
  for (const index of watch.seen.keys()) {
    const at = await watch.until(index, (all) => all.length === count, withinMs);
    if (at === undefined) throw new Error(`ns${index + 1} answers ${watch.now(index)}, not ${count} addresses`);
  }
}

/** Every set of one and of two links. @returns pairs of addresses */
function cutsOf(servers, targets) {
  const links = pairs(servers).map(([i, k]) => [serverAddress(i), serverAddress(k)]);
  for (let i = 1; i <= servers; i += 1)
    for (let j = 1; j <= targets; j += 1) links.push([serverAddress(i), targetAddress(j)]);
  return [...links.map((one) => [one]), ...links.flatMap((one, n) => links.slice(n + 1).map((other) => [one, other]))];
}

/** Longest time for which a server answered none of these addresses, milliseconds. */
function longestWithout(answers, alive, fromMs, toMs) {
  let longest = 0;
  for (const [n, { atMs, addresses }] of answers.entries()) {
    if (addresses.some((address) => alive.includes(address))) continue;
    longest = Math.max(longest, Math.min(toMs, answers[n + 1]?.atMs ?? toMs) - Math.max(fromMs, atMs));
  }
  return longest;
}

/** Each single and double link that is cut, while the first target fails: what all servers answer. */
export async function links({ count, failure, from, to, misses }) {
  const { fail, watchMs } = FAILURES[failure];
  const targets = await startTargets(3);
  const world = await createWorld({ count, zone: probed(3), siblings: ", holdAtMost: 2s" });
  await world.start();
  await world.allHeard();
  const watch = new Watch(world.servers);
  const victim = targetAddress(1);
  const alive = [targetAddress(2), targetAddress(3)];
  const cuts = [[], ...cutsOf(count, 3)];
  // By how many others a server reaches: with one, it waits a while to see whether that one shares the cause.
  const gone = { 1: [], 2: [] };
  const spreads = [];
  const never = [];
  let empty = 0;
  let without = 0;
  let played = 0;
  for (const cut of cuts.slice(from, to)) {
    await allAnswer(watch, 3);
    for (const [source, destination] of cut) cutLink(source, destination);
    if (cut.length > 0) await sleep(4_500);
    await sleep(Math.random() * 1_000);
    watch.forget();
    const fromMs = performance.now();
    const had = world.servers.map((_, index) => watch.now(index).includes(victim));
    await fail(targets[0]);
    await sleep(watchMs);
    const toMs = performance.now();
    played += 1;
    const left = world.servers.flatMap(({ address }, index) => {
      const answers = watch.since(index, fromMs);
      if (answers.some(({ addresses }) => addresses.length === 0)) empty += 1;
      const lacking = longestWithout(answers, alive, fromMs, toMs);
      if (lacking > 0) {
        without += 1;
        console.log(
          `cut ${JSON.stringify(cut)}: ns${index + 1} answered no target that is up for ${Math.round(lacking)} ms`,
        );
      }
      const reaches = (target) => !cut.some(([source, destination]) => source === address && destination === target);
      // Who cannot look does not find out, and who reaches nothing else answers all.
      const reached = alive.filter(reaches).length;
      const mustLeave = reaches(victim) && reached > 0;
      const last = answers.findLast(({ addresses }) => addresses.includes(victim));
      const after = answers[answers.indexOf(last) + 1];
      const tookMs = (last === undefined ? fromMs : (after?.atMs ?? Number.POSITIVE_INFINITY)) - fromMs;
      if (mustLeave && tookMs === Number.POSITIVE_INFINITY) never.push(`ns${index + 1} at ${JSON.stringify(cut)}`);
      if (!mustLeave || !had[index]) return [];
      gone[reached].push(tookMs);
      return reached === alive.length ? [tookMs] : [];
    });
    if (left.length > 1) spreads.push(Math.max(...left) - Math.min(...left));
    await targets[0].revive();
    mendLinks();
  }
  watch.stop();
  await world.end();
  for (const target of targets) await target.crash();
  const took = Object.entries(gone).map(([reached, samples]) => {
    const { count: n, median, p99, worst } = spreadOf(samples);
    return `${n} withdrawals by servers that reach ${reached} others after ${median} ms (median), ${p99} ms (p99), ${worst} ms (worst)`;
  });
  console.log(
    `${count} servers, ${failure}, ${played} sets of links cut (${from} to ${to} of ${cuts.length}): ${took.join("; ")}; between the first and the last server that reach all ${spreadOf(spreads).median} ms (median of ${spreads.length}); empty answers: ${empty}; without a target that is up: ${without}`,
  );
  for (const one of never) console.log(`never withdrawn: ${one}`);
  if (empty + without + never.length > 0) misses.push(`links, ${count} servers, ${failure}`);
}

/** Asks a resolver every 50 ms. @returns counts, until `stop` */
async function lookUp(resolver) {
  const { askForAddresses } = (
    await runnerImport(fileURLToPath(new URL("../test/support/dns-client.ts", import.meta.url)))
  ).module;
  const found = { lookups: 0, failed: 0 };
  let isOver = false;
  const going = (async () => {
    while (!isOver) {
      found.lookups += 1;
      const all = await askForAddresses({
        server: resolver.address,
        port: resolver.port,
        name: ENDPOINT,
        rd: true,
      }).catch(() => []);
      if (all.length === 0) found.failed += 1;
      await sleep(50);
    }
  })();
  return {
    found,
    async stop() {
      isOver = true;
      await going;
    },
  };
}

/** One server is cut off, both are, all targets die: what is answered, also through a resolver. */
export async function isolation({ misses }) {
  const { startUnbound } = (await runnerImport(fileURLToPath(new URL("../test/support/unbound.ts", import.meta.url))))
    .module;
  const tasks = [];
  for (const [targetCount, mode] of [
    [3, "hold"],
    [1, "hold"],
    [3, "silent"],
  ]) {
    const targets = await startTargets(targetCount);
    const world = await createWorld({ count: 2, zone: probed(targetCount), siblings: `, whenIsolated: ${mode}` });
    await world.start();
    await world.allHeard();
    const watch = new Watch(world.servers);
    await allAnswer(watch, targetCount);
    const unbound = await startUnbound({
      stubZones: [{ name: "k8s.example.test", servers: world.servers.map(({ address }) => ({ address, port: 53 })) }],
      cleanup: (task) => tasks.push(task),
    });
    const cut = async (servers, label) => {
      watch.forget();
      const client = await lookUp(unbound);
      await sleep(2_000);
      const fromMs = performance.now();
      for (const i of servers) for (let j = 1; j <= targetCount; j += 1) cutLink(serverAddress(i), targetAddress(j));
      await sleep(16_000);
      const changed = servers.filter((i) =>
        watch.since(i - 1, fromMs).some(({ addresses }) => addresses.length !== targetCount),
      );
      const isIsolated = (await world.servers[servers[0] - 1].status()).isolated;
      await client.stop();
      const { lookups, failed } = client.found;
      console.log(
        `${targetCount} targets, ${mode}, ${label}: answers of who is cut off that changed in 16 s: ${changed.length}; it says isolated: ${isIsolated}; lookups through Unbound: ${lookups}, failed: ${failed}`,
      );
      const isTold = isIsolated || servers.length > 1;
      if (changed.length > 0 || failed > 0 || !isTold)
        misses.push(`isolation, ${targetCount} targets, ${mode}, ${label}`);
      mendLinks();
      await sleep(12_000);
      await allAnswer(watch, targetCount);
    };
    await cut([1], "one cut off");
    if (mode === "hold") await cut([1, 2], "both cut off");
    watch.stop();
    await world.end();
    for (const target of targets) await target.crash();
  }
  for (const task of tasks.reverse()) await task();
}

/** All targets fail at once: when every server knows. */
export async function alldead({ count, failure, rounds, misses }) {
  const targets = await startTargets(3);
  const world = await createWorld({ count, zone: probed(3, "    whenAllDown: none\n") });
  await world.start();
  await world.allHeard();
  const watch = new Watch(world.servers);
  const took = [];
  for (let round = 0; round < rounds; round += 1) {
    await allAnswer(watch, 3);
    await sleep(Math.random() * 1_000);
    const fromMs = performance.now();
    await Promise.all(targets.map((one) => FAILURES[failure].fail(one)));
    for (const index of world.servers.keys()) {
      took.push(((await watch.until(index, (all) => all.length === 0, 30_000)) ?? Number.POSITIVE_INFINITY) - fromMs);
    }
    await Promise.all(targets.map((one) => one.revive()));
  }
  watch.stop();
  await world.end();
  for (const target of targets) await target.crash();
  const { median, p99, worst } = spreadOf(took);
  console.log(
    `${count} servers, all targets ${failure}, ${rounds} rounds: known after ${median} ms (median), ${p99} ms (p99), ${worst} ms (worst)`,
  );
  if (worst === Number.POSITIVE_INFINITY) misses.push(`alldead, ${failure}`);
}

const HOSTS = {
  up: (addresses) => ({ answers: addresses, up: addresses, not: [] }),
  down: (addresses) => ({ answers: [], up: [], not: addresses.map((one) => [one, "down"]) }),
};

/** A sibling that says the same whatever is. @param says `up` or `down` */
async function startLiar(secret, says) {
  const { Siblings } = await import("../dist/siblings/siblings.js");
  const { systemClock } = await import("../dist/lib/clock.js");
  const fqdn = ENDPOINT;
  const endpoint = { endpoint: fqdn, ...HOSTS[says]([1, 2, 3].map(targetAddress)) };
  const siblings = new Siblings({
    clock: systemClock,
    random: Math.random,
    boot: "a liar's boot",
    settings: {
      name: "ns2",
      listen: { address: "10.77.1.254", port: 9854 },
      peers: [{ name: "ns1", address: serverAddress(1), port: 9854 }],
      secrets: [Uint8Array.from(Buffer.from(secret, "hex"))],
    },
    host: {
      self: () => ({ isolated: false, late: false, starting: false, sight: "reached", overrides: "" }),
      zones: () => [],
      serials: () => [],
      onSerials: () => {},
      endpoints: () => [endpoint],
      endpoint: (name) => (name === fqdn ? endpoint : undefined),
      overrides: () => [],
      onHint: () => {},
      onViews: () => {},
      onCondition: () => {},
      take: async () => {},
      onKept: () => {},
      judge: () => undefined,
      release: () => {},
      safe: () => ({ state: "unknown" }),
    },
  });
  await siblings.start();
  return siblings;
}

/** A sibling that lies, or is dead: what it does to what a server answers. */
export async function liar({ says, failure, rounds, misses }) {
  const targets = await startTargets(3);
  const isLiar = HOSTS[says] !== undefined;
  const count = says === "dead" ? 2 : 1;
  const peer = isLiar ? { peers: { ns2: "10.77.1.254:9854" } } : {};
  const world = await createWorld({ count, zone: probed(3), ...peer });
  await world.start();
  const sibling = isLiar ? await startLiar(world.options.secret, says) : undefined;
  await world.allHeard();
  const [server, other] = world.servers;
  const watch = new Watch([server]);
  const victim = targetAddress(1);
  const took = [];
  for (let round = 0; round < rounds; round += 1) {
    await allAnswer(watch, 3);
    // Dead in one of three ways, anew each time: gone, stopped, or stopped and believed for two seconds still.
    if (says === "dead") other.process.kill("SIGSTOP");
    if (says === "dead" && round % 2 === 0) await sleep(3_000);
    await sleep(Math.random() * 1_000);
    const fromMs = performance.now();
    await FAILURES[failure].fail(targets[0]);
    took.push(((await watch.until(0, (all) => !all.includes(victim), 15_000)) ?? Number.POSITIVE_INFINITY) - fromMs);
    await targets[0].revive();
    if (says === "dead") other.process.kill("SIGCONT");
  }
  let kept = "";
  if (says === "up") {
    // Two of three hang: the liar keeps one of them for as long as it may, 10 s. Detection comes before.
    await allAnswer(watch, 3);
    const fromMs = performance.now();
    targets[0].hang();
    targets[1].hang();
    const at = await watch.until(0, (all) => all.length === 1, 30_000);
    kept = `; of two that hang, the last one left after ${Math.round((at ?? Number.POSITIVE_INFINITY) - fromMs)} ms`;
    for (const one of targets) await one.revive();
  }
  if (says === "down") {
    await allAnswer(watch, 3);
    watch.forget();
    const fromMs = performance.now();
    await sleep(10_000);
    const withdrawn = watch.since(0, fromMs).filter(({ addresses }) => addresses.length < 3).length;
    kept = `; withdrawn by its word in 10 s: ${withdrawn}`;
    if (withdrawn > 0) misses.push("liar down");
  }
  watch.stop();
  await sibling?.stop();
  await world.end();
  for (const target of targets) await target.crash();
  const { median, p99, worst } = spreadOf(took);
  console.log(
    `sibling: ${says}; ${failure}, ${rounds} rounds: withdrawn after ${median} ms (median), ${p99} ms (p99), ${worst} ms (worst)${kept}`,
  );
  if (worst === Number.POSITIVE_INFINITY) misses.push(`liar ${says}, ${failure}`);
}

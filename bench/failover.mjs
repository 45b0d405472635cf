// How long a failed apiserver stays in answers, by kind of failure, with livezone's default settings: in livezone's own
// answers, and in what Unbound and BIND answer from their caches (`test/e2e/corporate.ts` has the set-up).
//
//     node bench/failover.mjs [ROUNDS]      (default 5; about 90 s a round)
//
// Every answerer is asked every 20 ms, which is the precision of the figures. Needs `named` and `unbound`.
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const ROUNDS = Number(process.argv[2] ?? 5);
const ASK_EVERY_MS = 20;
const GIVE_UP_MS = 60_000;
const INTERVAL_MS = 2_000;

/** What is promised for livezone's own answers with the defaults, milliseconds; resolvers may take the TTL (5 s) more. */
const FAILURES = [
  { name: "killed (SIGKILL)", bar: 3_000, fail: (a) => a.crash(), mend: (a) => a.revive() },
  { name: "hung (SIGSTOP)", bar: 9_000, fail: (a) => a.hang(), mend: (a) => a.resume() },
  { name: "/readyz 500", bar: 3_000, fail: (a) => a.setReady(false), mend: (a) => a.setReady(true) },
  certificateFailure("certificate expired", "expired"),
  certificateFailure("certificate of another name", "wrongName"),
];

function certificateFailure(name, kind) {
  // 1.1 intervals (the jitter) until the first probe, and two rechecks; half a second for handshakes and asking.
  return {
    name,
    bar: 4_700,
    fail: (apiserver, { certificates }) => apiserver.setCertificate(certificates[kind]),
    mend: (apiserver, { certificates }) => apiserver.setCertificate(certificates.good),
  };
}

const { module } = await runnerImport(fileURLToPath(new URL("../test/e2e/corporate.ts", import.meta.url)));
const { startCorporate, ANSWERERS } = module;
const tasks = [];
try {
  const corporate = await startCorporate({ cleanup: (task) => tasks.push(task) });
  const how = corporate.unboundFollowsGlue ? "the delegation's glue" : "a stub zone";
  console.log(`${ROUNDS} rounds; livezone's defaults; Unbound finds livezone by ${how}; times in seconds\n`);
  await allAnswer(corporate, true);
  const rows = [];
  for (const failure of FAILURES) {
    const gone = new Map(ANSWERERS.map((one) => [one, []]));
    const back = new Map(ANSWERERS.map((one) => [one, []]));
    for (let round = 0; round < ROUNDS; round++) {
      // Somewhere in the probes' interval, not always at the same place.
      await sleep(randomInt(INTERVAL_MS));
      await measure(corporate, () => failure.fail(victim(corporate), corporate), false, gone);
      await sleep(randomInt(INTERVAL_MS));
      await measure(corporate, () => failure.mend(victim(corporate), corporate), true, back);
    }
    rows.push(...describe(failure, gone, back));
  }
  printTable(rows);
} finally {
  for (const task of tasks.reverse()) await task();
}

function victim({ targets }) {
  return targets[1].apiserver;
}

/** Resolves with the time at which each answerer first gave an answer with, or without, the victim's address. */
function allAnswer(corporate, isPresent) {
  const { address } = corporate.targets[1];
  return Promise.all(
    ANSWERERS.map(async (one) => {
      const giveUpMs = performance.now() + GIVE_UP_MS;
      while (performance.now() < giveUpMs) {
        const addresses = await corporate.ask(one).catch(() => undefined);
        if (addresses !== undefined && addresses.length > 0 && addresses.includes(address) === isPresent) {
          return [one, performance.now()];
        }
        await sleep(ASK_EVERY_MS);
      }
      throw new Error(`${one} did not change its answer within ${GIVE_UP_MS} ms`);
    }),
  );
}

async function measure(corporate, act, isPresent, into) {
  // Asked meanwhile, so that the caches are as full as a busy resolver's.
  const startedMs = performance.now();
  const changed = allAnswer(corporate, isPresent);
  await act();
  for (const [one, atMs] of await changed) into.get(one).push(atMs - startedMs);
}

function describe({ name, bar }, gone, back) {
  const of = (samples, whom) => whom.flatMap((one) => samples.get(one));
  const livezones = ["livezone 1", "livezone 2"];
  return [
    [`${name}: gone`, of(gone, livezones), of(gone, ["Unbound"]), of(gone, ["BIND"]), bar],
    [`${name}: back`, of(back, livezones), of(back, ["Unbound"]), of(back, ["BIND"]), undefined],
  ];
}

function printTable(rows) {
  const seconds = (ms) => (ms / 1_000).toFixed(2);
  const cell = (samples) => {
    const sorted = samples.toSorted((a, b) => a - b);
    return `${seconds(sorted[Math.floor(sorted.length / 2)])} / ${seconds(sorted.at(-1))}`;
  };
  console.log("| failure of one of three | livezone, median / worst | bar | Unbound | BIND | bar |");
  console.log("|---|---|---|---|---|---|");
  for (const [name, livezone, unbound, bind, bar] of rows) {
    const bars = bar === undefined ? ["", ""] : [seconds(bar), seconds(bar + 5_000)];
    console.log(`| ${name} | ${cell(livezone)} | ${bars[0]} | ${cell(unbound)} | ${cell(bind)} | ${bars[1]} |`);
  }
  const missed = rows.filter(([, livezone, unbound, bind, bar]) => {
    if (bar === undefined) return false;
    return Math.max(...livezone) > bar || Math.max(...unbound, ...bind) > bar + 5_000;
  });
  console.log(missed.length === 0 ? "\nEvery time is within its bar." : `\nMissed: ${missed.map(([name]) => name)}`);
  if (missed.length > 0) process.exitCode = 1;
}

// The failover lab: ways to reach three apiservers, side by side, in network namespaces that it makes and removes.
//
//     npm run lab                       the full matrix, ten rounds of each cell; a run that was stopped goes on
//     npm run lab -- --quick            three ways, three faults, one round
//     npm run lab -- --bars             what the results say of what is promised
//     npm run lab -- --report           writes docs/failover.md from the results, without playing
//
// Options: --ways a,b --faults a,b --rounds N --copies N --minutes N --seed N --results FILE --fresh. Needs root, Linux and Debian's
// packages.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { barLines } from "./bars.mjs";
import { FAULTS } from "./faults.mjs";
import { isLabRun, removeLeftovers, removeNetworks } from "./namespaces.mjs";
import { writePage } from "./page.mjs";
import { openPlace } from "./place.mjs";
import { buildPrograms, obstacles, writeCertificates } from "./programs.mjs";
import { keyOf, schedule } from "./schedule.mjs";
import { killAllServices } from "./service.mjs";
import { COSTS, Session } from "./session.mjs";
import { seededRandom } from "./statistics.mjs";
import { addRound, readRounds } from "./store.mjs";
import { summaryOf } from "./summary.mjs";
import { cellTable } from "./tables.mjs";
import { TARGETS } from "./topology.mjs";
import { WAYS } from "./ways.mjs";

const ROOT = path.resolve(import.meta.dirname, "..");
const BUILD = path.join(ROOT, "build/lab");
const SKIPPED = 77;
const QUICK = {
  ways: ["livezone-unbound", "round-robin-fast", "haproxy-keepalived"],
  faults: ["sigkill", "graceful", "power-off"],
};
const TEMPORARY = "livezone-lab-";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    bars: { type: "boolean", default: false },
    report: { type: "boolean", default: false },
    fresh: { type: "boolean", default: false },
    ways: { type: "string" },
    faults: { type: "string" },
    rounds: { type: "string" },
    copies: { type: "string" },
    minutes: { type: "string", default: "75" },
    seed: { type: "string", default: String(Date.now() % 2 ** 32) },
    results: { type: "string" },
  },
});

const chosen = (text, standard, known) => {
  const ids = text?.split(",") ?? standard;
  const unknown = ids.filter((id) => !known.includes(id));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(", ")}; there are ${known.join(", ")}`);
  return ids;
};

/** What is to be played, from the command line. */
function planOf() {
  const allFaults = [...Object.keys(FAULTS), COSTS];
  const plan = {
    ways: chosen(values.ways, values.quick ? QUICK.ways : Object.keys(WAYS), Object.keys(WAYS)),
    faults: chosen(values.faults, values.quick ? QUICK.faults : allFaults, allFaults),
    rounds: Number(values.rounds ?? (values.quick ? 1 : 10)),
    copies: Number(values.copies ?? (values.quick ? 3 : Math.max(2, 2 * cpus().length))),
    results: path.resolve(values.results ?? path.join(BUILD, values.quick ? "quick.jsonl" : "rounds.jsonl")),
  };
  if (values.quick || values.fresh) rmSync(plan.results, { force: true });
  return plan;
}

/** Makes all that the copies share. @returns {Promise<{ folder: string, programs: Record<string, string>, certificates: string }>} */
async function prepare() {
  const left = removeLeftovers();
  if (left > 0) console.log(`removed ${left} namespaces that a killed run left`);
  for (const name of readdirSync(tmpdir())) {
    const run = /^livezone-lab-(\d+)-/.exec(name)?.[1];
    if (run !== undefined && !isLabRun(run)) rmSync(path.join(tmpdir(), name), { recursive: true, force: true });
  }
  const folder = mkdtempSync(path.join(tmpdir(), `${TEMPORARY}${process.pid}-`));
  mkdirSync(BUILD, { recursive: true });
  process.once("exit", () => {
    killAllServices();
    removeNetworks();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ])
    process.once(signal, () => process.exit(code));
  return {
    folder,
    programs: buildPrograms(BUILD),
    certificates: await writeCertificates(path.join(folder, "certificates")),
  };
}

/** Plays one block in a place. What was played is taken off the block's faults. */
async function playBlock(place, { way, round, faults }, plan, random) {
  const session = new Session(place, WAYS[way], random);
  try {
    await session.start();
    for (let fault = faults[0]; fault !== undefined; fault = faults[0]) {
      const figures = await session.play(fault);
      const at = new Date().toISOString();
      const said = figures === undefined ? { absent: true } : figures;
      addRound(plan.results, {
        way,
        fault,
        round,
        at,
        copies: plan.copies,
        seed: Number(values.seed),
        ...said,
      });
      tell(way, fault, round, figures);
      faults.shift();
      await session.settle(faults.length === 0);
    }
  } finally {
    await session.stop();
    for (const id of TARGETS) await place.apiservers[id].renew();
  }
}

function tell(way, fault, round, figures) {
  const clients = Object.entries(figures?.clients ?? {}).map(
    ([id, { last, failed, slowed }]) => `${id} ${last} s ${failed}+${slowed}`,
  );
  const time = new Date().toTimeString().slice(0, 8);
  console.log(
    `${time} ${way} / ${fault} / ${round}: ${clients.join(", ")}${figures?.costs ? JSON.stringify(figures.costs) : ""}`,
  );
}

/** Takes blocks until there is none left, or time is over. */
async function work(copy, lab, blocks, plan, random, endMs) {
  let place = await openPlace(copy, lab);
  for (let block = blocks.shift(); block !== undefined && performance.now() < endMs; block = blocks.shift()) {
    try {
      await playBlock(place, block, plan, random);
    } catch (error) {
      console.log(`${block.way}, round ${block.round}: ${error.message}`);
      // A busy machine may be late once; what fails twice is left for the next run.
      if (block.isSecondTry !== true && block.faults.length > 0) blocks.push({ ...block, isSecondTry: true });
      place.close();
      place = await openPlace(copy, lab);
    }
  }
}

async function play(plan) {
  const lab = await prepare();
  const done = new Set(readRounds(plan.results).map(keyOf));
  const random = seededRandom(Number(values.seed));
  const faults = plan.faults.map((id) => ({ id, isLast: FAULTS[id]?.isLast ?? false }));
  const blocks = schedule({ ...plan, faults, done, random });
  console.log(
    `${blocks.length} blocks in ${plan.copies} copies of the network; seed ${values.seed}; load ${loadavg()[0]}`,
  );
  const endMs = performance.now() + Number(values.minutes) * 60_000;
  const copies = Array.from({ length: Math.min(plan.copies, blocks.length) }, (_, copy) => copy);
  await Promise.all(
    copies.map((copy) => work(copy, lab, blocks, plan, seededRandom(Number(values.seed) + copy), endMs)),
  );
}

async function main() {
  const plan = planOf();
  if (values.bars) {
    const { lines, isMet } = barLines(summaryOf(readRounds(plan.results)));
    console.log(lines.join("\n"));
    return isMet ? 0 : 1;
  }
  if (!values.report) {
    process.env.PATH = `/usr/sbin:/sbin:${process.env.PATH}`;
    const found = obstacles(plan.ways.flatMap((way) => WAYS[way].needs ?? []));
    if (found.length > 0) {
      console.log(`SKIPPED: the failover lab cannot run here: ${found.join("; ")}`);
      return SKIPPED;
    }
    await play(plan);
  }
  const summary = summaryOf(readRounds(plan.results));
  const isPart = values.ways !== undefined || values.faults !== undefined;
  if (values.quick || (isPart && !values.report)) console.log(cellTable(summary, plan.faults));
  else writePage(ROOT, summary);
  return values.quick && summary.rounds < plan.ways.length * plan.faults.length * plan.rounds ? 1 : 0;
}

process.exit(await main());

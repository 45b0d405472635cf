// Targets that come and go 50 times a second in one zone among 10,000, under full load: queries/s against without, every
// checked reply from one consistent state, and the server's memory.
//
//     node bench/churn-names.mjs [SECONDS] [ZONES]      (default 60 10000; SECONDS with changes, as many without, in turn)
//
// The server runs on one core, load and checks on the other. Checked are, all the time, the addresses of the endpoint, its
// SRV records with the addresses beside them, and the name of a target that is always there: target n has one address, and
// every state is three consecutive numbers (see driver.mjs).
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask } from "../dist/client/ask.js";
import { compile, freePort, median, runLoad } from "./measure.mjs";
import { QUERY_KINDS } from "./queries.mjs";
import { NAME, residentMb, startServer, zoneNames } from "./servers.mjs";

const [seconds = 60, zones = 10_000] = process.argv.slice(2, 4).map(Number);
const PER_SECOND = 50;
const ROUND_S = 5;
const WARM_UP_S = 5;
const MEAN_MS_BETWEEN_CHECKS = 4;

const folder = mkdtempSync(join(tmpdir(), "livezone-churn-"));
const load = compile(folder, "load");
const queries = join(folder, "zones.txt");
writeFileSync(
  queries,
  `${zoneNames(zones)
    .flatMap((zone) => QUERY_KINDS.a(`api.${zone}`))
    .join("\n")}\n`,
);
const port = await freePort();
const server = { address: "127.0.0.1", port };
const asking = (name, type) => ask({ server, name, type, timeoutMs: 2_000, edns: { udpOctets: 1_232 } });
const isUp = () =>
  asking(NAME, "A").then(
    ({ rcode }) => rcode === "NOERROR",
    () => false,
  );
const driver = await startServer("driver", { folder: join(folder, "server"), port, zones, options: "" }, 0, isUp);

const result = await measure().finally(async () => {
  await driver.stop();
  rmSync(folder, { recursive: true, force: true });
});
const ratio = median(result.changing) / median(result.still);
const { checked, faults, memory } = result;
console.log(
  `queries/s: ${Math.round(median(result.still))} without changes, ${Math.round(median(result.changing))} with`,
);
console.log(`ratio ${ratio.toFixed(3)} (bar 0.95), rounds of ${ROUND_S} s: ${result.changing.length}`);
console.log(`replies checked: ${checked}, from no single state: ${faults.length}`);
for (const fault of faults.slice(0, 10)) console.log(`  ${fault}`);
console.log(`resident, MB: ${memory.map((mb) => mb.toFixed(1)).join(" ")}`);
process.exit(faults.length > 0 || ratio < 0.95 ? 1 : 0);

async function measure() {
  const outcome = { still: [], changing: [], memory: [], checked: 0, faults: [] };
  await Promise.all([loadFor(WARM_UP_S), slide(WARM_UP_S)]);
  const checks = startChecking(outcome);
  for (let done = 0; done < seconds; done += ROUND_S) {
    outcome.still.push((await loadFor(ROUND_S)).qps);
    const [{ qps }] = await Promise.all([loadFor(ROUND_S), slide(ROUND_S)]);
    outcome.changing.push(qps);
    outcome.memory.push(residentMb(driver.pids));
  }
  await checks.stop();
  return outcome;
}

function loadFor(span) {
  return runLoad(load, ["--port", port, "--queries", queries, "--seconds", span, "--warmup", 0.2]);
}

async function slide(span) {
  driver.child.send({ slide: { perSecond: PER_SECOND, seconds: span } });
  await once(driver.child, "message");
}

function startChecking(outcome) {
  let isOver = false;
  const checking = (async () => {
    while (!isOver) {
      for (const [check, name, type] of [
        [faultOfAddresses, NAME, "A"],
        [faultOfServices, `_https._tcp.${NAME}`, "SRV"],
      ]) {
        const reply = await asking(name, type);
        outcome.checked += 1;
        const fault = reply.rcode === "NOERROR" ? check(reply) : reply.rcode;
        if (fault !== undefined) outcome.faults.push(`${type}: ${fault}`);
      }
      await new Promise((resolve) => setTimeout(resolve, MEAN_MS_BETWEEN_CHECKS));
    }
  })();
  return {
    stop() {
      isOver = true;
      return checking;
    },
  };
}

function numberOf(address) {
  const [, , high, low] = address.split(".").map(Number);
  return high * 256 + low;
}

/** Why numbers of targets are no state; undefined for three that follow each other. */
function faultOfNumbers(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const isState = sorted.length === 3 && sorted[1] === sorted[0] + 1 && sorted[2] === sorted[1] + 1;
  return isState ? undefined : sorted.join(" ");
}

function faultOfAddresses({ answers }) {
  return faultOfNumbers(answers.map(({ address }) => numberOf(address)));
}

function faultOfServices({ answers, additionals }) {
  const names = answers.map(({ data }) => data.split(" ")[3].replace(/\.$/, ""));
  const addressOf = new Map(additionals.map(({ name, address }) => [name, address]));
  const wrong = names.find((name) => `t${numberOf(addressOf.get(name) ?? "0.0.0.0")}` !== name.split(".")[0]);
  if (wrong !== undefined) return `${wrong} beside ${addressOf.get(wrong)}`;
  return faultOfNumbers(names.map((name) => Number(name.slice(1).split(".")[0])));
}

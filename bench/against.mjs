/**
 * Compares this build with that of another checkout.
 *
 *   node bench/against.mjs CHECKOUT [--rounds 5] [--seconds 2] [--only a,cookie]
 *
 * CHECKOUT is a folder with a build in `dist/`. Both serve the same zone on the same core and take turns in one run. For
 * each kind of query it prints the median of this build's queries a second, and the median of the ratios of the rounds. It prints too
 * what an access list and a rate limit cost this build. It passes no judgement: on a machine that does other things the ratios
 * differ from run to run, and `spread` says how much.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { MANY_ZONES } from "./cases.mjs";
import { createBench, median } from "./measure.mjs";

const ALLOW = 'queries: { allow: ["127.0.0.0/8", "10.0.0.0/8", "192.168.0.0/16"] }';
const RATE_LIMIT = "queries: { rateLimit: { perSecond: 1000000 } }";

/** Lanes by group: `here` over `there` is the ratio that is printed. */
const GROUPS = {
  a: { here: { server: "livezone", queries: "a" }, there: { server: "other", queries: "a" } },
  cookie: { here: { server: "livezone", queries: "cookie" }, there: { server: "other", queries: "cookie" } },
  nxdomain: { here: { server: "livezone", queries: "nxdomain" }, there: { server: "other", queries: "nxdomain" } },
  mixed: { here: { server: "livezone", queries: "mixed" }, there: { server: "other", queries: "mixed" } },
  zones: {
    here: { server: "livezone", queries: "zones", zones: MANY_ZONES },
    there: { server: "other", queries: "zones", zones: MANY_ZONES },
  },
  allow: {
    here: { server: "livezone", queries: "a", options: ALLOW },
    there: { server: "livezone", queries: "a" },
  },
  rateLimit: {
    here: { server: "livezone", queries: "a", options: RATE_LIMIT },
    there: { server: "livezone", queries: "a" },
  },
  steady: {
    here: { server: "livezone", queries: "a", load: ["--rate", "30000"] },
    there: { server: "other", queries: "a", load: ["--rate", "30000"] },
    figure: "cpuUsPerQuery",
  },
  steadyGdnsd: {
    here: { server: "livezone", queries: "a", load: ["--rate", "30000"] },
    there: { server: "gdnsd", queries: "a", load: ["--rate", "30000"] },
    figure: "cpuUsPerQuery",
  },
  quietGdnsd: {
    here: { server: "livezone", queries: "a", load: ["--rate", "1000"] },
    there: { server: "gdnsd", queries: "a", load: ["--rate", "1000"] },
    figure: "cpuUsPerQuery",
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string" }, seconds: { type: "string" }, only: { type: "string" } },
});
const [checkout] = positionals;
if (checkout === undefined) {
  console.error("usage: node bench/against.mjs CHECKOUT [--rounds 5] [--seconds 2] [--only a,cookie]");
  process.exit(2);
}
const rounds = Number(values.rounds ?? 5);
const only = values.only?.split(",");
const folder = mkdtempSync(join(tmpdir(), "livezone-against-"));
const bench = await createBench({ folder, seconds: Number(values.seconds ?? 2), otherCheckout: resolve(checkout) });
try {
  for (const [name, { figure = "qps", ...lanes }] of Object.entries(GROUPS)) {
    if (only !== undefined && !only.includes(name)) continue;
    const { medians, runs } = await bench.measureGroup(lanes, rounds);
    if (runs.here === undefined || runs.there === undefined) continue;
    const ratios = runs.here.map((run, i) => run[figure] / runs.there[i][figure]);
    const spread = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`;
    const shown = figure === "qps" ? Math.round(medians.here.qps) : medians.here[figure].toFixed(2);
    console.log(`${name.padEnd(12)} ${figure} ${shown}, ratio ${median(ratios).toFixed(3)}, spread ${spread}`);
  }
} finally {
  await bench.cleanUp();
  rmSync(folder, { recursive: true, force: true });
}

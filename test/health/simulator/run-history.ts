import type { ProbeConfig } from "../../../src/config/config.js";
import type { decideAnswerable } from "../../../src/health/answerable.js";
import type { createHealthMonitor } from "../../../src/health/monitor.js";
import { createFakeClock } from "../../support/fake-clock.js";
import { seededRandom } from "../../support/random.js";
import type { World } from "./conditions.js";
import { type ProberOptions, simulatedProber } from "./prober.js";

/** The code that decides, of this build or of another. */
export interface Rules {
  readonly createHealthMonitor: typeof createHealthMonitor;
  readonly decideAnswerable: typeof decideAnswerable;
}

/** Rules and settings whose decisions are compared. */
export interface RuleSet extends ProberOptions {
  readonly name: string;
  readonly rules: Rules;
  readonly probe: ProbeConfig;
  /** By the number of targets. */
  minHealthy(targets: number): number;
}

/** What one livezone server did. */
export interface ServerLog {
  /** Answers, oldest first: from when on, and the targets answered, as bits. The first is from 0 on. */
  readonly answers: readonly { readonly atMs: number; readonly targets: number }[];
  /** Changes of the presumption that the prober is cut off. */
  readonly isolations: readonly { readonly atMs: number; readonly isolated: boolean }[];
}

const FQDN = "api.k8s.example.com";

/** The second server starts up to this time after the first, milliseconds. */
const START_APART_MS = 2_000;

/** Lets livezone servers live through one history, on one clock, each with its own phase and randomness. */
export async function runHistory(world: World, ruleSet: RuleSet, seed: number): Promise<readonly ServerLog[]> {
  const clock = createFakeClock();
  const servers = world.servers.map((_, index) => startServer(clock, world, ruleSet, { index, seed }));
  await clock.advance(world.endMs);
  for (const { stop } of servers) stop();
  return servers.map(({ log }) => log);
}

function startServer(
  clock: ReturnType<typeof createFakeClock>,
  world: World,
  { rules, probe, minHealthy, isOld }: RuleSet,
  { index, seed }: { readonly index: number; readonly seed: number },
) {
  const random = seededRandom(seed * 7 + index + 1);
  const network = world.servers[index] ?? [];
  const paths = world.targets.map((target) => ({ target, network }));
  const log = {
    answers: [{ atMs: 0, targets: 2 ** paths.length - 1 }],
    isolations: [] as { atMs: number; isolated: boolean }[],
  };
  const policy = { whenAllDown: { kind: "all" } as const, minHealthy: minHealthy(paths.length) };
  const monitor = rules.createHealthMonitor({
    clock,
    random,
    ...simulatedProber(clock, random, paths, isOld === undefined ? {} : { isOld }),
    onTransition: answer,
    onHold: answer,
    onIsolation: (isolated) => log.isolations.push({ atMs: clock.monotonicMs(), isolated }),
  });
  function answer(): void {
    const health = monitor.snapshot().endpoints.get(FQDN);
    if (health === undefined) return;
    let targets = 0;
    for (const { address } of rules.decideAnswerable(health, policy).addresses) targets |= 1 << Number(address);
    if (log.answers.at(-1)?.targets !== targets) log.answers.push({ atMs: clock.monotonicMs(), targets });
  }
  monitor.configure([{ fqdn: FQDN, probe, targets: paths.map((_, at) => ({ id: `cp${at}`, addresses: [`${at}`] })) }]);
  const starting = clock.after(random() * START_APART_MS, () => monitor.start());
  const stop = () => {
    starting.cancel();
    monitor.stop();
  };
  return { log, stop };
}

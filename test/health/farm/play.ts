import { writeFileSync } from "node:fs";
import path from "node:path";
import type { ProbeConfig } from "../../../src/config/config.js";
import { createAuthority } from "../../../src/demo/certificates.js";
import { decideAnswerable } from "../../../src/health/answerable.js";
import { createHealthMonitor } from "../../../src/health/monitor.js";
import { createProbeFiles } from "../../../src/health/probes/files.js";
import { createRunProbe } from "../../../src/health/probes/probe.js";
import { createOpenTripwire } from "../../../src/health/probes/tripwire.js";
import { systemClock } from "../../../src/lib/clock.js";
import type { Cleanup } from "../../support/cleanup.js";
import { freePort } from "../../support/ports.js";
import { temporaryFolder } from "../../support/temp.js";
import { HTTPS } from "../monitor-harness.js";
import type { World } from "../simulator/conditions.js";
import type { ServerLog } from "../simulator/run-history.js";
import { contextOf, type FarmSettings, StandIn } from "./stand-in.js";

const NAME = "api.k8s.example.com";

/** The second server starts up to this time after the first, milliseconds: an interval, so that every phase comes. */
const START_APART_MS = 2_000;

/** Certificates for the stand-ins of any number of histories. */
export interface Farm extends Omit<FarmSettings, "nowMs"> {
  /** PEM file of the authority. */
  readonly ca: string;
  readonly port: number;
}

export async function createFarm(cleanup: Cleanup): Promise<Farm> {
  const authority = await createAuthority();
  const stranger = await createAuthority({ commonName: "another authority" });
  const ca = path.join(temporaryFolder(cleanup), "ca.crt");
  writeFileSync(ca, authority.caPem);
  return {
    good: contextOf(await authority.issue({ names: [NAME] })),
    untrusted: contextOf(await stranger.issue({ names: [NAME] })),
    ca,
    port: await freePort(),
  };
}

/** The stand-ins of one history and how to end them. */
export interface RunningHistory {
  readonly addresses: readonly string[];
  nowMs(): number;
  stop(): void;
}

/** Starts the stand-ins of a history. @param index tells histories apart that are played at the same time; 0 to 9,999 */
export async function startHistory({ targets }: World, farm: Farm, index: number): Promise<RunningHistory> {
  const startedMs = performance.now();
  const nowMs = () => performance.now() - startedMs;
  const standIns = targets.map((conditions) => new StandIn(conditions, { ...farm, nowMs }));
  const addresses = targets.map(
    (_, target) => `127.${40 + Math.floor(index / 250)}.${1 + (index % 250)}.${target + 1}`,
  );
  await Promise.all(standIns.map((standIn, target) => standIn.start(addresses[target] ?? "", farm.port)));
  const stop = () => {
    for (const standIn of standIns) standIn.stop();
  };
  return { addresses, nowMs, stop };
}

/** Lets two monitors, with their real probes, live through a history in real time. Resolves when it is over. */
export async function playHistory(
  world: World,
  farm: Farm,
  { index, random }: { readonly index: number; readonly random: () => number },
): Promise<readonly ServerLog[]> {
  const history = await startHistory(world, farm, index);
  const files = createProbeFiles();
  const servers = world.servers.map(() => startMonitor(history, farm, files, random));
  await new Promise((resolve) => setTimeout(resolve, world.endMs - history.nowMs()));
  for (const { stop } of servers) stop();
  history.stop();
  return servers.map(({ log }) => log);
}

export function startMonitor(
  { addresses, nowMs }: RunningHistory,
  { ca, port }: Farm,
  files: ReturnType<typeof createProbeFiles>,
  random: () => number,
) {
  const log = {
    answers: [{ atMs: 0, targets: 2 ** addresses.length - 1 }],
    isolations: [] as { atMs: number; isolated: boolean }[],
  };
  const probe: ProbeConfig = Object.assign(
    { ...HTTPS, timeoutMs: 3_000, connectTimeoutMs: 1_500 },
    { serverName: NAME, ca, port },
  );
  const monitor = createHealthMonitor({
    clock: systemClock,
    random,
    runProbe: createRunProbe(systemClock, files),
    openTripwire: createOpenTripwire(files),
    onTransition: answer,
    onHold: answer,
    onIsolation: (isolated) => log.isolations.push({ atMs: nowMs(), isolated }),
  });
  function answer(): void {
    const health = monitor.snapshot().endpoints.get(NAME);
    if (health === undefined) return;
    let targets = 0;
    const policy = { whenAllDown: { kind: "all" }, minHealthy: 1 } as const;
    for (const { address } of decideAnswerable(health, policy).addresses) targets |= 1 << addresses.indexOf(address);
    if (log.answers.at(-1)?.targets !== targets) log.answers.push({ atMs: nowMs(), targets });
  }
  const targets = addresses.map((address, target) => ({ id: `cp${target}`, addresses: [address] }));
  monitor.configure([{ fqdn: NAME, probe, targets }]);
  const starting = setTimeout(() => monitor.start(), random() * START_APART_MS);
  const stop = () => {
    clearTimeout(starting);
    monitor.stop();
  };
  return { log, stop };
}

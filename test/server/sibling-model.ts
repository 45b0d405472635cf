import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import type { Config } from "../../src/config/config.js";
import type { ProbeResult } from "../../src/health/health.js";
import type { Clock } from "../../src/lib/clock.js";
import { ServerEvents } from "../../src/server/events.js";
import { buildHealthParts } from "../../src/server/health-parts.js";
import { OverrideRequests } from "../../src/server/override-requests.js";
import { readSavedState } from "../../src/server/saved-state.js";
import { SiblingParts } from "../../src/server/siblings.js";
import { createSighted } from "../../src/server/sighted.js";
import type { ServerState } from "../../src/server/state.js";
import { sketchZone } from "../answers/serve.js";
import { loadRight } from "../config/folder.js";
import { HTTPS } from "../health/monitor-harness.js";
import { createFakeClock } from "../support/fake-clock.js";
import { seededRandom } from "../support/random.js";
import { temporaryFolder } from "../support/temp.js";
import { type LinkState, SiblingNetwork } from "./sibling-network.js";

export const FQDN = "api.k8s.example.test";
export const SERVERS = [0, 1, 2] as const;
export const TARGETS = ["cp1", "cp2", "cp3"] as const;
const ADDRESSES = Object.fromEntries(TARGETS.map((id, index) => [id, [`192.0.2.1${index}`]]));
const PROBE = { ...HTTPS, tripwire: false, flap: { limit: 100, windowMs: 600_000 } };
export const HOLD_AT_MOST_MS = 10_000;

/**
 * Longest time in which a server that is alone finds a target down and stops answering it, milliseconds: an interval, two
 * probes that run out of time and the pause between them, and the time for which the last ones are held.
 */
export const DETECTION_MS = 2_200 + 2 * 2_000 + 1_000 + 6_000;

/** What a target does to probes that reach it. */
export type TargetState = "ok" | "refused" | "hang" | "not-ready";

const RESULTS: Readonly<Record<TargetState, ProbeResult>> = {
  ok: { class: "ok", reason: "ok", durationMs: 5 },
  refused: { class: "refused", reason: "refused", durationMs: 1, phase: "connect" },
  "not-ready": { class: "not-ready", reason: "500", durationMs: 5, phase: "response" },
  hang: { class: "timeout", reason: "no response", durationMs: 2_000, phase: "response" },
};
const LOST: ProbeResult = { class: "timeout", reason: "no connection", durationMs: 2_000, phase: "connect" };

/** Three servers that are siblings, in fake time, with clocks a day apart. */
export async function startModel(seed: number) {
  const random = seededRandom(seed);
  const clock = createFakeClock();
  const network = new SiblingNetwork(clock, random);
  const targets = new Map<string, TargetState>();
  const unreachable = new Set<string>();
  const key = join(temporaryFolder(), "siblings.key");
  writeFileSync(key, `${Buffer.from(Array.from({ length: 32 }, () => random() * 256)).toString("hex")}\n`, {
    mode: 0o600,
  });
  const servers = await Promise.all(
    SERVERS.map((index) =>
      startServer({
        index,
        clock,
        random,
        network,
        key,
        stateOf: (id) => (unreachable.has(`${index} ${id}`) ? "lost" : (targets.get(id) ?? "ok")),
      }),
    ),
  );
  return {
    clock,
    servers,
    setTarget: (id: string, state: TargetState) => void targets.set(id, state),
    setReach(index: number, id: string, isReached: boolean) {
      if (isReached) unreachable.delete(`${index} ${id}`);
      else unreachable.add(`${index} ${id}`);
    },
    setLink: (a: number, b: number, state: LinkState) => network.setLink(portOf(a), portOf(b), state),
    async stop() {
      for (const { parts, monitor, sight } of servers) {
        monitor.stop();
        sight.stop();
        await parts.stop();
      }
    },
  };
}

export type ModelServer = Awaited<ReturnType<typeof startServer>>;

const portOf = (index: number): number => 9_001 + index;

interface ServerOptions {
  readonly index: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly network: SiblingNetwork;
  readonly key: string;
  stateOf(target: string): TargetState | "lost";
}

async function startServer({ index, clock: common, random, network, key, stateOf }: ServerOptions) {
  const aheadMs = (index - 1) * 86_400_000;
  const clock: Clock = {
    monotonicMs: () => common.monotonicMs() + index * 1_000_000,
    wallMs: () => common.wallMs() + aheadMs,
    after: common.after,
  };
  const log = pino({ level: "silent" });
  const events = new ServerEvents(clock, log);
  const siblings = {
    name: `ns${index + 1}`,
    listen: { address: "127.0.0.1", port: portOf(index) },
    peers: SERVERS.filter((other) => other !== index).map((other) => ({
      name: `ns${other + 1}`,
      address: "127.0.0.1",
      port: portOf(other),
    })),
    secretFile: key,
    shareOverrides: true,
    holdAtMostMs: HOLD_AT_MOST_MS,
    whenIsolated: "hold",
  } as const;
  const config = { ...loadRight().config, siblings } as unknown as Config;
  const beginning = { isReady: false, isStopping: false, listensLater: false };
  const state: ServerState = { startedMs: 0, started: config, config, ...beginning, lastReload: { atMs: 0, ok: true } };
  const saved = await readSavedState(undefined, clock, events);
  const watcher = { onZoneAdded: () => {}, onZoneRemoved: () => {}, onChange: () => {} };
  const sighted = createSighted({ clock, state, events, watcher, before: saved.known });
  /** Monotonic moments of the last probe that passed, by target. */
  const passedMs = new Map<string, number>();
  const health = buildHealthParts({
    clock,
    random,
    events,
    saved,
    state,
    ...sighted,
    runProbe: ({ address }, _config, _signal, onConnected) => {
      const target = TARGETS.find((id) => ADDRESSES[id]?.includes(address)) ?? "";
      const found = stateOf(target);
      const result = found === "lost" ? LOST : RESULTS[found];
      if (found !== "lost" && found !== "refused") onConnected?.();
      return new Promise((resolve) => {
        clock.after(result.durationMs, () => {
          if (result.class === "ok") passedMs.set(target, common.monotonicMs());
          resolve(result);
        });
      });
    },
  });
  const { monitor, overrides } = health;
  sighted.connect(monitor);
  monitor.configure([
    { fqdn: FQDN, probe: PROBE, targets: TARGETS.map((id) => ({ id, addresses: ADDRESSES[id] ?? [] })) },
  ]);
  sighted.served.replaceZones([sketchZone({ endpoints: { api: ADDRESSES } })], monitor.snapshot());
  const { served, sight } = sighted;
  const pool = { setSilent: () => {} };
  const parts = new SiblingParts(
    {
      clock,
      random,
      log,
      events,
      state,
      served,
      health,
      pool,
      transfers: { forget: () => {} },
      transport: network.transport(portOf(index)),
    },
    config.siblings!,
  );
  let changedMs = 0;
  events.subscribe("sight of siblings", sight.subscriber());
  events.subscribe("siblings", parts.subscriber());
  events.subscribe("model", {
    "health-changed": () => {
      changedMs = common.monotonicMs();
    },
  });
  const snapshot = () => monitor.snapshot();
  const requests = new OverrideRequests({
    clock,
    log,
    served,
    overrides,
    snapshot,
    sharing: () => parts.sharing,
    clearFlaps: () => {},
  });
  await parts.start();
  monitor.start();
  void monitor.firstRound.then(() => {
    state.isReady = true;
    sight.viewsChanged("all");
    parts.siblings.selfChanged();
  });
  return {
    name: siblings.name,
    parts,
    monitor,
    sight,
    requests,
    overrides,
    passedMs,
    /** Monotonic moment, of the common clock, at which health changed last. */
    changedMs: () => changedMs,
    answerable: () => served.endpoints.get(FQDN)?.answerable,
    /** Targets that are up and that nobody has taken out. */
    left: () =>
      (snapshot().endpoints.get(FQDN)?.targets ?? []).filter(
        ({ id, addresses }) =>
          overrides.get(FQDN, id) === undefined && addresses.some(({ health: one }) => one === "up"),
      ),
  };
}

import type { HealthMonitor } from "../health/health-monitor.js";
import type { OverrideStore } from "../health/overrides.js";
import { type Clock, pause } from "../lib/clock.js";
import { formatAddress } from "../lib/listening.js";
import { VERSION } from "../lib/version.js";
import type { ConfigWatch } from "./config-watcher.js";
import type { Discovery } from "./discovery.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ServerEvents } from "./events.js";
import type { HealthPersistence, KnownBefore } from "./persistence.js";
import type { SerialReservations } from "./serial-reservations.js";
import type { SiblingSightOf } from "./sibling-sight.js";
import type { SiblingParts } from "./siblings.js";
import { listenAsConfigured, type Predecessor, type TakingOver, takeOver } from "./takeover.js";
import { stopNotifying, type TransferParts } from "./transfers.js";

/** Milliseconds until queries are answered even if some target has no result yet. */
const FIRST_ROUND_LIMIT_MS = 3_000;

/** Milliseconds that connections get to finish at a stop, which takes less than 5 s in all. */
export const DRAIN_MS = 3_000;

/** What is started and stopped. */
export interface LifecycleParts extends TakingOver, Pick<TransferParts, "notifier" | "exchange"> {
  readonly events: ServerEvents;
  readonly monitor: HealthMonitor;
  readonly served: ServedEndpoints;
  readonly overrides: OverrideStore;
  readonly persistence: HealthPersistence;
  readonly watch: ConfigWatch;
  readonly discovery: Discovery;
  readonly known: KnownBefore;
  readonly serials: SerialReservations;
  /** Absent = there are none. */
  readonly siblings?: SiblingParts | undefined;
  readonly sight: Pick<SiblingSightOf, "stop">;
  /** Absent: the port is free. */
  readonly predecessor?: Predecessor;
}

/** Opens what can be opened before queries are answered. @throws UserError */
export async function openSockets({ pool, state, listeners, siblings, predecessor }: LifecycleParts): Promise<void> {
  const { admin } = state.config;
  // Queries for inherited sockets wait there, and are better answered a little late than met with silence.
  if (predecessor === undefined && !pool.hasInherited) await listenAsConfigured({ pool, state });
  // A predecessor has the admin listeners still.
  if (predecessor === undefined) await listeners.open(admin);
  if (predecessor === undefined) await siblings?.start();
  else siblings?.startPatiently();
}

/** Says in the log what was started. */
export function logStart({ log, pool, state, listeners, served, known }: LifecycleParts): void {
  const { config } = state;
  const listen = pool.addresses.length > 0 ? pool.addresses : config.listen;
  log.info(
    {
      version: VERSION,
      listen: listen.map(formatAddress),
      http: listeners.http && formatAddress(listeners.http),
      socket: config.admin.socket,
      zones: config.zones.length,
      endpoints: served.endpoints.size,
    },
    "server started",
  );
  if (known.ageMs === undefined) return;
  const { isFresh, ageMs } = known;
  log.info({ ageMs: Math.round(ageMs), isFresh }, isFresh ? "last health serves" : "last health is too old");
}

/** Begins to probe, and resolves when queries are answered. @throws UserError if a predecessor cannot be taken over from */
export async function becomeReady(parts: LifecycleParts): Promise<void> {
  const { monitor, discovery, persistence, pool, state, events, served, clock, predecessor, serials } = parts;
  persistence.start();
  monitor.start();
  discovery.start();
  const isComplete = await firstRound(monitor, discovery, clock);
  // No serial is published that a crash could bring back; a disk that hangs must not keep queries waiting.
  await Promise.race([serials.saved(), pause(clock, FIRST_ROUND_LIMIT_MS)]);
  if (state.isStopping) return;
  state.isReady = true;
  pool.setReady();
  if (predecessor !== undefined) await takeOver(parts, predecessor);
  else if (pool.hasInherited) await listenAsConfigured(parts);
  if (state.isStopping) return;
  events.publish({ type: "ready", isComplete, endpoints: [...served.endpoints.values()] });
}

/** Resolves with whether every target has a result, and discovered endpoints an answer, or the time for it has passed. */
function firstRound(monitor: HealthMonitor, discovery: Discovery, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const limit = clock.after(FIRST_ROUND_LIMIT_MS, () => resolve(false));
    void Promise.all([monitor.firstRound, discovery.answered()]).then(() => {
      limit.cancel();
      resolve(true);
    });
  });
}

/** Answers what is under way, closes everything, and resolves within 5 s. */
export async function stopServer(parts: LifecycleParts): Promise<void> {
  const { state, watch, monitor, discovery, overrides, persistence, pool, listeners, siblings, sight, log } = parts;
  state.isStopping = true;
  sight.stop();
  await siblings?.stop();
  watch.stop();
  await discovery.stop();
  monitor.stop();
  stopNotifying(parts);
  await overrides.stop();
  await persistence.stop();
  await parts.serials.stop(state.hasLeft === true);
  await Promise.all([pool.stop(DRAIN_MS), listeners.stop(DRAIN_MS)]);
  log.info({}, "server stopped");
}

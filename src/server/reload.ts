import type { Clock } from "../lib/clock.js";
import { coalesce } from "../lib/coalesce.js";
import { formatProblem, messageOf, type Problem } from "../lib/errors.js";
import { formatAddress } from "../lib/listening.js";
import type { WorkerPool } from "../transport/worker-pool.js";
import type { Discovery } from "./discovery.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ServerEvents } from "./events.js";
import { ConfigurationError, type Prepared, prepare } from "./load-zones.js";
import type { ThreadPolicy } from "./query-policy.js";
import { pendingSettings } from "./restart-only-settings.js";
import type { SiblingParts } from "./siblings.js";
import type { ServerState } from "./state.js";

/** What a configuration is brought to. */
export interface ConfigurationParts {
  readonly clock: Clock;
  readonly state: ServerState;
  readonly events: ServerEvents;
  readonly pool: WorkerPool;
  readonly policy: ThreadPolicy;
  readonly served: ServedEndpoints;
  readonly discovery: Pick<Discovery, "withLearned">;
  /** Absent = there are none. */
  readonly siblings?: Pick<SiblingParts, "read"> | undefined;
  readonly monitor: {
    configure(endpoints: Prepared["config"]["zones"][number]["endpoints"]): void;
    snapshot(): Parameters<ServedEndpoints["replaceZones"]>[1];
  };
}

/**
 * Brings threads, monitor and answers to a configuration that is known to be good.
 *
 * @param applyPolicy what {@link ThreadPolicy.read} gave for it
 */
export function applyConfiguration(parts: ConfigurationParts, loaded: Prepared, applyPolicy: () => void): void {
  const { monitor, served, events, state, discovery } = parts;
  applyPolicy();
  const next = discovery.withLearned(loaded);
  monitor.configure(next.config.zones.flatMap((zone) => zone.endpoints));
  state.config = next.config;
  served.replaceZones(next.zones, monitor.snapshot());
  events.publish({ type: "zones-replaced", config: next.config });
}

/**
 * Makes the function that takes the configuration anew, as a whole or not at all; calls while it runs share one run after
 * it. It resolves with what is wrong, as printed; empty when the configuration was taken.
 */
export function createReload(file: string, parts: ConfigurationParts): () => Promise<readonly string[]> {
  const { state, events } = parts;
  return coalesce(async () => {
    if (state.isStopping) return ["the server is stopping"];
    try {
      return await takeConfiguration(file, parts);
    } catch (error) {
      const problems: readonly Problem[] = error instanceof ConfigurationError ? error.problems : [];
      state.lastReload = { atMs: parts.clock.wallMs(), ok: false };
      events.publish({ type: "reload-refused", error, problems });
      return problems.length > 0 ? problems.map(formatProblem) : [messageOf(error)];
    }
  });
}

/** @throws ConfigurationError, UserError; nothing has changed then */
async function takeConfiguration(file: string, parts: ConfigurationParts): Promise<readonly string[]> {
  const { state, events, pool, policy, served } = parts;
  const next = prepare(file);
  // What can fail comes first.
  const applyPolicy = policy.read(next.config);
  const applySiblings = parts.siblings?.read(next.config);
  if (!state.listensLater) await pool.listen(next.config.listen, { freeBind: next.config.freebind });
  if (state.isStopping) return ["the server is stopping"];
  applyConfiguration(parts, next, applyPolicy);
  applySiblings?.();
  state.lastReload = { atMs: parts.clock.wallMs(), ok: true };
  events.publish({
    type: "reloaded",
    config: next.config,
    warnings: next.warnings,
    listen: pool.addresses.map(formatAddress),
    endpoints: served.endpoints.size,
    needRestart: pendingSettings(state.started, next.config),
  });
  return [];
}

import type { Override } from "../health/health.js";
import type { HealthMonitor } from "../health/health-monitor.js";
import { createHealthMonitor } from "../health/monitor.js";
import type { OverriddenEndpoint } from "../health/override-refusals.js";
import { OverrideStore } from "../health/overrides.js";
import { createProbeFiles, systemFiles } from "../health/probes/files.js";
import { createRunProbe, type RunProbe } from "../health/probes/probe.js";
import { createOpenTripwire } from "../health/probes/tripwire.js";
import type { Clock } from "../lib/clock.js";
import { type Changes, monitorReports } from "./changes.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ServerEvents } from "./events.js";
import { describeHealth, HealthPersistence } from "./persistence.js";
import { Reservations } from "./reservations.js";
import type { SavedState } from "./saved-state.js";
import type { SiblingSightOf } from "./sibling-sight.js";
import type { ServerState } from "./state.js";

/** What health and what belongs to it are built from. */
export interface HealthPartsOptions {
  readonly clock: Clock;
  /** 0 (included) to 1 (not included). */
  readonly random: () => number;
  readonly events: ServerEvents;
  readonly saved: SavedState;
  readonly served: ServedEndpoints;
  readonly changes: Changes;
  readonly state: ServerState;
  readonly sight: SiblingSightOf;
  /** Default: probes over the network, and tripwires with them. */
  readonly runProbe?: RunProbe;
  /** The prober is presumed cut off, alone or by what siblings see, or is so no more. */
  onIsolation(): void;
}

/** The monitor, the overrides that it shows, and what is kept of both for the next process. */
export interface HealthParts {
  readonly monitor: HealthMonitor;
  readonly overrides: OverrideStore;
  readonly persistence: HealthPersistence;
  /** Targets that are about to be taken out. */
  readonly reservations: Reservations;
  /** What siblings see. */
  readonly sight: SiblingSightOf;
  /** What is known of an endpoint, to decide on an override. */
  look(fqdn: string): OverriddenEndpoint | undefined;
}

/** Builds the parts that decide on health, each connected to the others and to the events. */
export function buildHealthParts(options: HealthPartsOptions): HealthParts {
  const { saved, served, clock, events } = options;
  const monitor = buildMonitor(options, (endpoint, target) => overrides.get(endpoint, target));
  const reservations = new Reservations(clock);
  const look = (fqdn: string): OverriddenEndpoint | undefined => {
    const health = monitor.snapshot().endpoints.get(fqdn);
    const endpoint = served.endpoints.get(fqdn);
    return health && endpoint && { health, policy: endpoint.config, lastHealthy: endpoint.lastHealthy };
  };
  const overrides = buildOverrides(options, monitor, (fqdn, target) => {
    const looked = look(fqdn);
    return looked && reservations.applied(looked, target);
  });
  const persistence = new HealthPersistence({
    clock,
    file: saved.files?.last,
    collect: () => ({
      endpoints: describeHealth(monitor.snapshot(), (fqdn) => served.endpoints.get(fqdn)?.lastHealthy ?? []),
      zones: served.zones(),
    }),
    onError: (error) => events.publish({ type: "state-not-saved", error }),
  });
  return { monitor, overrides, persistence, reservations, look, sight: options.sight };
}

function buildMonitor(
  options: HealthPartsOptions,
  overrideOf: (endpoint: string, target: string) => Override | undefined,
): HealthMonitor {
  const { clock, random, events, saved, changes, runProbe } = options;
  const files = createProbeFiles(
    clock,
    systemFiles,
    (trouble) => events.publish({ type: "probe-file-trouble", trouble }),
    (end) => events.publish({ type: "probe-credential-end", end }),
  );
  return createHealthMonitor({
    clock,
    random,
    ...(runProbe === undefined
      ? { runProbe: createRunProbe(clock, files), openTripwire: createOpenTripwire(files) }
      : { runProbe }),
    recall: saved.known.recall,
    overrideOf,
    ...monitorReports(changes, events),
    onIsolation: options.onIsolation,
    knowsBetter: () => options.sight.knowsBetter,
  });
}

function buildOverrides(
  { clock, events, saved, changes, state }: HealthPartsOptions,
  monitor: HealthMonitor,
  look: (fqdn: string, target: string) => OverriddenEndpoint | undefined,
): OverrideStore {
  const server = state.started.siblings?.name;
  return new OverrideStore({
    clock,
    initial: saved.overrides,
    look,
    ...(server === undefined ? {} : { server }),
    ...(saved.files && { save: saved.files.overrides.write }),
    onChange(change) {
      const { endpoint, target } = change.entry;
      monitor.overrideChanged(endpoint, target);
      changes.override(change, monitor.snapshot());
      // Whoever has looked after a target and gives it back means it to start afresh.
      if (change.action === "cleared") monitor.clearFlaps(endpoint, target);
    },
    onSaveError: (error) => events.publish({ type: "state-not-saved", error }),
  });
}

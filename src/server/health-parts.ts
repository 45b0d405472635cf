import type { Override } from "../health/health.js";
import type { HealthMonitor } from "../health/health-monitor.js";
import { createHealthMonitor } from "../health/monitor.js";
import { OverrideStore } from "../health/overrides.js";
import { createProbeFiles, systemFiles } from "../health/probes/files.js";
import { createRunProbe } from "../health/probes/probe.js";
import { createOpenTripwire } from "../health/probes/tripwire.js";
import type { Clock } from "../lib/clock.js";
import { type Changes, monitorReports } from "./changes.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ServerEvents } from "./events.js";
import { describeHealth, HealthPersistence } from "./persistence.js";
import type { SavedState } from "./saved-state.js";

/** What health and what belongs to it are built from. */
export interface HealthPartsOptions {
  readonly clock: Clock;
  /** 0 (included) to 1 (not included). */
  readonly random: () => number;
  readonly events: ServerEvents;
  readonly saved: SavedState;
  readonly served: ServedEndpoints;
  readonly changes: Changes;
}

/** The monitor, the overrides that it shows, and what is kept of both for the next process. */
export interface HealthParts {
  readonly monitor: HealthMonitor;
  readonly overrides: OverrideStore;
  readonly persistence: HealthPersistence;
}

/** Builds the parts that decide on health, each connected to the others and to the events. */
export function buildHealthParts(options: HealthPartsOptions): HealthParts {
  const { saved, served, clock, events } = options;
  const monitor = buildMonitor(options, (endpoint, target) => overrides.get(endpoint, target));
  const overrides = buildOverrides(options, monitor);
  const persistence = new HealthPersistence({
    clock,
    file: saved.files?.last,
    collect: () => ({
      endpoints: describeHealth(monitor.snapshot(), (fqdn) => served.endpoints.get(fqdn)?.lastHealthy ?? []),
      zones: served.zones(),
    }),
    onError: (error) => events.publish({ type: "state-not-saved", error }),
  });
  return { monitor, overrides, persistence };
}

function buildMonitor(
  { clock, random, events, saved, changes }: HealthPartsOptions,
  overrideOf: (endpoint: string, target: string) => Override | undefined,
): HealthMonitor {
  const files = createProbeFiles(clock, systemFiles, (trouble) =>
    events.publish({ type: "probe-file-trouble", trouble }),
  );
  return createHealthMonitor({
    clock,
    random,
    runProbe: createRunProbe(clock, files),
    openTripwire: createOpenTripwire(files),
    recall: saved.known.recall,
    overrideOf,
    ...monitorReports(changes, events),
  });
}

function buildOverrides(
  { clock, events, saved, served, changes }: HealthPartsOptions,
  monitor: HealthMonitor,
): OverrideStore {
  return new OverrideStore({
    clock,
    initial: saved.overrides,
    look(fqdn) {
      const health = monitor.snapshot().endpoints.get(fqdn);
      const endpoint = served.endpoints.get(fqdn);
      return health && endpoint && { health, policy: endpoint.config, lastHealthy: endpoint.lastHealthy };
    },
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

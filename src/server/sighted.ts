import type { Snapshot } from "../health/health.js";
import type { HealthMonitor } from "../health/health-monitor.js";
import type { Clock } from "../lib/clock.js";
import { Changes } from "./changes.js";
import { type ServedBefore, ServedEndpoints, type ZoneWatcher } from "./endpoints.js";
import type { ServerEvents } from "./events.js";
import { SiblingSightOf } from "./sibling-sight.js";
import type { ServerState } from "./state.js";

/** What the served endpoints and the sight of siblings are built from. */
export interface SightedOptions {
  readonly clock: Clock;
  readonly state: ServerState;
  readonly events: ServerEvents;
  readonly watcher: ZoneWatcher;
  readonly before: ServedBefore;
}

/** The served endpoints, what changes them, and what siblings see, which each of them needs of the others. */
export interface Sighted {
  readonly served: ServedEndpoints;
  readonly changes: Changes;
  readonly sight: SiblingSightOf;
  /** The prober is presumed cut off, alone or by what siblings see, or is so no more. */
  onIsolation(): void;
  /** Health is there from now on. */
  connect(monitor: Pick<HealthMonitor, "snapshot" | "isolated">): void;
}

const NO_HEALTH: Snapshot = { endpoints: new Map() };

export function createSighted({ clock, state, events, watcher, before }: SightedOptions): Sighted {
  let monitor: Pick<HealthMonitor, "snapshot" | "isolated"> | undefined;
  let wasIsolated = false;
  const snapshot = (): Snapshot => monitor?.snapshot() ?? NO_HEALTH;
  const onIsolation = (): void => {
    const isolated = monitor?.isolated === true || sight.isCutOff;
    if (isolated === wasIsolated) return;
    wasIsolated = isolated;
    events.publish({ type: "isolation-changed", isolated });
  };
  const sight: SiblingSightOf = new SiblingSightOf({
    clock,
    snapshot,
    config: () => state.config.siblings,
    isStarted: () => state.isReady,
    follow: (fqdns) => changes.views(fqdns, snapshot()),
    onCutOff: onIsolation,
  });
  const served = new ServedEndpoints(clock, watcher, before, (health, config) => sight.vouched(health, config));
  const changes = new Changes(served, events);
  return {
    served,
    changes,
    sight,
    onIsolation,
    connect(health) {
      monitor = health;
    },
  };
}

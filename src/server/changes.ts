import type { Snapshot, Transition } from "../health/health.js";
import type { HealthMonitorOptions } from "../health/health-monitor.js";
import type { OverrideChange } from "../health/override-records.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ServerEvents } from "./events.js";
import { SuppressionWatch } from "./suppression-changes.js";

/**
 * The way of every change of health, suppression and overrides: the answers follow it first, then it is published. So
 * whoever is told of a change finds the answers as they are after it.
 */
export class Changes {
  readonly #endpoints: ServedEndpoints;
  readonly #events: ServerEvents;
  readonly #suppression = new SuppressionWatch();

  constructor(endpoints: ServedEndpoints, events: ServerEvents) {
    this.#endpoints = endpoints;
    this.#events = events;
  }

  /** Health of some addresses has changed. */
  health(transitions: readonly Transition[], snapshot: Snapshot): void {
    const fqdns = new Set(transitions.map(({ fqdn }) => fqdn));
    for (const fqdn of fqdns) this.#follow(fqdn, snapshot);
    for (const transition of transitions) {
      const endpoint = this.#endpoints.endpoints.get(transition.fqdn);
      this.#events.publish({ type: "health-changed", transition, ...(endpoint && { endpoint }) });
    }
    for (const fqdn of fqdns) this.#publishSuppression(fqdn, snapshot);
  }

  /** Addresses of these endpoints are kept down because they flap, or not any more. */
  suppression(fqdns: readonly string[], snapshot: Snapshot): void {
    for (const fqdn of new Set(fqdns)) {
      this.#follow(fqdn, snapshot);
      this.#publishSuppression(fqdn, snapshot);
    }
  }

  /** Siblings see something else of these endpoints, or time has passed over what they see. */
  views(fqdns: readonly string[], snapshot: Snapshot): void {
    for (const fqdn of fqdns) this.#follow(fqdn, snapshot);
  }

  /** An override was set, cleared or has expired; `snapshot` shows it. */
  override(change: OverrideChange, snapshot: Snapshot): void {
    const { endpoint: fqdn } = change.entry;
    this.#follow(fqdn, snapshot);
    const endpoint = this.#endpoints.endpoints.get(fqdn);
    this.#events.publish({ type: "override-changed", change, ...(endpoint && { endpoint }) });
  }

  #follow(fqdn: string, snapshot: Snapshot): void {
    const followed = this.#endpoints.follow(fqdn, snapshot);
    if (followed === undefined) return;
    const { endpoint, before, change } = followed;
    if (change === undefined && before.mode === endpoint.answerable.mode) return;
    this.#events.publish({ type: "answers-changed", endpoint, before });
  }

  #publishSuppression(fqdn: string, snapshot: Snapshot): void {
    const endpoint = this.#endpoints.endpoints.get(fqdn);
    for (const change of this.#suppression.look(fqdn, snapshot.endpoints.get(fqdn))) {
      this.#events.publish({ type: "suppression-changed", change, ...(endpoint && { endpoint }) });
    }
  }
}

/** What the health monitor calls: each of its reports goes one way only. */
export function monitorReports(changes: Changes, events: ServerEvents) {
  return {
    onTransition: (transitions, snapshot) => changes.health(transitions, snapshot),
    onHold: (fqdns, snapshot) => changes.suppression(fqdns, snapshot),
    onResult: (report) => events.publish({ type: "probe-finished", report }),
    onIsolation: (isolated) => events.publish({ type: "isolation-changed", isolated }),
    onStall: (lengthMs) => events.publish({ type: "stalled", lengthMs }),
  } satisfies Partial<HealthMonitorOptions>;
}

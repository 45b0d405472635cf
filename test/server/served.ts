import type { AddressHealth, Override, ProbeResult, Snapshot } from "../../src/health/health.js";
import { ServedEndpoints } from "../../src/server/endpoints.js";
import { sketchZone, type ZoneSketch } from "../answers/serve.js";
import { createFakeClock, type FakeClock } from "../support/fake-clock.js";

/** Addresses by target id. */
export type Targets = Readonly<Record<string, readonly string[]>>;

/** What is said of targets, by id, whatever endpoint they belong to. */
export interface HealthSketch {
  /** Default: all others are up. */
  readonly down?: readonly string[];
  readonly overrides?: Readonly<Record<string, Override>>;
  /** Addresses of these targets are kept down since they flap. */
  readonly held?: Readonly<Record<string, NonNullable<AddressHealth["held"]>>>;
  /** Targets that the configuration disables. */
  readonly disabled?: readonly string[];
  readonly last?: Readonly<Record<string, ProbeResult>>;
}

/** A picture of health, by the fqdn of endpoints. Every address has been as it is since 0. */
export function snapshotOf(endpoints: Readonly<Record<string, Targets>>, sketch: HealthSketch = {}): Snapshot {
  const { down = [], overrides = {}, held = {}, last = {}, disabled = [] } = sketch;
  const health = Object.entries(endpoints).map(([fqdn, targets]) => ({
    fqdn,
    targets: Object.entries(targets).map(([id, addresses]) => ({
      id,
      ...(disabled.includes(id) && { disabled: true as const }),
      ...(overrides[id] && { override: overrides[id] }),
      addresses: addresses.map((address) => ({
        address,
        health: down.includes(id) ? ("down" as const) : ("up" as const),
        sinceMs: 0,
        ...(held[id] && { held: held[id] }),
        ...(last[id] && { last: last[id] }),
      })),
    })),
  }));
  return { endpoints: new Map(health.map((endpoint) => [endpoint.fqdn, endpoint])) };
}

/** Endpoints that are served, without anybody who is told. */
export function serveEndpoints(
  sketches: readonly ZoneSketch[],
  snapshot: Snapshot,
): { readonly served: ServedEndpoints; readonly clock: FakeClock } {
  const clock = createFakeClock();
  const nobody = { onZoneAdded: () => {}, onZoneRemoved: () => {}, onChange: () => {} };
  const served = new ServedEndpoints(clock, nobody);
  served.replaceZones(sketches.map(sketchZone), snapshot);
  return { served, clock };
}

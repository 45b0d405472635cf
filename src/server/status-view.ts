import type { AddressView, EndpointView, OverrideView, Status, TargetView } from "../admin/schemas.js";
import type { Override, Snapshot, TargetHealth } from "../health/health.js";
import type { ServedEndpoint, ServedEndpoints } from "./endpoints.js";

/** Zones, endpoints and targets as the admin API shows them. */
export function zoneViews(served: ServedEndpoints, snapshot: Snapshot): Status["zones"] {
  const byZone = new Map<string, EndpointView[]>();
  for (const endpoint of served.endpoints.values()) {
    const view = endpointView(endpoint, snapshot.endpoints.get(endpoint.config.fqdn)?.targets ?? []);
    const views = byZone.get(endpoint.zone.zone);
    if (views === undefined) byZone.set(endpoint.zone.zone, [view]);
    else views.push(view);
  }
  return served.zones().map(({ zone, serial }) => ({ zone, serial, endpoints: byZone.get(zone) ?? [] }));
}

function endpointView(endpoint: ServedEndpoint, targets: readonly TargetHealth[]): EndpointView {
  const { config, answerable } = endpoint;
  return {
    endpoint: config.fqdn,
    port: config.port,
    ttl: config.ttl,
    mode: answerable.mode,
    upTargets: answerable.upTargets,
    minHealthy: config.minHealthy,
    answers: answerable.addresses.map(({ address }) => address),
    targets: targets.map((target) => targetView(endpoint, target)),
  };
}

/** A target as the admin API shows it. */
export function targetView({ answerable }: ServedEndpoint, target: TargetHealth): TargetView {
  const { id, disabled, override, addresses } = target;
  return {
    id,
    ...(disabled === true ? { disabled } : {}),
    ...(override === undefined ? {} : { override: overrideView(override) }),
    addresses: addresses.map(
      ({ address, health, sinceMs, last, held }): AddressView => ({
        address,
        health,
        sinceMs,
        // By the address: a policy may name it without a target.
        answered: answerable.addresses.some((entry) => entry.address === address),
        ...(held === undefined ? {} : { held }),
        ...(last === undefined ? {} : { last }),
      }),
    ),
  };
}

/** An override as the API shows it, whatever else may be known of it. */
export function overrideView({ kind, reason, author, origin, setAtMs, expiresAtMs }: Override): OverrideView {
  return {
    kind,
    origin,
    setAtMs,
    ...(reason === undefined ? {} : { reason }),
    ...(author === undefined ? {} : { author }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

import type { AddressView, EndpointView, OverrideView, Status, TargetView } from "../admin/schemas.js";
import type { DiscoveredEndpoint } from "../discovery/discovered-endpoint.js";
import { WRITTEN } from "../discovery/targets.js";
import type { Override, Snapshot, TargetHealth } from "../health/health.js";
import type { ServedEndpoint, ServedEndpoints } from "./endpoints.js";

/** What is known of how an endpoint's targets were discovered, by fqdn; undefined without `discover`. */
export type DiscoveredOf = (fqdn: string) => Pick<DiscoveredEndpoint, "sources" | "now"> | undefined;

const NOTHING_DISCOVERED: DiscoveredOf = () => undefined;

/** Zones, endpoints and targets as the admin API shows them. */
export function zoneViews(
  served: ServedEndpoints,
  snapshot: Snapshot,
  discoveredOf: DiscoveredOf = NOTHING_DISCOVERED,
): Status["zones"] {
  const byZone = new Map<string, EndpointView[]>();
  for (const endpoint of served.endpoints.values()) {
    const { fqdn } = endpoint.config;
    const view = endpointView(endpoint, snapshot.endpoints.get(fqdn)?.targets ?? [], discoveredOf(fqdn));
    const views = byZone.get(endpoint.zone.zone);
    if (views === undefined) byZone.set(endpoint.zone.zone, [view]);
    else views.push(view);
  }
  return served.zones().map(({ zone, serial }) => ({ zone, serial, endpoints: byZone.get(zone) ?? [] }));
}

function endpointView(
  endpoint: ServedEndpoint,
  targets: readonly TargetHealth[],
  discovered: ReturnType<DiscoveredOf>,
): EndpointView {
  const { config, answerable } = endpoint;
  return {
    endpoint: config.fqdn,
    port: config.port,
    ttl: config.ttl,
    mode: answerable.mode,
    upTargets: answerable.upTargets,
    minHealthy: config.minHealthy,
    answers: answerable.addresses.map(({ address }) => address),
    targets: targets.map((target) => ({ ...targetView(endpoint, target), ...originView(target.id, discovered) })),
    ...(discovered === undefined ? {} : { discovery: discoveryView(discovered, targets) }),
  };
}

function originView(id: string, discovered: ReturnType<DiscoveredOf>): Pick<TargetView, "origins" | "goneSinceMs"> {
  const origin = discovered?.now?.origins.get(id);
  if (origin === undefined) return {};
  const { origins, goneSinceMs } = origin;
  return { origins: [...origins], ...(goneSinceMs === undefined ? {} : { goneSinceMs }) };
}

function discoveryView(
  { sources, now }: NonNullable<ReturnType<DiscoveredOf>>,
  targets: readonly TargetHealth[],
): NonNullable<EndpointView["discovery"]> {
  const isProposed = (id: string): boolean => {
    const origin = now?.origins.get(id);
    return origin !== undefined && origin.goneSinceMs === undefined && origin.origins.some((name) => name !== WRITTEN);
  };
  const isUp = ({ addresses }: TargetHealth): boolean => addresses.some(({ health }) => health === "up");
  return {
    sources: sources.map(({ name, state, heardAtMs, failure, candidates, credential }) => ({
      source: name,
      state,
      ...(heardAtMs === undefined ? {} : { heardAtMs }),
      ...(failure === undefined ? {} : { problem: failure.problem }),
      candidates,
      ...(credential === undefined
        ? {}
        : { credentialEndsAtMs: credential.endsAtMs, credentialRenewFromMs: credential.warnFromMs }),
    })),
    unconfirmed: targets.filter((target) => isProposed(target.id) && !isUp(target)).map(({ id }) => id),
    ignored: now?.ignored ?? 0,
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
export function overrideView({ kind, reason, author, origin, isLocal, setAtMs, expiresAtMs }: Override): OverrideView {
  return {
    kind,
    origin,
    setAtMs,
    ...(isLocal === true ? { local: true } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(author === undefined ? {} : { author }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

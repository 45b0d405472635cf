import { createHash } from "node:crypto";
import type { AddressHealth } from "../health/health.js";
import type { HealthMonitor } from "../health/health-monitor.js";
import { decideOverride, type OverriddenEndpoint } from "../health/override-refusals.js";
import type { OverrideStore } from "../health/overrides.js";
import type { SiblingHost } from "../siblings/host.js";
import type { Beat, Reply, SiblingEndpoint, SiblingZone, Verdict } from "../siblings/messages.js";
import type { ServedEndpoint, ServedEndpoints } from "./endpoints.js";
import type { ServerEvents } from "./events.js";
import type { OverrideSharing } from "./override-sharing.js";
import type { Primaries } from "./primaries.js";
import type { Reservations } from "./reservations.js";
import { recordOf } from "./shared-overrides.js";
import type { ServerState } from "./state.js";
import { zoneDigest } from "./zone-digest.js";

/** What is told to siblings is read from, and what they say is brought to. */
export interface SiblingHostParts {
  /** Name of this server. */
  readonly name: string;
  readonly state: ServerState;
  readonly served: ServedEndpoints;
  readonly monitor: Pick<HealthMonitor, "snapshot" | "isolated" | "hint">;
  readonly overrides: Pick<OverrideStore, "shared" | "receive" | "get" | "revision">;
  readonly events: ServerEvents;
  readonly reservations: Reservations;
  readonly sharing: () => OverrideSharing;
  readonly primaries: () => Pick<Primaries, "serials" | "heard">;
  /** What is known of an endpoint, to decide on an override. */
  look(fqdn: string): OverriddenEndpoint | undefined;
  /** Flags of this server. */
  flags(): Pick<Beat, "isolated" | "late" | "sight">;
  /** What siblings see has changed. */
  onViews(fqdns: readonly string[] | "all"): void;
}

/** What this server says of itself, and what it does with what siblings say. */
export function siblingHost(parts: SiblingHostParts): SiblingHost {
  const { state, served, monitor, overrides, events, reservations, name } = parts;
  const isShared = (): boolean => state.config.siblings?.shareOverrides !== false;
  const digest = overridesDigest(overrides);
  return {
    self: () => ({
      ...parts.flags(),
      starting: !state.isReady,
      overrides: isShared() ? digest() : "",
    }),
    zones: () => zonesOf(state, served),
    serials: () => parts.primaries().serials(),
    onSerials: (peer, serials) => parts.primaries().heard(peer, serials),
    *endpoints() {
      for (const fqdn of served.endpoints.keys()) {
        const endpoint = siblingEndpoint(fqdn, served.endpoints.get(fqdn), monitor);
        if (endpoint !== undefined) yield endpoint;
      }
    },
    endpoint: (fqdn) => siblingEndpoint(fqdn, served.endpoints.get(fqdn), monitor),
    overrides: () => (isShared() ? parts.sharing().entries() : []),
    onHint(_peer, fqdn, addresses) {
      for (const address of addresses) monitor.hint(fqdn, address);
    },
    onViews: parts.onViews,
    onCondition: (sibling, condition, before) =>
      events.publish({ type: "sibling-changed", sibling, condition, before }),
    async take(peer, entries, aheadMs) {
      if (!isShared()) return;
      const news = await overrides.receive(entries.map((entry) => recordOf(entry, name, aheadMs)));
      for (const record of news) reservations.release(record);
      parts.sharing().passOn(news, peer);
    },
    onKept: (sibling, error) =>
      events.publish(
        error === undefined
          ? { type: "sibling-overrides-kept", sibling }
          : { type: "sibling-overrides-not-kept", sibling, error },
      ),
    judge(_peer, ask) {
      const looked = isShared() ? parts.look(ask.endpoint) : undefined;
      if (looked === undefined) return undefined;
      const decision = decideOverride(ask, reservations.applied(looked, ask.target));
      if ("refusal" in decision) {
        // A target that is not configured here is none of our business.
        return decision.refusal.code === "NO_SUCH_TARGET" ? undefined : { ...decision.refusal };
      }
      reservations.keep(ask);
      return undefined;
    },
    release: (_peer, ask) => reservations.release(ask),
    safe: (target) => safeReply(target, served, overrides),
  };
}

function safeReply(
  { endpoint, target }: { readonly endpoint: string; readonly target: string },
  served: ServedEndpoints,
  overrides: Pick<OverrideStore, "get">,
): Reply {
  const inMs = served.safeInMs(endpoint, target);
  if (served.endpoints.get(endpoint)?.config.targets.some(({ id }) => id === target) !== true) {
    return { state: "unknown", safeInMs: inMs ?? 0 };
  }
  if (overrides.get(endpoint, target)?.kind !== "drained") return { state: "not-drained" };
  return inMs === undefined ? { state: "answered" } : { state: "drained", safeInMs: inMs };
}

function zonesOf({ config }: ServerState, served: ServedEndpoints): SiblingZone[] {
  const serials = new Map(served.zones().map(({ zone, serial }) => [zone, serial]));
  return config.zones.map((zone) => ({
    zone: zone.zone,
    digest: zoneDigest(zone),
    serial: serials.get(zone.zone) ?? 0,
  }));
}

/** An endpoint as this server sees and answers it; undefined if it is not served. */
function siblingEndpoint(
  fqdn: string,
  endpoint: ServedEndpoint | undefined,
  monitor: Pick<HealthMonitor, "snapshot">,
): SiblingEndpoint | undefined {
  const health = monitor.snapshot().endpoints.get(fqdn);
  if (endpoint === undefined || health === undefined) return undefined;
  const all = health.targets.flatMap(({ addresses, disabled }) => (disabled === true ? [] : addresses));
  return {
    endpoint: fqdn,
    answers: endpoint.answerable.addresses.map(({ address }) => address),
    up: all.filter((one) => verdictOn(one) === "up").map(({ address }) => address),
    not: all.flatMap((one): [string, Verdict][] => {
      const verdict = verdictOn(one);
      return verdict === "up" ? [] : [[one.address, verdict]];
    }),
  };
}

/** What this server sees of an address. */
export function verdictOn({ health, last }: AddressHealth): Verdict {
  if (health !== "up") return health;
  // What is remembered from before a restart is no sight of this server.
  if (last === undefined) return "unknown";
  return last.class === "ok" || last.class === "overloaded" ? "up" : "doubt";
}

/** Makes a digest of all shared overrides; the same on servers that have heard the same. */
function overridesDigest(overrides: Pick<OverrideStore, "shared" | "revision">): () => string {
  let known: { readonly revision: number; readonly digest: string } | undefined;
  return () => {
    const { revision } = overrides;
    if (known?.revision !== revision) {
      const lines = overrides
        .shared()
        .map(({ endpoint, target, stamp: { ms, count, by } }) => `${endpoint} ${target} ${ms} ${count} ${by}`);
      const digest = createHash("sha256").update(lines.sort().join("\n")).digest("hex").slice(0, 16);
      known = { revision, digest };
    }
    return known.digest;
  };
}

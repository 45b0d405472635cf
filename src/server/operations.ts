import type {
  AddressView,
  Change,
  Drain,
  EndpointView,
  OverrideView,
  PendingSetting,
  TargetView,
} from "../admin/schemas.js";
import type { Control, OverrideOrder, TargetName } from "../admin/service.js";
import { IN_FLIGHT_MS } from "../health/drain.js";
import type { Override, OverrideKind, Snapshot, TargetHealth } from "../health/health.js";
import type { OverrideBook, OverrideRequest } from "../health/overrides.js";
import type { Clock } from "../lib/clock.js";
import { UserError } from "../lib/errors.js";
import type { ServedEndpoint, ServedEndpoints } from "./endpoints.js";
import type { ProbeHistory } from "./probe-history.js";

/** What control reads and acts on. */
export interface ControlParts {
  readonly clock: Clock;
  readonly version: string;
  readonly served: ServedEndpoints;
  readonly overrides: OverrideBook;
  readonly history: ProbeHistory;
  snapshot(): Snapshot;
  isReady(): boolean;
  isIsolated(): boolean;
  /** Forgives a target its flapping. */
  clearFlaps(endpoint: string, target: string): void;
  /** When a configuration was last read, and whether it was taken. */
  lastReload(): { readonly atMs: number; readonly ok: boolean };
  /** @throws ReloadRefusedError */
  reload(): Promise<void>;
  /** Settings that the last configuration changed and that hold only from the next start. */
  needRestart(): readonly PendingSetting[];
  /** As {@link Control.leave}. */
  leave(threads: number): Promise<number>;
}

const FORCED: readonly OverrideKind[] = ["forced-up", "forced-down"];

/** Makes what the admin API and the commands act on, from the parts of a running server. */
export function createControl(parts: ControlParts): Control {
  const { clock, version, served, overrides, history, snapshot } = parts;
  const startedMs = clock.wallMs();

  /** @throws UserError if there is no such target */
  function find({ endpoint: fqdn, target: id }: TargetName): { endpoint: ServedEndpoint; target: TargetHealth } {
    const endpoint = served.endpoints.get(fqdn);
    if (endpoint === undefined) throw new UserError(`there is no endpoint ${fqdn}`, "NO_SUCH_ENDPOINT");
    const targets = snapshot().endpoints.get(fqdn)?.targets ?? [];
    const target = targets.find((one) => one.id === id);
    if (target !== undefined) return { endpoint, target };
    const known = targets.map((one) => one.id).join(", ");
    throw new UserError(`${fqdn} has no target ${id}; it has ${known}`, "NO_SUCH_TARGET");
  }

  function changeTo(name: TargetName, changed: boolean): Change {
    const { endpoint, target } = find(name);
    return { endpoint: name.endpoint, target: targetView(endpoint, target), changed, nowMs: clock.wallMs() };
  }

  function safeAt({ endpoint, target }: TargetName): { safeAtMs?: number } {
    const safeAtMs = served.safeAtMs(endpoint, target);
    return safeAtMs === undefined ? {} : { safeAtMs };
  }

  /** @throws UserError if a drain is to end before caches have forgotten the target */
  function requireLongEnough(name: TargetName, forMs: number): void {
    const { endpoint } = find(name);
    const safeAtMs = served.safeAtMs(name.endpoint, name.target);
    const safeInMs =
      safeAtMs === undefined ? endpoint.config.ttl * 1000 + IN_FLIGHT_MS : Math.max(0, safeAtMs - clock.wallMs());
    if (forMs >= safeInMs) return;
    const seconds = (ms: number) => `${Math.ceil(ms / 100) / 10} s`;
    throw new UserError(
      `the drain would end after ${seconds(forMs)}, but caches may hold ${name.target} for ${seconds(safeInMs)}: it would come back before it can be stopped`,
      "DRAIN_TOO_SHORT",
    );
  }

  async function set(kind: OverrideKind, name: TargetName, order: OverrideOrder): Promise<Change> {
    find(name);
    const before = overrides.get(name.endpoint, name.target);
    // Asked for again, for longer, say: why has not changed unless it is said anew.
    const kept = before?.kind === kind && before.reason !== undefined ? { reason: before.reason } : {};
    const request: OverrideRequest = { ...name, kind, ...kept, ...order };
    await overrides.set(request);
    return changeTo(name, true);
  }

  async function clear(name: TargetName, kinds: readonly OverrideKind[]): Promise<Change> {
    const { endpoint, target } = name;
    const isHeld = find(name).target.addresses.some(({ held }) => held !== undefined);
    const cleared = await overrides.clear(endpoint, target, kinds);
    // No operator's word holds it any more, and nothing that it did before shall.
    const isForgiven = isHeld && overrides.get(endpoint, target) === undefined;
    if (isForgiven) parts.clearFlaps(endpoint, target);
    return changeTo(name, cleared !== undefined || isForgiven);
  }

  return {
    status() {
      const endpoints = new Map<string, EndpointView[]>();
      const now = snapshot();
      for (const endpoint of served.endpoints.values()) {
        const targets = now.endpoints.get(endpoint.config.fqdn)?.targets ?? [];
        const view = endpointView(endpoint, targets);
        const zone = endpoints.get(endpoint.zone.zone);
        if (zone === undefined) endpoints.set(endpoint.zone.zone, [view]);
        else zone.push(view);
      }
      return {
        version,
        nowMs: clock.wallMs(),
        startedMs,
        ready: parts.isReady(),
        isolated: parts.isIsolated(),
        lastReload: parts.lastReload(),
        needRestart: [...parts.needRestart()],
        zones: served.zones().map(({ zone, serial }) => ({ zone, serial, endpoints: endpoints.get(zone) ?? [] })),
      };
    },
    target(name) {
      const { endpoint, target } = find(name);
      return {
        ...safeAt(name),
        endpoint: name.endpoint,
        nowMs: clock.wallMs(),
        target: targetView(endpoint, target),
        history: target.addresses.map(({ address }) => ({
          address,
          results: history.of(name.endpoint, name.target, address),
        })),
      };
    },
    async drain(name, order): Promise<Drain> {
      if (order.forMs !== undefined) requireLongEnough(name, order.forMs);
      return { ...(await set("drained", name, order)), ...safeAt(name) };
    },
    undrain: (name) => clear(name, ["drained"]),
    force: (name, health, order) => set(health === "up" ? "forced-up" : "forced-down", name, order),
    unforce: (name) => clear(name, FORCED),
    leave: (threads) => parts.leave(threads),
    async reload() {
      await parts.reload();
      return { zones: served.zones().length, endpoints: served.endpoints.size, needRestart: parts.needRestart() };
    },
  };
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

function targetView({ answerable }: ServedEndpoint, { id, override, addresses }: TargetHealth): TargetView {
  return {
    id,
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
export function overrideView({ kind, reason, author, setAtMs, expiresAtMs }: Override): OverrideView {
  return {
    kind,
    setAtMs,
    ...(reason === undefined ? {} : { reason }),
    ...(author === undefined ? {} : { author }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

import type { Change, Drain } from "../admin/schemas.js";
import type { AdminService, Asker, OverrideOrder, TargetName } from "../admin/service.js";
import { IN_FLIGHT_MS } from "../health/drain.js";
import type { OverrideKind, Snapshot, TargetHealth } from "../health/health.js";
import { findTarget } from "../health/override-decision.js";
import type { OverrideStore } from "../health/overrides.js";
import type { Clock } from "../lib/clock.js";
import { UserError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { ServedEndpoint, ServedEndpoints } from "./endpoints.js";
import { targetView } from "./status-view.js";

const FORCED: readonly OverrideKind[] = ["forced-up", "forced-down"];

/** What requests read and act on. */
export interface OverrideRequestParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly served: ServedEndpoints;
  readonly overrides: OverrideStore;
  snapshot(): Snapshot;
  /** Forgives a target its flapping. */
  clearFlaps(endpoint: string, target: string): void;
}

/** What operators want of a target: drain, force, the end of both, and the end of a suppression. */
export class OverrideRequests implements Pick<AdminService, "drain" | "undrain" | "force" | "unforce" | "unsuppress"> {
  readonly #parts: OverrideRequestParts;

  constructor(parts: OverrideRequestParts) {
    this.#parts = parts;
  }

  /** The target of this name. @throws UserError if there is none */
  find(name: TargetName): { readonly endpoint: ServedEndpoint; readonly target: TargetHealth } {
    const endpoint = this.#parts.served.endpoints.get(name.endpoint);
    const health = endpoint && this.#parts.snapshot().endpoints.get(name.endpoint);
    const found = findTarget(name, health);
    if ("refusal" in found) throw new UserError(found.refusal.message, found.refusal.code);
    return { endpoint: endpoint as ServedEndpoint, target: found.target };
  }

  /** From when on the target can be stopped; nothing while it is answered. */
  safeAt({ endpoint, target }: TargetName): { readonly safeAtMs?: number } {
    const safeAtMs = this.#parts.served.safeAtMs(endpoint, target);
    return safeAtMs === undefined ? {} : { safeAtMs };
  }

  async drain(name: TargetName, order: OverrideOrder): Promise<Drain> {
    if (order.forMs !== undefined) this.#requireLongEnough(name, order.forMs);
    return { ...(await this.#set("drained", name, order)), ...this.safeAt(name) };
  }

  undrain(name: TargetName, by: Asker): Promise<Change> {
    return this.#clear(name, by, ["drained"]);
  }

  force(name: TargetName, health: "up" | "down", order: OverrideOrder): Promise<Change> {
    return this.#set(health === "up" ? "forced-up" : "forced-down", name, order);
  }

  unforce(name: TargetName, by: Asker): Promise<Change> {
    return this.#clear(name, by, FORCED);
  }

  async unsuppress(name: TargetName, by: Asker): Promise<Change> {
    const { target } = this.find(name);
    if (by.signal?.aborted === true) throw new UserError("whoever asked for it is not there any more", "CLIENT_GONE");
    const isSuppressed = target.addresses.some(({ held }) => held !== undefined);
    if (isSuppressed) {
      this.#parts.clearFlaps(name.endpoint, name.target);
      this.#parts.log.info({ ...name, author: by.author }, "flapping forgiven");
    }
    return this.#changeTo(name, isSuppressed);
  }

  async #set(kind: OverrideKind, name: TargetName, order: OverrideOrder): Promise<Change> {
    const before = this.#parts.overrides.get(name.endpoint, name.target);
    // Asked for again, for longer, say: why has not changed unless it is said anew.
    const kept = before?.kind === kind && before.reason !== undefined ? { reason: before.reason } : {};
    const request = { ...name, kind, origin: "operator", ...kept, ...order } as const;
    const { isKept, failsOpen, answeredAgain } = await this.#parts.overrides.set(request);
    const consequences = { persisted: isKept, failsOpen, answeredAgain: [...answeredAgain] };
    return { ...this.#changeTo(name, true), ...consequences };
  }

  async #clear(name: TargetName, by: Asker, kinds: readonly OverrideKind[]): Promise<Change> {
    this.find(name);
    const cleared = await this.#parts.overrides.clear(name, { ...by, origin: "operator" }, kinds);
    return this.#changeTo(name, cleared !== undefined);
  }

  #changeTo(name: TargetName, changed: boolean): Change {
    const { endpoint, target } = this.find(name);
    return {
      endpoint: name.endpoint,
      target: targetView(endpoint, target),
      changed,
      nowMs: this.#parts.clock.wallMs(),
    };
  }

  /** @throws UserError if a drain is to end before caches have forgotten the target */
  #requireLongEnough(name: TargetName, forMs: number): void {
    const { endpoint } = this.find(name);
    const { safeAtMs } = this.safeAt(name);
    const nowMs = this.#parts.clock.wallMs();
    const safeInMs = safeAtMs === undefined ? endpoint.config.ttl * 1000 + IN_FLIGHT_MS : Math.max(0, safeAtMs - nowMs);
    if (forMs >= safeInMs) return;
    const seconds = (ms: number): string => `${Math.ceil(ms / 100) / 10} s`;
    throw new UserError(
      `the drain would end after ${seconds(forMs)}, but caches may hold ${name.target} for ${seconds(safeInMs)}: it would come back before it can be stopped`,
      "DRAIN_TOO_SHORT",
    );
  }
}

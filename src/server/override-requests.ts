import type { Change, Drain } from "../admin/schemas.js";
import type { AdminService, Asker, OverrideOrder, TargetName } from "../admin/service.js";
import { IN_FLIGHT_MS } from "../health/drain-clock.js";
import type { OverrideKind, Snapshot, TargetHealth } from "../health/health.js";
import { drainTooShort, findTarget } from "../health/override-refusals.js";
import type { OverrideStore } from "../health/overrides.js";
import type { Clock } from "../lib/clock.js";
import { UserError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { ServedEndpoint, ServedEndpoints } from "./endpoints.js";
import type { OverrideSharing } from "./override-sharing.js";
import { targetView } from "./status-view.js";

const FORCED: readonly OverrideKind[] = ["forced-up", "forced-down"];

/** What requests read and act on. */
export interface OverrideRequestParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly served: ServedEndpoints;
  readonly overrides: OverrideStore;
  /** How overrides come to hold on siblings; absent = there are none. */
  sharing?(): OverrideSharing | undefined;
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
    const change = await this.#set("drained", name, order);
    return { ...change, ...(order.isLocal === true ? this.safeAt(name) : await this.drained(name)) };
  }

  /** From when on a drained target can be stopped on all servers, and what each sibling says. */
  async drained(name: TargetName): Promise<Pick<Drain, "safeAtMs" | "siblings">> {
    const siblings = await this.#sharing()?.drains(name);
    const { safeAtMs } = this.safeAt(name);
    if (siblings === undefined) return this.safeAt(name);
    const heard = siblings.filter(({ heard }) => heard);
    const isAnswered = safeAtMs === undefined || heard.some((one) => one.drained && one.safeAtMs === undefined);
    const latestMs = Math.max(safeAtMs ?? 0, ...heard.map((one) => one.safeAtMs ?? 0));
    return { ...(isAnswered ? {} : { safeAtMs: latestMs }), siblings: siblings.map((one) => ({ ...one })) };
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
    const sharing = order.isLocal === true ? undefined : this.#sharing();
    if (order.force !== true) await sharing?.approve(this.#known(name), kind);
    const set = this.#parts.overrides.set(request).catch((error: unknown) => {
      sharing?.abandon(name);
      throw error;
    });
    const { isKept, failsOpen, answeredAgain } = await set;
    sharing?.settled(name);
    await sharing?.tell(name);
    const consequences = { persisted: isKept, failsOpen, answeredAgain: [...answeredAgain] };
    return { ...this.#changeTo(name, true), ...consequences };
  }

  async #clear(name: TargetName, by: Asker, kinds: readonly OverrideKind[]): Promise<Change> {
    this.find(name);
    const cleared = await this.#parts.overrides.clear(name, { ...by, origin: "operator" }, kinds);
    if (cleared !== undefined && by.isLocal !== true) await this.#sharing()?.tell(name);
    return this.#changeTo(name, cleared !== undefined);
  }

  #sharing(): OverrideSharing | undefined {
    return this.#parts.sharing?.();
  }

  /** The name of a target that there is. @throws UserError */
  #known(name: TargetName): TargetName {
    this.find(name);
    return name;
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
    const why = drainTooShort(name.target, forMs, safeInMs);
    if (why !== undefined) throw new UserError(why, "DRAIN_TOO_SHORT");
  }
}

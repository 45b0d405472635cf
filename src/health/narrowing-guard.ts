import type { Clock, Timer } from "../lib/clock.js";
import { isExcluded } from "./answerable.js";
import type { Override } from "./health.js";
import type { MonitoredAddress } from "./monitored-address.js";
import {
  ASK_EVERY_MS,
  decidePublication,
  NARROWING_HOLD_MS,
  type Publication,
  REFUSED_HOLD_MS,
  RETURN_HOLD_MS,
  type TargetSight,
  WATCH_EVERY_MS,
  WATCH_ROUNDS,
} from "./narrowing.js";

/** Most targets of an endpoint that are probed at once because one of them changed. */
const MAX_ASKED = 16;

/** Time that counts as held at most while the prober is isolated, milliseconds: short of what ends a hold by itself. */
const MAX_ISOLATED_HOLD_MS = Math.min(NARROWING_HOLD_MS, RETURN_HOLD_MS) - 1;

/** One target as the guard sees it. */
export interface GuardedTarget {
  readonly addresses: readonly MonitoredAddress[];
  readonly override?: Override;
  readonly disabled?: true;
}

export interface NarrowingGuardOptions {
  readonly clock: Clock;
  /** The targets of an endpoint; empty if it is not monitored any more. */
  targetsOf(fqdn: string): readonly GuardedTarget[];
  /** Probes an address now, unless a probe is under way. */
  ask(address: MonitoredAddress): void;
  /** Time has passed for an endpoint with a change that is held back: look again. */
  onDue(fqdn: string): void;
}

interface Hold {
  /** Monotonic. */
  readonly sinceMs: number;
  readonly timer: Timer;
}

/** Holds changes of an endpoint back that would leave few targets; see `narrowing.ts`. */
export class NarrowingGuard {
  readonly #options: NarrowingGuardOptions;
  readonly #holds = new Map<string, Hold>();
  /** Endpoints of which a target has changed of late, with the timer of the next asking. */
  readonly #watches = new Map<string, Timer>();

  constructor(options: NarrowingGuardOptions) {
    this.#options = options;
  }

  /**
   * Decides over the changes of an endpoint that readers do not see yet; `hold` sets the asking going.
   *
   * @param isIsolated the prober is presumed cut off
   */
  review(fqdn: string, isIsolated: boolean): Publication {
    const targets = this.#options.targetsOf(fqdn);
    const nowMs = this.#options.clock.monotonicMs();
    const hold = this.#holds.get(fqdn);
    const sinceMs = hold?.sinceMs ?? nowMs;
    const sights = targets.filter(mayBeAnswered).map((target) => sightOf(target, sinceMs, nowMs));
    const isChanged = targets.some(({ addresses }) => addresses.some(({ unpublished }) => unpublished !== undefined));
    // Without a network no other result is to be had, and time decides nothing.
    const heldMs = Math.min(nowMs - sinceMs, isIsolated ? MAX_ISOLATED_HOLD_MS : Number.POSITIVE_INFINITY);
    const decision = isChanged ? decidePublication(sights, heldMs) : "publish";
    hold?.timer.cancel();
    if (decision !== "hold" && decision !== "reunite") {
      this.#holds.delete(fqdn);
      return decision;
    }
    const timer = this.#options.clock.after(REFUSED_HOLD_MS, () => this.#options.onDue(fqdn));
    this.#holds.set(fqdn, { sinceMs, timer });
    this.#askAll(targets, hold === undefined ? 0 : ASK_EVERY_MS);
    return decision;
  }

  /**
   * Probes the targets of an endpoint now and several times soon, since one of them has changed: others may share its
   * cause.
   */
  watch(fqdn: string): void {
    this.#watches.get(fqdn)?.cancel();
    this.#askRepeatedly(fqdn, WATCH_ROUNDS);
  }

  /** Probes the targets of an endpoint now, since one of them may be about to change. */
  ask(fqdn: string): void {
    this.#askAll(this.#options.targetsOf(fqdn), ASK_EVERY_MS);
  }

  #askRepeatedly(fqdn: string, rounds: number): void {
    this.#watches.delete(fqdn);
    if (rounds === 0) return;
    this.#askAll(this.#options.targetsOf(fqdn), ASK_EVERY_MS);
    this.#watches.set(
      fqdn,
      this.#options.clock.after(WATCH_EVERY_MS, () => this.#askRepeatedly(fqdn, rounds - 1)),
    );
  }

  /** Forgets an endpoint. */
  drop(fqdn: string): void {
    this.#holds.get(fqdn)?.timer.cancel();
    this.#holds.delete(fqdn);
    this.#watches.get(fqdn)?.cancel();
    this.#watches.delete(fqdn);
  }

  stop(): void {
    for (const fqdn of [...this.#holds.keys(), ...this.#watches.keys()]) this.drop(fqdn);
  }

  #askAll(targets: readonly GuardedTarget[], notWithinMs: number): void {
    if (targets.length < 2 || targets.length > MAX_ASKED) return;
    const beforeMs = this.#options.clock.monotonicMs() - notWithinMs;
    for (const { addresses } of targets) {
      for (const address of addresses) {
        if (address.newest === undefined || address.newest.endedMs <= beforeMs) this.#options.ask(address);
      }
    }
  }
}

function mayBeAnswered(target: GuardedTarget): boolean {
  return target.disabled !== true && !isExcluded(target);
}

function sightOf({ addresses, override }: GuardedTarget, sinceMs: number, nowMs: number): TargetSight {
  if (override?.kind === "forced-up") return { wasUp: true, isUp: true, sight: "pass" };
  const isUp = addresses.some(({ state }) => state.health === "up");
  const wasUp = addresses.some(({ view }) => view.health === "up");
  const judged = isUp ? addresses.filter(({ state }) => state.health === "up") : addresses;
  const refusedSinceMs = judged.map(({ newest }) => newest?.refusedSinceMs ?? nowMs + 1);
  const refusedMs = nowMs - Math.max(...refusedSinceMs);
  const isUnready = judged.every(({ newest }) => newest?.class === "not-ready");
  return { wasUp, isUp, isUnready, sight: sightOfAddresses(judged, sinceMs), ...(refusedMs < 0 ? {} : { refusedMs }) };
}

function sightOfAddresses(addresses: readonly MonitoredAddress[], sinceMs: number): TargetSight["sight"] {
  const fresh = addresses.flatMap(({ newest }) => (newest !== undefined && newest.endedMs > sinceMs ? [newest] : []));
  if (fresh.some(({ class: one }) => one === "ok" || one === "overloaded")) return "pass";
  if (fresh.length < addresses.length) return "pending";
  return fresh.every(({ class: one }) => one === "refused" || one === "unreachable") ? "gone" : "fail";
}

import type { Clock, Timer } from "../lib/clock.js";
import type { SiblingSerial } from "../siblings/messages.js";
import { contentDigest } from "../transfer/content-digest.js";
import type { ZoneStanding } from "../transfer/service.js";
import { type Name, nameWithoutDot } from "../wire/name.js";
import type { LiveZone, ZoneChange } from "../zone/live-zone.js";
import { isSerialNewer } from "../zone/serial.js";
import type { Subscriber } from "./events.js";

/** Time for which the active primary may be away before another one takes over, milliseconds. */
export const TAKE_OVER_AFTER_MS = 5_000;

/** What the primaries of the same zones are told apart and told by. */
export interface PrimariesParts {
  readonly clock: Clock;
  /** Of this server, lower case. */
  readonly name: string;
  /** Names of the siblings that count now. */
  fresh(): readonly string[];
  /** Whether siblings count this server: it is neither cut off, nor late, nor starting. */
  isFit(): boolean;
  /** Tells all siblings. */
  tell(serials: readonly SiblingSerial[]): void;
  publish(change: ZoneChange): void;
  /** The journal of a zone tells nothing of the states before any more. */
  forget(zone: Name): void;
}

/** A zone of which several servers are primaries. */
interface SharedZone {
  readonly live: LiveZone;
  /** Whether this server is the one that says what the serial is. */
  isActive: boolean;
  /** The sibling that is active as far as is known. */
  active?: string;
  /** Monotonic moment since which it is away; absent while it is there. */
  awaySinceMs?: number;
  /** The serial that was made last without a change of the records. */
  raised?: number;
}

/**
 * Several primaries of the same secondaries, as siblings: one is active for each zone, the first by name that is fresh. It alone
 * notifies, and makes serials. The others have its serial, and give the zone to who asks while their records are the same. When the
 * active one has been away for {@link TAKE_OVER_AFTER_MS}, the next one takes over with a higher serial.
 *
 * Servers that do not hear each other may be active at once. Their serials differ then (each uses its own share of them, see
 * `serialModulo`), so no two states have one serial; and who is active afterwards begins above all that it hears of.
 */
export class Primaries {
  readonly #parts: PrimariesParts;
  /** All that are served. */
  readonly #served = new Map<Name, LiveZone>();
  /** Those that may be transferred. */
  readonly #zones = new Map<Name, SharedZone>();
  /** What each sibling said of its zones, by sibling and zone without the trailing dot. */
  readonly #said = new Map<string, Map<string, SiblingSerial>>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(parts: PrimariesParts) {
    this.#parts = parts;
  }

  /** What this server may do for secondaries of a zone. */
  standing(name: Name): ZoneStanding {
    const zone = this.#zones.get(name);
    if (zone === undefined || zone.isActive) return "active";
    const said = zone.active === undefined ? undefined : this.#said.get(zone.active)?.get(nameWithoutDot(name));
    const isSame = said?.serial === zone.live.serial && said.records === contentDigest(zone.live);
    return isSame ? "mirror" : "behind";
  }

  /** All zones, for a sibling that has just connected. */
  serials(): readonly SiblingSerial[] {
    return [...this.#zones.values()].map(serialOf);
  }

  /** A sibling says which serials it has. */
  heard(sibling: string, serials: readonly SiblingSerial[]): void {
    const said = this.#said.get(sibling) ?? new Map<string, SiblingSerial>();
    for (const one of serials) {
      if (one.gone === true) said.delete(one.zone);
      else said.set(one.zone, one);
    }
    this.#said.set(sibling, said);
    this.look();
  }

  /** Subscriber that follows zones and siblings. */
  subscriber(): Subscriber {
    const look = (): void => this.look();
    return {
      "zone-added": ({ zone }) => void this.#served.set(zone.zone.name, zone),
      "zone-removed": ({ zone }) => {
        this.#served.delete(zone);
        this.#leave(zone);
      },
      "zones-replaced": () => {
        for (const zone of this.#served.values()) this.#join(zone);
        this.look();
      },
      "zone-changed": ({ change }) => {
        const zone = this.#zones.get(change.zone);
        if (zone === undefined) return;
        // States have no serials of their own while another server makes them; nor is it known what led from those to a raised one.
        if (!zone.isActive || change.serial === zone.raised) this.#parts.forget(change.zone);
        this.#parts.tell([serialOf(zone)]);
      },
      "sibling-changed": look,
      "isolation-changed": look,
      ready: look,
      stalled: look,
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** Looks who is active for each zone, and acts on it. */
  look(): void {
    if (this.#isStopped) return;
    const fresh = new Set(this.#parts.fresh());
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [name, zone] of this.#zones) nextMs = Math.min(nextMs, this.#lookAt(name, zone, fresh));
    this.#timer?.cancel();
    this.#timer = Number.isFinite(nextMs) ? this.#parts.clock.after(nextMs, () => this.look()) : undefined;
  }

  /** Takes part in who is active for a zone, if it may be transferred at all. */
  #join(live: LiveZone): void {
    const { name, config } = live.zone;
    if (config.transfer === undefined) this.#leave(name);
    else if (!this.#zones.has(name)) {
      const zone = { live, isActive: true };
      this.#zones.set(name, zone);
      this.#parts.tell([serialOf(zone)]);
    }
  }

  #leave(name: Name): void {
    const zone = this.#zones.get(name);
    if (zone === undefined) return;
    this.#zones.delete(name);
    zone.live.serveAlone();
    this.#parts.tell([{ zone: nameWithoutDot(name), serial: 0, records: "", gone: true }]);
  }

  /** @returns milliseconds until it is to be looked at again; infinite if nothing is waited for */
  #lookAt(name: Name, zone: SharedZone, fresh: ReadonlySet<string>): number {
    const { parts, others } = { parts: this.#parts, others: this.#carriers(name, fresh) };
    const candidates = parts.isFit() ? [...others, parts.name] : others;
    const first = candidates.sort()[0] ?? parts.name;
    if (first !== parts.name) {
      this.#mirror(name, zone, first);
      return Number.POSITIVE_INFINITY;
    }
    if (!zone.isActive) {
      const nowMs = parts.clock.monotonicMs();
      zone.awaySinceMs ??= nowMs;
      const leftMs = zone.awaySinceMs + TAKE_OVER_AFTER_MS - nowMs;
      if (leftMs > 0) return leftMs;
      this.#takeOver(zone);
    }
    this.#keepAhead(name, zone, others);
    return Number.POSITIVE_INFINITY;
  }

  /** The fresh siblings that have the zone. */
  #carriers(name: Name, fresh: ReadonlySet<string>): string[] {
    const text = nameWithoutDot(name);
    return [...this.#said]
      .filter(([sibling, said]) => fresh.has(sibling) && said.has(text))
      .map(([sibling]) => sibling);
  }

  #mirror(name: Name, zone: SharedZone, active: string): void {
    if (zone.isActive) this.#parts.forget(name);
    zone.isActive = false;
    zone.active = active;
    delete zone.awaySinceMs;
    const said = this.#said.get(active)?.get(nameWithoutDot(name));
    const change = said && zone.live.mirror(said.serial);
    if (change !== undefined) this.#parts.publish(change);
  }

  #takeOver(zone: SharedZone): void {
    zone.isActive = true;
    delete zone.active;
    delete zone.awaySinceMs;
    this.#raise(zone, zone.live.serial);
  }

  /** Begins above what siblings have: they may have been active meanwhile. */
  #keepAhead(name: Name, zone: SharedZone, others: readonly string[]): void {
    for (const sibling of others) {
      const said = this.#said.get(sibling)?.get(nameWithoutDot(name));
      if (said !== undefined && isSerialNewer(said.serial, zone.live.serial)) this.#raise(zone, said.serial);
    }
  }

  /** Gives the present state a serial of its own; which states led to it from those of others, nobody can tell. */
  #raise(zone: SharedZone, above: number): void {
    const change = zone.live.raise(above, this.#parts.clock.wallMs());
    zone.raised = change.serial;
    this.#parts.publish(change);
  }
}

/** What others are told. The records that belong to a serial only the server knows that made it. */
function serialOf({ live, isActive }: SharedZone): SiblingSerial {
  return { zone: nameWithoutDot(live.zone.name), serial: live.serial, records: isActive ? contentDigest(live) : "" };
}

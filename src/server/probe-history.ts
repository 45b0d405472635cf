import { type ProbeResult, RESULT_CLASSES } from "../health/health.js";
import type { Subscriber } from "./events.js";
import { watchedAddresses } from "./watched-addresses.js";

/** Results kept for each address of a target: 200 s at the default interval. */
export const KEPT_RESULTS = 100;

/** A result and the moment its probe ended, milliseconds since 1970. */
export interface PastResult extends ProbeResult {
  readonly atMs: number;
}

/** The newest results of every address that is probed. */
export interface ProbeHistory {
  /** Takes note of a result, for one of the targets that share the probe. */
  add(endpoint: string, target: string, address: string, result: ProbeResult, atMs: number): void;
  /** Oldest first; at most {@link KEPT_RESULTS}. */
  of(endpoint: string, target: string, address: string): PastResult[];
  /** Forgets the addresses for which `isKept` is false. */
  prune(isKept: (endpoint: string, target: string, address: string) => boolean): void;
}

/**
 * The results of one address, in columns: a tenth of what objects take, so that 10,000 addresses fit in some 25 MB.
 */
interface Ring {
  readonly endpoint: string;
  readonly target: string;
  readonly address: string;
  readonly at: Float64Array;
  readonly durations: Float32Array;
  readonly classes: Uint8Array;
  /** Shared with the results before where they are equal. */
  readonly reasons: string[];
  readonly expiries: Float64Array;
  /** Results ever added. */
  count: number;
}

/** Subscriber that keeps the results of what is configured. */
export function historyKeeping(history: ProbeHistory): Subscriber {
  return {
    "probe-finished": ({ report: { address, result, targets } }, atMs) => {
      for (const { fqdn, target } of targets) history.add(fqdn, target, address, result, atMs);
    },
    "targets-changed": ({ fqdn, left }) => {
      const gone = new Set(left);
      if (gone.size > 0) history.prune((endpoint, target) => endpoint !== fqdn || !gone.has(target));
    },
    "zones-replaced": ({ config }) => {
      const watched = watchedAddresses(config);
      history.prune((endpoint, target, address) => watched.has(`${endpoint} ${target} ${address}`));
    },
  };
}

export function createProbeHistory(): ProbeHistory {
  const rings = new Map<string, Ring>();
  const keyOf = (endpoint: string, target: string, address: string) => `${endpoint} ${target} ${address}`;

  return {
    add(endpoint, target, address, result, atMs) {
      const key = keyOf(endpoint, target, address);
      let ring = rings.get(key);
      if (ring === undefined) {
        ring = {
          endpoint,
          target,
          address,
          at: new Float64Array(KEPT_RESULTS),
          durations: new Float32Array(KEPT_RESULTS),
          classes: new Uint8Array(KEPT_RESULTS),
          reasons: [],
          expiries: new Float64Array(KEPT_RESULTS),
          count: 0,
        };
        rings.set(key, ring);
      }
      const slot = ring.count % KEPT_RESULTS;
      const before = ring.reasons[(ring.count + KEPT_RESULTS - 1) % KEPT_RESULTS];
      ring.at[slot] = atMs;
      ring.durations[slot] = result.durationMs;
      ring.classes[slot] = RESULT_CLASSES.indexOf(result.class);
      ring.reasons[slot] = before === result.reason ? before : result.reason;
      ring.expiries[slot] = result.certificateExpiryMs ?? Number.NaN;
      ring.count += 1;
    },
    of(endpoint, target, address) {
      const ring = rings.get(keyOf(endpoint, target, address));
      if (ring === undefined) return [];
      const kept = Math.min(ring.count, KEPT_RESULTS);
      return Array.from({ length: kept }, (_, index) => resultAt(ring, (ring.count - kept + index) % KEPT_RESULTS));
    },
    prune(isKept) {
      for (const [key, { endpoint, target, address }] of rings) {
        if (!isKept(endpoint, target, address)) rings.delete(key);
      }
    },
  };
}

function resultAt(ring: Ring, slot: number): PastResult {
  const expiry = ring.expiries[slot] ?? Number.NaN;
  return {
    atMs: ring.at[slot] ?? 0,
    class: RESULT_CLASSES[ring.classes[slot] ?? 0] ?? "ok",
    reason: ring.reasons[slot] ?? "",
    durationMs: Math.round((ring.durations[slot] ?? 0) * 1000) / 1000,
    ...(Number.isNaN(expiry) ? {} : { certificateExpiryMs: expiry }),
  };
}

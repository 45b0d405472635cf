import type { ProbeConfig } from "../config/config.js";
import type { Clock } from "../lib/clock.js";

/** Shortest and longest pause before a tripwire is opened again, milliseconds; it doubles each time. */
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 300_000;

/**
 * A tripwire that lived as long as this begins at the shortest pause again, milliseconds: a kube-apiserver closes a
 * connection that was idle for 90 s.
 */
const LONG_LIFE_MS = 60_000;

/** How a tripwire ended: never opened, or closed by the peer or the network. */
export type TripwireEnd = "failed" | "tripped";

/**
 * Opens one idle connection to an address and returns how to close it.
 *
 * @param onEnd called at most once, never after the returned function was called
 */
export type OpenTripwire = (address: string, config: ProbeConfig, onEnd: (how: TripwireEnd) => void) => () => void;

/** What is remembered of one address. */
interface Wire {
  /** Ends the connection that is open or being opened. */
  close?: () => void;
  openedMs: number;
  pauseMs: number;
  /** Not opened again before this monotonic moment. */
  notBeforeMs: number;
}

/** The tripwires of all addresses: at most one connection each, opened again with growing pauses. */
export interface Tripwires {
  /** Opens the tripwire of an address that was just found well, unless it is open or pauses. */
  tend(key: string, address: string, config: ProbeConfig): void;
  /** Closes the tripwire of an address and forgets it. */
  drop(key: string): void;
  /** Tripwires that are open or being opened. */
  readonly open: number;
}

/** @param onTrip the peer of an open tripwire has closed it: reason to look at once, and nothing more */
export function createTripwires(clock: Clock, openTripwire: OpenTripwire, onTrip: (key: string) => void): Tripwires {
  const wires = new Map<string, Wire>();
  let open = 0;

  function ended(key: string, wire: Wire, how: TripwireEnd): void {
    if (wire.close === undefined) return;
    delete wire.close;
    open -= 1;
    const nowMs = clock.monotonicMs();
    if (nowMs - wire.openedMs >= LONG_LIFE_MS) wire.pauseMs = MIN_PAUSE_MS;
    wire.notBeforeMs = nowMs + wire.pauseMs;
    wire.pauseMs = Math.min(MAX_PAUSE_MS, wire.pauseMs * 2);
    if (how === "tripped" && wires.get(key) === wire) onTrip(key);
  }

  return {
    tend(key, address, config) {
      const nowMs = clock.monotonicMs();
      let wire = wires.get(key);
      if (wire === undefined) {
        wire = { openedMs: nowMs, pauseMs: MIN_PAUSE_MS, notBeforeMs: nowMs };
        wires.set(key, wire);
      }
      if (wire.close !== undefined || nowMs < wire.notBeforeMs) return;
      wire.openedMs = nowMs;
      open += 1;
      const it = wire;
      let over = false;
      // It may end before it is known how to close it.
      wire.close = () => {
        over = true;
      };
      const close = openTripwire(address, config, (how) => ended(key, it, how));
      if (over || it.close === undefined) close();
      else it.close = close;
    },
    drop(key) {
      const wire = wires.get(key);
      wires.delete(key);
      if (wire?.close === undefined) return;
      open -= 1;
      wire.close();
      delete wire.close;
    },
    get open() {
      return open;
    },
  };
}

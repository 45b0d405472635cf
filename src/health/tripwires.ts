import type { ProbeConfig, SingleProbeConfig } from "../config/config.js";
import { singleProbes } from "../config/probe-list.js";
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
export type OpenTripwire = (
  address: string,
  config: SingleProbeConfig,
  onEnd: (how: TripwireEnd) => void,
) => () => void;

/** What is remembered of one connection. */
interface Wire {
  /** Ends the connection that is open or being opened. */
  close?: () => void;
  openedMs: number;
  pauseMs: number;
  /** Not opened again before this monotonic moment. */
  notBeforeMs: number;
}

/**
 * The tripwires of all addresses: one connection for each probe of an address that connects over TCP, so several where
 * an address has a list of probes. Each is opened again by itself, with growing pauses.
 */
export interface Tripwires {
  /** Opens the tripwires of an address that was just found well, but those that are open or pause. */
  tend(key: string, address: string, config: ProbeConfig): void;
  /** Closes the tripwires of an address and forgets them. */
  drop(key: string): void;
  /** Connections that are open or being opened. */
  readonly open: number;
}

/** @param onTrip the peer of an open tripwire has closed it: reason to look at once, and nothing more */
export function createTripwires(clock: Clock, openTripwire: OpenTripwire, onTrip: (key: string) => void): Tripwires {
  return new OpenTripwires(clock, openTripwire, onTrip);
}

class OpenTripwires implements Tripwires {
  readonly #clock: Clock;
  readonly #openTripwire: OpenTripwire;
  readonly #onTrip: (key: string) => void;
  /** By the key of the address; of each, in the order of its probes that connect. */
  readonly #wires = new Map<string, readonly Wire[]>();
  #open = 0;

  constructor(clock: Clock, openTripwire: OpenTripwire, onTrip: (key: string) => void) {
    this.#clock = clock;
    this.#openTripwire = openTripwire;
    this.#onTrip = onTrip;
  }

  tend(key: string, address: string, config: ProbeConfig): void {
    const nowMs = this.#clock.monotonicMs();
    const probes = singleProbes(config).filter(({ type }) => type !== "exec" && type !== "none");
    let wires = this.#wires.get(key);
    if (wires === undefined) {
      wires = probes.map(() => ({ openedMs: nowMs, pauseMs: MIN_PAUSE_MS, notBeforeMs: nowMs }));
      this.#wires.set(key, wires);
    }
    // The key names all probes of the address in their order, so the wires of a key fit its probes.
    for (const [index, wire] of wires.entries()) {
      const probe = probes[index];
      if (probe === undefined || wire.close !== undefined || nowMs < wire.notBeforeMs) continue;
      this.#openWire(key, wire, address, probe);
    }
  }

  drop(key: string): void {
    const wires = this.#wires.get(key) ?? [];
    this.#wires.delete(key);
    for (const wire of wires) {
      if (wire.close === undefined) continue;
      this.#open -= 1;
      wire.close();
      delete wire.close;
    }
  }

  get open(): number {
    return this.#open;
  }

  #openWire(key: string, wire: Wire, address: string, probe: SingleProbeConfig): void {
    wire.openedMs = this.#clock.monotonicMs();
    this.#open += 1;
    let isOver = false;
    // It may end before it is known how to close it.
    wire.close = () => {
      isOver = true;
    };
    const close = this.#openTripwire(address, probe, (how) => this.#ended(key, wire, how));
    if (isOver || wire.close === undefined) close();
    else wire.close = close;
  }

  #ended(key: string, wire: Wire, how: TripwireEnd): void {
    if (wire.close === undefined) return;
    delete wire.close;
    this.#open -= 1;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - wire.openedMs >= LONG_LIFE_MS) wire.pauseMs = MIN_PAUSE_MS;
    wire.notBeforeMs = nowMs + wire.pauseMs;
    wire.pauseMs = Math.min(MAX_PAUSE_MS, wire.pauseMs * 2);
    if (how === "tripped" && this.#wires.get(key)?.includes(wire) === true) this.#onTrip(key);
  }
}

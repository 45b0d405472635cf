import { setTimeout as delay } from "node:timers/promises";
import type { BatchTransport } from "./batch/load.js";
import { leaveSteps, type Range } from "./batch/steering.js";
import type { BoundAddress } from "./sockets.js";

/**
 * Milliseconds between steering datagrams away from a socket and draining it: those that the kernel has assigned to it
 * by then have long been queued.
 */
const STEERING_GRACE_MS = 20;

/** What is left to a successor. */
export interface Departure {
  readonly batch: BatchTransport | undefined;
  /** Addresses and the UDP sockets of all threads. */
  readonly bound: Iterable<BoundAddress>;
  /** Which thread's socket has which number in the group of each address; see `batch/steering.ts`. */
  readonly numbering: readonly number[];
  /** UDP threads, that is sockets for each address, of the successor. */
  readonly successors: number;
  /** Ends the UDP thread with this index, its queues drained. */
  endThread(index: number): Promise<void>;
  /** Closes the UDP socket of an address that a thread has left. */
  closeSocket(address: BoundAddress, index: number): void;
}

/** Leaves the UDP sockets to a successor, one after the other: no datagram is lost. */
export async function departUdp(departure: Departure): Promise<void> {
  const { numbering, successors } = departure;
  for (const { close, before, after } of leaveSteps(numbering.length, successors)) {
    steer(departure, before);
    await delay(STEERING_GRACE_MS);
    const index = numbering[close] ?? close;
    await departure.endThread(index);
    for (const address of departure.bound) departure.closeSocket(address, index);
    if (close > 0) steer(departure, after);
  }
}

/** Any member's descriptor will do; that of the first number is closed last. */
function steer({ batch, bound, numbering }: Departure, { base, count }: Range): void {
  for (const { udp } of bound) {
    const last = udp[numbering[0] ?? 0];
    if (last !== undefined) batch?.steer(last.fd, base, count);
  }
}

import { closeSync } from "node:fs";
import type { Worker } from "node:worker_threads";
import type { TableMessage } from "../answers/table-messages.js";
import { codeOf, messageOf, UserError } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import type { Logger } from "../lib/logger.js";
import { createQueryCounters, type QueryTotals, sumCounters } from "../query/counters.js";
import type { Name } from "../wire/name.js";
import { COUNTERS, createCounters, readCounters } from "./batch/buffers.js";
import { type BatchTransport, loadBatch } from "./batch/load.js";
import { orderAfterLeaving } from "./batch/steering.js";
import { departUdp } from "./departure.js";
import {
  type BindSettings,
  type BoundAddress,
  bindAddress,
  closeSockets,
  type Inherited,
  inheritedSockets,
  tcpSocket,
} from "./sockets.js";
import type { SocketOrder, ThreadPolicySettings, ToWorker, WorkerSettings } from "./worker-messages.js";
import { startThread, type TransferSource, WorkerThread } from "./worker-thread.js";
import type { ZoneSource } from "./zone-feed.js";

/** What the worker pool is set up with. */
export interface WorkerPoolOptions {
  /** Threads that answer UDP, 1 or more; without the native part there is one. */
  readonly workers: number;
  readonly log: Logger;
  /** All zones as they stand, for who loads them. */
  readonly zones: ZoneSource;
  /** Makes the transfers that clients ask for over TCP. Absent: none is made. */
  readonly transfers?: TransferSource;
  /** Default: the native part, if it was built. */
  readonly batch?: ReturnType<typeof loadBatch>;
  /** Starts a thread. Default: a worker thread of this program. */
  readonly startThread?: (settings: WorkerSettings) => Worker;
}

/** A UDP thread that blocks in the native part, and the alarm that wakes it. */
interface Blocking {
  readonly batch: BatchTransport;
  readonly alarm: number;
}

/**
 * The threads that answer queries, seen from the side that decides the answers: `workers` threads for UDP, and one for TCP,
 * so that nothing that a TCP client does delays a datagram. Each has its own table.
 *
 * Nothing is answered until {@link listen} and {@link setReady}.
 */
export class WorkerPool {
  /** Threads that answer UDP. */
  readonly threads: number;
  /** Whether sockets were inherited: what is asked meanwhile waits in them until somebody listens. */
  readonly hasInherited: boolean;
  /** What carries UDP: `batch` is the native part, `dgram` Node's own. */
  readonly transport: "batch" | "dgram";

  private readonly batch: BatchTransport | undefined;
  private readonly inherited: Inherited;
  private readonly udpThreads: readonly WorkerThread[];
  private readonly tcpThread: WorkerThread;
  private readonly alarms: number[] = [];
  private bound = new Map<string, BoundAddress>();
  private listening: readonly SocketAddress[] = [];
  /** Which thread's socket has which number in the group of each address; see `batch/steering.ts`. */
  private numbering: readonly number[];
  private isReady = false;
  private isStale = false;
  /** Settles when every address has been left to a successor; absent before that is asked for. */
  private leaving: Promise<void> | undefined;
  private isSilent = false;
  private policy: ThreadPolicySettings | undefined;

  constructor(private readonly options: WorkerPoolOptions) {
    const { transport: batch, reason } = options.batch ?? loadBatch();
    if (batch === undefined) options.log.warn({ reason }, "fast transport unavailable, using dgram");
    this.batch = batch;
    this.transport = batch === undefined ? "dgram" : "batch";
    this.threads = batch === undefined ? 1 : options.workers;
    this.inherited = batch === undefined ? new Map() : inheritedSockets(batch, process.env, process.pid);
    this.hasInherited = this.inherited.size > 0;
    this.numbering = Array.from({ length: this.threads }, (_, index) => index);
    this.udpThreads = this.numbering.map((index) => this.startUdpThread(index));
    this.tcpThread = this.startThread({ index: this.threads, role: "tcp", counters: createQueryCounters().memory });
  }

  /** Where it listens; the real ports. */
  get addresses(): readonly SocketAddress[] {
    return this.listening;
  }

  /**
   * Listens on these addresses, UDP and TCP on each, from now on: opens what is new, then closes what is no longer
   * named.
   *
   * @throws UserError, nothing changed, if one cannot be opened
   */
  async listen(wanted: readonly SocketAddress[], settings: BindSettings = {}): Promise<void> {
    const next = new Map<string, BoundAddress>();
    const fresh = new Map<string, BoundAddress>();
    try {
      for (const address of wanted) {
        const key = formatAddress(address);
        const present = this.bound.get(key);
        const one = present ?? this.bind(address, settings);
        if (present === undefined) fresh.set(key, one);
        next.set(key, one);
      }
      this.listening = await this.listenOn(next, new Set(fresh.keys()));
    } catch (error) {
      closeSockets(fresh.values());
      // A thread may have opened what another could not.
      if (fresh.size > 0) await this.listenOn(this.bound, new Set()).catch(() => {});
      throw this.explained(error, settings);
    }
    const closing = [...this.bound].filter(([key]) => !next.has(key)).map(([, one]) => one);
    this.bound = next;
    closeSockets(closing);
  }

  /** Brings whole zones to the threads, a few at a time: those that they lack, or that differ as a whole. */
  loadZones(zones: readonly Name[]): void {
    for (const thread of this.allThreads()) thread.zones.load(zones);
  }

  /** Brings a change of a zone to the threads. */
  changeZone(message: TableMessage): void {
    for (const thread of this.allThreads()) thread.zones.change(message);
  }

  /** Whom to answer, and how, from now on; until it is called, everyone, without cookies. */
  setPolicy(policy: ThreadPolicySettings): void {
    this.policy = policy;
    this.postToAll({ kind: "policy", policy });
    this.postToAll({ kind: "stale", isStale: this.isStale });
  }

  /** Whether answers are those of before, since health cannot be told: nothing else of the policy changes. */
  setStale(isStale: boolean): void {
    this.isStale = isStale;
    this.postToAll({ kind: "stale", isStale });
  }

  /** Whether no query is answered, although there are answers. Only once {@link setReady} was called. */
  setSilent(isSilent: boolean): void {
    if (!this.isReady || isSilent === this.isSilent) return;
    this.isSilent = isSilent;
    this.postToAll({ kind: "silent", isSilent });
  }

  /** Ends the silence that a start begins with, in each thread once it has all zones. */
  setReady(): void {
    this.isReady = true;
    for (const thread of this.allThreads()) thread.zones.postBehind({ kind: "ready" });
  }

  /** What has been counted so far. */
  totals(): QueryTotals {
    return sumCounters(this.allThreads().map(({ settings }) => settings.counters));
  }

  /** What the UDP sockets have counted, by {@link COUNTERS}; zeros with `dgram`. */
  socketTotals(): Record<keyof typeof COUNTERS, number> {
    const sums = readCounters(createCounters());
    for (const { udp } of this.bound.values()) {
      for (const { counters } of udp) {
        const counted = readCounters(counters);
        for (const name of Object.keys(COUNTERS) as (keyof typeof COUNTERS)[]) sums[name] += counted[name];
      }
    }
    return sums;
  }

  /** Ends the steering that a predecessor began, once it has left. @param predecessors the UDP threads it had */
  settle(predecessors: number): void {
    this.numbering = orderAfterLeaving(predecessors, this.threads);
    for (const { udp } of this.bound.values()) if (udp[0] !== undefined) this.batch?.unsteer(udp[0].fd);
  }

  /**
   * Leaves every address to a successor that listens beside this process, without losing a query: new datagrams are
   * steered to it, then each thread drains its queue and ends. Final.
   *
   * @param successors UDP threads, that is sockets for each address, of the successor
   * @param graceMs milliseconds until open connections are cut
   */
  leave(successors: number, graceMs: number): Promise<void> {
    this.leaving ??= this.depart(successors, graceMs);
    return this.leaving;
  }

  private async depart(successors: number, graceMs: number): Promise<void> {
    for (const thread of this.allThreads()) thread.expectEnd();
    const tcpEnded = this.tcpThread.end(graceMs);
    await departUdp({
      batch: this.batch,
      bound: [...this.bound.values()],
      numbering: this.numbering,
      successors,
      endThread: async (index) => this.udpThreads[index]?.end(graceMs),
      closeSocket({ udp, isInherited }, index) {
        const leaving = udp[index];
        if (leaving !== undefined && isInherited !== true) closeSync(leaving.fd);
      },
    });
    await tcpEnded;
    this.closeAlarms();
    this.bound = new Map();
  }

  /** Answers what is under way and closes everything. @param graceMs milliseconds until open connections are cut */
  async stop(graceMs: number): Promise<void> {
    // What is under way there closes the same sockets; whether it worked, whoever asked for it has been told.
    if (this.leaving !== undefined) return await this.leaving.catch(() => {});
    await Promise.all(this.allThreads().map((thread) => thread.end(graceMs)));
    this.closeAlarms();
    closeSockets(this.bound.values());
    this.bound = new Map();
  }

  private allThreads(): WorkerThread[] {
    return [...this.udpThreads, this.tcpThread];
  }

  private postToAll(message: ToWorker): void {
    for (const thread of this.allThreads()) thread.post(message);
  }

  private startUdpThread(index: number): WorkerThread {
    const settings: WorkerSettings = { index, role: "udp", counters: createQueryCounters().memory };
    const { batch } = this;
    if (batch === undefined) return this.startThread(settings);
    const alarm = batch.alarm();
    this.alarms.push(alarm);
    return this.startThread({ ...settings, alarm }, { batch, alarm });
  }

  private startThread(settings: WorkerSettings, blocking?: Blocking): WorkerThread {
    return new WorkerThread({
      settings,
      log: this.options.log,
      zones: this.options.zones,
      ...(this.options.transfers && { transfers: this.options.transfers }),
      start: this.options.startThread ?? startThread,
      ...(blocking === undefined ? {} : { ring: () => blocking.batch.ring(blocking.alarm) }),
      onReplaced: (thread) => void this.bringUp(thread),
    });
  }

  /** Brings a thread that took the place of a crashed one to where the others are, on the same sockets. */
  private async bringUp(thread: WorkerThread): Promise<void> {
    if (this.policy !== undefined) thread.post({ kind: "policy", policy: this.policy });
    thread.post({ kind: "stale", isStale: this.isStale });
    if (this.isReady) thread.zones.postBehind({ kind: "ready" });
    if (this.isSilent) thread.zones.postBehind({ kind: "silent", isSilent: true });
    try {
      const everything = new Set(this.bound.keys());
      if (thread === this.tcpThread) await thread.listen(this.tcpOrders(this.bound, everything, this.listening));
      else await thread.listen(udpOrders(this.bound, thread.settings.index));
    } catch (error) {
      this.options.log.error({ worker: thread.settings.index, error: messageOf(error) }, "worker cannot listen");
    }
  }

  /** Node's own sockets cannot bind an address that is not there: says so where that was asked for. */
  private explained(error: unknown, { freeBind = false }: BindSettings): unknown {
    if (this.batch !== undefined || !freeBind || codeOf(error) !== "LISTEN_ADDRESS_UNAVAILABLE") return error;
    return new UserError(
      "this machine does not have an address of listen, and freebind needs the native part, which is not in use: run `npm rebuild livezone` and see why in the log",
      "LISTEN_ADDRESS_UNAVAILABLE",
      { cause: error },
    );
  }

  private bind(address: SocketAddress, settings: BindSettings): BoundAddress {
    if (this.batch === undefined) return { address, udp: [] };
    return bindAddress(this.batch, address, this.threads, settings, this.inherited);
  }

  /** UDP first: without the native part it chooses the port. @returns the real addresses */
  private async listenOn(
    all: ReadonlyMap<string, BoundAddress>,
    fresh: ReadonlySet<string>,
  ): Promise<readonly SocketAddress[]> {
    const answers = await Promise.all(
      this.udpThreads.map((thread) => thread.listen(udpOrders(all, thread.settings.index))),
    );
    const [addresses = []] = answers;
    await this.tcpThread.listen(this.tcpOrders(all, fresh, addresses));
    return addresses;
  }

  /** A TCP socket is made for each address that the thread does not have yet. */
  private tcpOrders(
    all: ReadonlyMap<string, BoundAddress>,
    fresh: ReadonlySet<string>,
    addresses: readonly SocketAddress[],
  ): SocketOrder[] {
    return [...all].map(([key, one], i) => {
      const address = addresses[i] ?? one.address;
      if (this.batch === undefined || !fresh.has(key)) return { key, address };
      return { key, address, tcp: { fd: tcpSocket(this.batch, one) } };
    });
  }

  private closeAlarms(): void {
    for (const alarm of this.alarms.splice(0)) closeSync(alarm);
  }
}

/** What the UDP thread with this index is to listen on. */
function udpOrders(all: ReadonlyMap<string, BoundAddress>, index: number): SocketOrder[] {
  return [...all].map(([key, { address, udp }]) => {
    const socket = udp[index];
    return { key, address, ...(socket && { udp: socket }) };
  });
}

import { closeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { CompiledZone, ZoneUpdate } from "../answers/answer.js";
import { packNodes } from "../answers/codec.js";
import { messageOf, UserError } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import type { Logger } from "../lib/logger.js";
import { createQueryCounters, type QueryTotals, sumCounters } from "../query/counters.js";
import { COUNTERS, createCounters, readCounters } from "./batch/buffers.js";
import { loadBatch } from "./batch/load.js";
import { leaveSteps, orderAfterLeaving, type Range } from "./batch/steering.js";
import { type BoundAddress, bindAddress, closeSockets, inheritedSockets, tcpSocket } from "./sockets.js";
import type { FromWorker, ServiceTerms, SocketOrder, ToWorker, WorkerSettings } from "./worker-messages.js";

/**
 * Everything that answers queries, seen from the side that decides the answers: sockets and tables in threads of
 * their own, so that a TLS handshake of a probe never delays an answer.
 */
export interface WorkerPool {
  /** Threads that answer. */
  readonly threads: number;
  /** Whether sockets were inherited: what is asked meanwhile waits in them until somebody listens. */
  readonly hasInherited: boolean;
  /** What carries UDP: `batch` is the native part, `dgram` Node's own. */
  readonly transport: "batch" | "dgram";
  /**
   * Listens on these addresses, UDP and TCP on each, from now on: opens what is new, then closes what is no longer
   * named. Rejects with a UserError, nothing changed, if one cannot be opened.
   *
   * @param isShared beside another server of the same user, which is going to {@link leave}
   */
  listen(addresses: readonly SocketAddress[], isShared?: boolean): Promise<void>;
  /** Where it listens; the real ports. */
  readonly addresses: readonly SocketAddress[];
  /** Replaces all answers at once. */
  load(zones: readonly CompiledZone[]): void;
  /** Replaces the answers that changed. */
  update(update: ZoneUpdate): void;
  /** Whom to answer, and how, from now on; until it is called, everyone, without cookies. */
  serve(terms: ServiceTerms): void;
  /** Whether answers are those of before, since health cannot be told: nothing else of the terms changes. */
  setStale(isStale: boolean): void;
  /** Ends the silence that a start begins with. */
  setReady(): void;
  /** What has been counted so far. */
  totals(): QueryTotals;
  /** What the UDP sockets have counted, by {@link COUNTERS}; zeros with `dgram`. */
  socketTotals(): Record<keyof typeof COUNTERS, number>;
  /**
   * Leaves every address to a successor that listens beside this process, without losing a query: new datagrams are
   * steered to it, then each thread drains its queue and ends. Final.
   *
   * @param successors the threads, that is sockets for each address, of the successor
   * @param graceMs until open connections are cut
   */
  leave(successors: number, graceMs: number): Promise<void>;
  /**
   * Ends the steering that a predecessor began, once it has left.
   *
   * @param predecessors the threads it had
   */
  settle(predecessors: number): void;
  /** Answers what is under way and closes everything. @param graceMs until open connections are cut */
  stop(graceMs: number): Promise<void>;
}

/** What answering is set up with. */
export interface WorkerPoolOptions {
  /** Threads that answer, 1 or more; without the native part there is one. */
  readonly workers: number;
  readonly log: Logger;
  /** All answers as they stand, for a thread that replaces one that crashed. */
  currentZones(): readonly CompiledZone[];
  /** Default: the native part, if it was built. */
  readonly batch?: ReturnType<typeof loadBatch>;
  /** Starts a thread. Default: a worker thread of this program. */
  readonly startThread?: (settings: WorkerSettings) => Worker;
}

/** Zones in one message: a few milliseconds of a thread's time, between which it answers. */
const ZONES_PER_MESSAGE = 100;

/** Milliseconds before a crashed thread is replaced, so that one that cannot live does not eat the processor. */
const REPLACE_AFTER_MS = 100;

/** The program of a thread. Under a test runner this file is TypeScript, which a thread cannot run: use the build. */
const PROGRAM = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../dist/transport/worker.js" : "./worker.js", import.meta.url),
);

/**
 * Milliseconds between steering datagrams away from a socket and draining it: those that the kernel has assigned to it
 * by then have long been queued.
 */
const STEERING_GRACE_MS = 20;

type ListenAnswer = Exclude<FromWorker, { readonly kind: "defect" }>;

const NONE: ReadonlySet<string> = new Set();

/** One thread. */
interface Thread {
  readonly settings: WorkerSettings;
  worker: Worker;
}

function mergeUpdates(before: ZoneUpdate, after: ZoneUpdate): ZoneUpdate {
  const nodes = new Map([...before.nodes, ...after.nodes].map((named) => [named.name, named]));
  return { ...after, nodes: [...nodes.values()] };
}

/** Whether a thread is no more; its `exit` event has been, so nobody need wait for it. */
function hasEnded({ worker }: Thread): boolean {
  return worker.threadId === -1;
}

/** Starts a thread of this program. */
export function startThread(settings: WorkerSettings): Worker {
  return new Worker(PROGRAM, { workerData: settings, execArgv: [], name: `answers-${settings.index}` });
}

/** Starts the threads; nothing is answered until {@link WorkerPool.listen} and {@link WorkerPool.setReady}. */
export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { log, currentZones } = options;
  const { transport: batch, reason } = options.batch ?? loadBatch();
  if (batch === undefined) log.warn({ reason }, "fast transport unavailable, using dgram");
  const count = batch === undefined ? 1 : options.workers;

  const inherited = batch === undefined ? new Map() : inheritedSockets(batch, process.env, process.pid);

  let bound = new Map<string, BoundAddress>();
  let addresses: readonly SocketAddress[] = [];
  /** Which thread's socket has which number in the group of each address; see `batch/steering.ts`. */
  let numbering: readonly number[] = Array.from({ length: count }, (_, index) => index);
  let isReady = false;
  let isStopping = false;
  let hasLeft = false;
  let orders = 0;
  /** By zone. */
  const pending = new Map<string, ZoneUpdate>();
  const waiting = new Map<number, (answer: ListenAnswer) => void>();
  let terms: ServiceTerms | undefined;
  let isStale = false;
  const threads = Array.from({ length: count }, (_, index): Thread => {
    const settings: WorkerSettings = { index, counters: createQueryCounters().memory };
    return { settings, worker: startWorker(settings) };
  });

  function startWorker(settings: WorkerSettings): Worker {
    const worker = (options.startThread ?? startThread)(settings);
    worker.on("message", (message: FromWorker) => {
      if (message.kind === "defect") log.error(message.defect, "query failed");
      else waiting.get(message.number)?.(message);
    });
    worker.on("error", (error) => log.error({ worker: settings.index, error: messageOf(error) }, "worker failed"));
    worker.on("exit", () => {
      if (isStopping) return;
      log.error({ worker: settings.index }, "worker ended, starting another");
      setTimeout(() => void replace(settings), REPLACE_AFTER_MS).unref();
    });
    return worker;
  }

  /** Starts a thread in place of one that crashed, on the same sockets. */
  async function replace(settings: WorkerSettings): Promise<void> {
    const thread = threads[settings.index];
    if (isStopping || thread === undefined) return;
    thread.worker = startWorker(settings);
    if (terms !== undefined) tell(thread, { kind: "serve", terms });
    tell(thread, { kind: "stale", isStale });
    sendZones(thread, currentZones());
    if (isReady) tell(thread, { kind: "ready" });
    try {
      await order(thread, socketOrders(thread, bound, new Set(bound.keys())));
    } catch (error) {
      log.error({ worker: settings.index, error: messageOf(error) }, "worker cannot listen");
    }
  }

  function tell(thread: Thread, message: ToWorker): void {
    thread.worker.postMessage(message);
  }

  /** Sends what has changed in this turn of the event loop: of a name that changed twice, the newer answers. */
  function sendPending(): void {
    for (const { zone, serial, nodes } of pending.values()) {
      const message: ToWorker = { kind: "update", zone, serial, nodes: packNodes(nodes) };
      for (const thread of threads) tell(thread, message);
    }
    pending.clear();
  }

  function sendZones(thread: Thread, zones: readonly CompiledZone[]): void {
    tell(thread, { kind: "begin" });
    for (let at = 0; at < zones.length; at += ZONES_PER_MESSAGE) {
      tell(thread, { kind: "zones", zones: zones.slice(at, at + ZONES_PER_MESSAGE) });
    }
    tell(thread, { kind: "commit" });
  }

  /** Has a thread listen on `sockets`; resolves with the real addresses. */
  function order(thread: Thread, sockets: readonly SocketOrder[]): Promise<readonly SocketAddress[]> {
    orders += 1;
    const number = orders;
    return new Promise((resolve, reject) => {
      const gone = (): void => {
        waiting.delete(number);
        reject(new UserError("the thread that answers queries ended", "WORKER_ENDED"));
      };
      if (hasEnded(thread)) return gone();
      thread.worker.once("exit", gone);
      waiting.set(number, (answer) => {
        waiting.delete(number);
        thread.worker.off("exit", gone);
        if (answer.kind === "listening") resolve(answer.addresses);
        else reject(new UserError(answer.message, answer.code));
      });
      tell(thread, { kind: "listen", number, sockets });
    });
  }

  /** What thread is to listen on; a TCP socket is made for each address that it does not have yet. */
  function socketOrders(
    { settings: { index } }: Thread,
    all: ReadonlyMap<string, BoundAddress>,
    fresh: ReadonlySet<string>,
  ): SocketOrder[] {
    return [...all].map(([key, one]) => {
      const { address, udp } = one;
      const servesTcp = index === 0;
      const socket = udp[index];
      const needsTcp = servesTcp && batch !== undefined && fresh.has(key);
      const tcp = needsTcp ? { fd: tcpSocket(batch, one) } : undefined;
      return { key, address, servesTcp, ...(socket && { udp: socket }), ...(tcp && { tcp }) };
    });
  }

  function bindNew(address: SocketAddress, isShared: boolean): BoundAddress {
    return batch === undefined ? { address, udp: [] } : bindAddress(batch, address, count, isShared, inherited);
  }

  /** Ends a thread; resolves when it is gone, its queues drained. */
  function end(thread: Thread, graceMs: number): Promise<void> {
    if (hasEnded(thread)) return Promise.resolve();
    const { worker } = thread;
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    worker.postMessage({ kind: "stop", graceMs } satisfies ToWorker);
    return ended;
  }

  return {
    threads: count,
    hasInherited: inherited.size > 0,
    transport: batch === undefined ? "dgram" : "batch",
    async listen(wanted, isShared = false) {
      const next = new Map<string, BoundAddress>();
      const fresh = new Map<string, BoundAddress>();
      try {
        for (const address of wanted) {
          const key = formatAddress(address);
          const present = bound.get(key);
          const one = present ?? bindNew(address, isShared);
          if (present === undefined) fresh.set(key, one);
          next.set(key, one);
        }
        const names = new Set(fresh.keys());
        const answers = await Promise.all(threads.map((thread) => order(thread, socketOrders(thread, next, names))));
        addresses = answers[0] ?? [];
      } catch (error) {
        closeSockets(fresh.values());
        // A thread may have opened what another could not.
        if (fresh.size > 0) {
          await Promise.allSettled(threads.map((thread) => order(thread, socketOrders(thread, bound, NONE))));
        }
        throw error;
      }
      const closing = [...bound].filter(([key]) => !next.has(key)).map(([, one]) => one);
      bound = next;
      closeSockets(closing);
    },
    get addresses() {
      return addresses;
    },
    load(zones) {
      pending.clear();
      for (const thread of threads) sendZones(thread, zones);
    },
    update(update) {
      if (pending.size === 0) queueMicrotask(sendPending);
      const before = pending.get(update.zone);
      pending.set(update.zone, before === undefined ? update : mergeUpdates(before, update));
    },
    serve(next) {
      terms = next;
      for (const thread of threads) {
        tell(thread, { kind: "serve", terms });
        tell(thread, { kind: "stale", isStale });
      }
    },
    setStale(next) {
      isStale = next;
      for (const thread of threads) tell(thread, { kind: "stale", isStale });
    },
    setReady() {
      isReady = true;
      for (const thread of threads) tell(thread, { kind: "ready" });
    },
    totals: () => sumCounters(threads.map(({ settings }) => settings.counters)),
    socketTotals() {
      const sums = readCounters(createCounters());
      for (const { udp } of bound.values()) {
        for (const { counters } of udp) {
          const counted = readCounters(counters);
          for (const name of Object.keys(COUNTERS) as (keyof typeof COUNTERS)[]) sums[name] += counted[name];
        }
      }
      return sums;
    },
    settle(predecessors) {
      numbering = orderAfterLeaving(predecessors, count);
      for (const { udp } of bound.values()) if (udp[0] !== undefined) batch?.unsteer(udp[0].fd);
    },
    async leave(successors, graceMs) {
      isStopping = true;
      const steer = ({ base, count }: Range): void => {
        // Any member's descriptor will do; this one is closed last.
        for (const { udp } of bound.values()) {
          const last = udp[numbering[0] ?? 0];
          if (last !== undefined) batch?.steer(last.fd, base, count);
        }
      };
      for (const { close, before, after } of leaveSteps(count, successors)) {
        steer(before);
        await delay(STEERING_GRACE_MS);
        const index = numbering[close] ?? close;
        const thread = threads[index];
        if (thread !== undefined) await end(thread, graceMs);
        for (const { udp, isInherited } of bound.values()) {
          const leaving = udp[index];
          if (leaving !== undefined && isInherited !== true) closeSync(leaving.fd);
        }
        if (close > 0) steer(after);
      }
      bound = new Map();
      hasLeft = true;
    },
    async stop(graceMs) {
      isStopping = true;
      if (hasLeft) return;
      await Promise.all(threads.map((thread) => end(thread, graceMs)));
      closeSockets(bound.values());
      bound = new Map();
    },
  };
}

import { closeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { CompiledZone, ZoneUpdate } from "../answers/answer.js";
import { messageOf, UserError } from "../lib/errors.js";
import { formatAddress, listenError, type SocketAddress } from "../lib/listening.js";
import type { Logger } from "../lib/logger.js";
import { createQueryCounters, type QueryTotals, sumCounters } from "../query/counters.js";
import { COUNTERS, createCounters, readCounters } from "./batch/buffers.js";
import { type BatchTransport, type BoundSocket, loadBatch } from "./batch/load.js";
import type { FromWorker, SocketOrder, ToWorker, WorkerSettings } from "./worker-messages.js";

/**
 * Everything that answers queries, seen from the side that decides the answers: sockets and tables in threads of
 * their own, so that a TLS handshake of a probe never delays an answer.
 */
export interface Answering {
  /** What carries UDP: `batch` is the native part, `dgram` Node's own. */
  readonly transport: "batch" | "dgram";
  /**
   * Listens on these addresses, UDP and TCP on each, from now on: opens what is new, then closes what is no longer
   * named. Rejects with a UserError, nothing changed, if one cannot be opened.
   */
  listen(addresses: readonly SocketAddress[]): Promise<void>;
  /** Where it listens; the real ports. */
  readonly addresses: readonly SocketAddress[];
  /** Replaces all answers at once. */
  load(zones: readonly CompiledZone[]): void;
  /** Replaces the answers that changed. */
  update(update: ZoneUpdate): void;
  /** Ends the silence that a start begins with. */
  setReady(): void;
  /** What has been counted so far. */
  totals(): QueryTotals;
  /** What the UDP sockets have counted, by {@link COUNTERS}; zeros with `dgram`. */
  socketTotals(): Record<keyof typeof COUNTERS, number>;
  /** Answers what is under way and closes everything. @param graceMs until open connections are cut */
  stop(graceMs: number): Promise<void>;
}

/** What answering is set up with. */
export interface AnsweringOptions {
  /** Threads that answer, 1 or more; without the native part there is one. */
  readonly workers: number;
  readonly log: Logger;
  /** All answers as they stand, for a thread that replaces one that crashed. */
  currentZones(): readonly CompiledZone[];
  /** Default: the native part, if it was built. */
  readonly batch?: ReturnType<typeof loadBatch>;
}

/** Zones in one message: a few milliseconds of a thread's time, between which it answers. */
const ZONES_PER_MESSAGE = 100;

/** Milliseconds before a crashed thread is replaced, so that one that cannot live does not eat the processor. */
const REPLACE_AFTER_MS = 100;

/** The program of a thread. Under a test runner this file is TypeScript, which a thread cannot run: use the build. */
const PROGRAM = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../dist/transport/worker.js" : "./worker.js", import.meta.url),
);

const NONE: ReadonlySet<string> = new Set();

/** One thread. */
interface Thread {
  readonly settings: WorkerSettings;
  worker: Worker;
}

/** A listen address and its sockets, one for each thread; none with `dgram`. */
interface Bound {
  readonly address: SocketAddress;
  readonly udp: readonly { readonly fd: number; readonly counters: BigUint64Array<SharedArrayBuffer> }[];
}

/** Starts the threads; nothing is answered until {@link Answering.listen} and {@link Answering.setReady}. */
export function createAnswering(options: AnsweringOptions): Answering {
  const { log, currentZones } = options;
  const { transport: batch, reason } = options.batch ?? loadBatch();
  if (batch === undefined) log.warn({ reason }, "fast transport unavailable, using dgram");
  const count = batch === undefined ? 1 : options.workers;

  let bound = new Map<string, Bound>();
  let addresses: readonly SocketAddress[] = [];
  let isReady = false;
  let isStopping = false;
  let orders = 0;
  const waiting = new Map<number, (answer: FromWorker) => void>();
  const threads = Array.from({ length: count }, (_, index): Thread => {
    const settings: WorkerSettings = { index, counters: createQueryCounters().memory };
    return { settings, worker: startWorker(settings) };
  });

  function startWorker(settings: WorkerSettings): Worker {
    const worker = new Worker(PROGRAM, { workerData: settings, execArgv: [], name: `answers-${settings.index}` });
    worker.on("message", (message: FromWorker) => waiting.get(message.number)?.(message));
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
    all: ReadonlyMap<string, Bound>,
    fresh: ReadonlySet<string>,
  ): SocketOrder[] {
    return [...all].map(([key, { address, udp }]) => {
      const servesTcp = index === 0;
      const socket = udp[index];
      const tcp =
        servesTcp && batch !== undefined && fresh.has(key) ? { fd: bindOne(batch, address, "tcp").fd } : undefined;
      return { key, address, servesTcp, ...(socket && { udp: socket }), ...(tcp && { tcp }) };
    });
  }

  return {
    transport: batch === undefined ? "dgram" : "batch",
    async listen(wanted) {
      const next = new Map<string, Bound>();
      const fresh = new Map<string, Bound>();
      try {
        for (const address of wanted) {
          const key = formatAddress(address);
          const present = bound.get(key);
          const one = present ?? bindAddress(batch, address, count);
          if (present === undefined) fresh.set(key, one);
          next.set(key, one);
        }
        const names = new Set(fresh.keys());
        const answers = await Promise.all(threads.map((thread) => order(thread, socketOrders(thread, next, names))));
        addresses = answers[0] ?? [];
      } catch (error) {
        closeSockets(fresh.values());
        // A thread may have opened what another could not.
        if (fresh.size > 0)
          await Promise.allSettled(threads.map((thread) => order(thread, socketOrders(thread, bound, NONE))));
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
      for (const thread of threads) sendZones(thread, zones);
    },
    update(update) {
      for (const thread of threads) tell(thread, { kind: "update", update });
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
    async stop(graceMs) {
      isStopping = true;
      await Promise.all(
        threads.map(({ worker }) => {
          const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
          worker.postMessage({ kind: "stop", graceMs } satisfies ToWorker);
          return ended;
        }),
      );
      closeSockets(bound.values());
      bound = new Map();
    },
  };
}

/**
 * Binds one UDP socket for each thread. They share the address by `SO_REUSEPORT`, which would also let a second server
 * on silently; so the address is first bound alone.
 */
function bindAddress(batch: BatchTransport | undefined, address: SocketAddress, count: number): Bound {
  if (batch === undefined) return { address, udp: [] };
  for (const kind of ["udp", "tcp"] as const) {
    if (address.port !== 0) closeSync(bindOne(batch, address, kind, false).fd);
  }
  const udp: { fd: number; counters: BigUint64Array<SharedArrayBuffer> }[] = [];
  let at = address;
  try {
    for (let i = 0; i < count; i += 1) {
      const socket = bindOne(batch, at, "udp");
      at = { address: address.address, port: socket.port };
      udp.push({ fd: socket.fd, counters: createCounters() });
    }
    return { address: at, udp };
  } catch (error) {
    closeSockets([{ address, udp }]);
    throw error;
  }
}

function bindOne(batch: BatchTransport, at: SocketAddress, kind: "udp" | "tcp", reusePort = true): BoundSocket {
  try {
    return batch.bind({ ...at, kind, reusePort });
  } catch (error) {
    throw listenError(kind.toUpperCase(), at, error);
  }
}

function closeSockets(all: Iterable<Bound>): void {
  for (const { udp } of all) for (const { fd } of udp) closeSync(fd);
}

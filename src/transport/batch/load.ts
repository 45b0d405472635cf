/**
 * The native part, if it was built, behind types. Nothing here runs per batch.
 *
 * A *bound socket* is a file descriptor that its owner keeps and closes (`fs.closeSync`); the kernel queues datagrams on
 * it whether or not anyone reads. A *receiver* reads a duplicate of it while its thread is in `serve`. So the main thread
 * binds all sockets, in a known order and with the privileges it has at start, workers receive on them, and a worker
 * that dies takes no queued datagram with it: the next one carries on.
 */
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import { messageOf } from "../../lib/errors.js";
import { installed } from "../../lib/installation.js";
import type { BatchBuffers } from "./buffers.js";

/** A socket as the kernel describes it. */
export interface BoundSocket {
  readonly fd: number;
  /** `tcp` is a stream socket, listening or not; `other` has no IP address (a Unix socket) or another type. */
  readonly kind: "udp" | "tcp" | "other";
  /** 4, 6, or 0 where `kind` is `other`. */
  readonly family: 4 | 6 | 0;
  /** Numeric, without brackets or interface; empty where `family` is 0. */
  readonly address: string;
  /** The real one, also where 0 was asked for. */
  readonly port: number;
  /** Octets of the receive buffer in force, in the unit of {@link BindOptions.receiveBufferBytes}. */
  readonly receiveBufferBytes: number;
}

export interface BindOptions {
  /** Numeric IPv4 or IPv6 address, no brackets; `fe80::1%eth0` names an interface. IPv6 sockets take IPv6 only. */
  readonly address: string;
  /** 0 to 65,535; 0 lets the kernel choose. */
  readonly port: number;
  /** `tcp` makes a listening socket for `net.Server.listen({ fd })`. Default: `udp`. */
  readonly kind?: "udp" | "tcp";
  /** Whether other sockets of the same user may bind the same address (`SO_REUSEPORT`). Default: false. */
  readonly reusePort?: boolean;
  /** Whether the address may be one that this machine does not have yet (`IP_FREEBIND`, ip(7)). Default: false. */
  readonly freeBind?: boolean;
  /**
   * Octets asked for queued datagrams, UDP only; 0 keeps the system's default. Capped by `net.core.rmem_max` unless
   * privileged (CAP_NET_ADMIN): compare with what is returned. Default: 4 MiB, some 10,000 small datagrams: a flood
   * of 700,000 a second is then held while the thread does something else for 15 ms.
   */
  readonly receiveBufferBytes?: number;
  /** Octets asked for replies under way, UDP only; 0 keeps the system's default. Default: 1 MiB. */
  readonly sendBufferBytes?: number;
}

/**
 * Handles one batch: reads messages 0 to `count - 1` from the buffers and writes replies into them. Must not throw: the
 * batch is dropped and `uncaughtException` follows. May close the receiver; then the batch goes unanswered.
 */
export type OnBatch = (count: number) => void;

export interface ReceiveOptions {
  /** Descriptor of a bound UDP socket; may be closed, or kept, once this returns. */
  readonly fd: number;
  /** May be shared by all receivers of a thread. */
  readonly buffers: BatchBuffers;
  /** From `createCounters()`; one per socket. */
  readonly counters: BigUint64Array;
  readonly onBatch: OnBatch;
}

/** Reads one socket when its thread calls {@link BatchTransport.serve}, until closed. */
export interface Receiver {
  /** The native object. */
  readonly handle: object;
  /** Answers all that is queued right now; how many messages that were. Not from within a handler. */
  drain(): number;
  /** Stops at once; what is queued stays with the bound socket if its owner still holds it. Again is harmless. */
  close(): void;
}

/** The native part. Failed system calls throw errors with `code` (`EADDRINUSE`), `errno` and `syscall`. */
export interface BatchTransport {
  /** Makes and binds a socket; the caller owns its descriptor. */
  bind(options: BindOptions): BoundSocket;
  /** What a descriptor is, e.g. one from socket activation. Throws `EBADF`, `ENOTSOCK`. */
  describe(fd: number): BoundSocket;
  /** Another descriptor of the same socket, for who will close it. Throws `EBADF`, `EMFILE`. */
  duplicate(fd: number): number;
  receive(options: ReceiveOptions): Receiver;
  /**
   * Blocks this thread: answers what comes to the receivers, until the alarm is rung or the time is up. Throws what a handler
   * throws.
   *
   * @param receivers of this thread, at most 256
   * @param alarm from {@link alarm}
   * @param milliseconds 0 (answers one round) to 2,147,483,647
   */
  serve(receivers: readonly Receiver[], alarm: number, milliseconds: number): void;
  /** Makes an alarm: a descriptor that its owner closes. Throws `EMFILE`. */
  alarm(): number;
  /** Ends the {@link serve} that waits for the alarm, or else the next one. From any thread. */
  ring(alarm: number): void;
  /**
   * How readily this thread gives way to others: -20 (least) to 19, as nice(2), for this thread alone.
   *
   * @returns whether it was allowed
   */
  setNice(nice: number): boolean;
  /** Gives memory that no thread uses any more back to the system. Does nothing without glibc (malloc_trim(3)). */
  trim(): void;
  /**
   * Sends new datagrams for the reuseport group of `fd` to its members `base` to `base + count - 1`, at random. See
   * `steering.ts` for how members are numbered. Any member's descriptor will do; the newest program counts.
   */
  steer(fd: number, base: number, count: number): void;
  /** Leaves the choice to the kernel again: all members, by a hash of both addresses and ports. */
  unsteer(fd: number): void;
}

/** The transport, or why there is none: one line to go into the log. */
export type BatchLoad =
  | { readonly transport: BatchTransport; readonly reason?: undefined }
  | { readonly transport?: undefined; readonly reason: string };

/** `apiVersion` of the `batch.c` that this file knows. */
const API_VERSION = 4;

const DEFAULT_RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;
const DEFAULT_SEND_BUFFER_BYTES = 1024 * 1024;

/** What `batch.c` exports. */
interface NativeBatch {
  readonly apiVersion: number;
  bind(
    address: string,
    port: number,
    stream: boolean,
    reusePort: boolean,
    freeBind: boolean,
    receiveBufferBytes: number,
    sendBufferBytes: number,
  ): BoundSocket;
  describe(fd: number): BoundSocket;
  duplicate(fd: number): number;
  steer(fd: number, base: number, count: number): void;
  unsteer(fd: number): void;
  receive(
    fd: number,
    batch: number,
    receive: Uint8Array,
    receiveSlot: number,
    receiveLengths: Int32Array,
    send: Uint8Array,
    sendSlot: number,
    sendLengths: Int32Array,
    peers: Uint8Array,
    counters: BigUint64Array,
    onBatch: OnBatch,
  ): object;
  serve(receivers: readonly object[], alarm: number, milliseconds: number): void;
  alarm(): number;
  ring(alarm: number): void;
  trim(): void;
  setNice(nice: number): boolean;
  drain(receiver: object): number;
  close(receiver: object): void;
}

/** Where `scripts/build-native.mjs` puts the addon that it compiles on this machine. */
export const ADDON_PATH = installed("build/batch.node");

/**
 * Where the addon may be, best first: compiled here, or brought along by the npm package for this processor and C library.
 *
 * @param interpreter the first 4 KiB of Node's own executable, which name the dynamic linker and so the C library
 */
export function addonPaths(interpreter: string, arch: string = process.arch): readonly string[] {
  const libc = interpreter.includes("/ld-musl-") ? "musl" : "glibc";
  return [ADDON_PATH, installed(`prebuilds/linux-${arch}-${libc}/batch.node`)];
}

/** The first 4 KiB of the executable that runs; empty if it cannot be read. */
function headOfExecutable(): string {
  const head = Buffer.alloc(4096);
  try {
    const fd = openSync(process.execPath, "r");
    try {
      return head.toString("latin1", 0, readSync(fd, head));
    } finally {
      closeSync(fd);
    }
  } catch {
    return "";
  }
}

/** The addon that is there. {@link ADDON_PATH} if none is, so that the error names it. */
function findAddon(): string {
  if (existsSync(ADDON_PATH)) return ADDON_PATH;
  return addonPaths(headOfExecutable()).find((path) => existsSync(path)) ?? ADDON_PATH;
}

/**
 * Loads the native part; in each thread that uses it.
 *
 * @param path of the addon; default: the one that the installation has
 */
export function loadBatch(path = findAddon()): BatchLoad {
  let native: NativeBatch;
  try {
    native = createRequire(import.meta.url)(path) as NativeBatch;
  } catch (error) {
    const [line = ""] = messageOf(error).split("\n");
    return { reason: `the native part is not built or does not load: ${line}` };
  }
  if (native.apiVersion !== API_VERSION) {
    return { reason: "the native part was built from another version of livezone: run `npm rebuild livezone`" };
  }
  return { transport: wrap(native) };
}

function wrap(native: NativeBatch): BatchTransport {
  return {
    bind: ({ address, port, kind = "udp", reusePort = false, freeBind = false, receiveBufferBytes, sendBufferBytes }) =>
      native.bind(
        address,
        port,
        kind === "tcp",
        reusePort,
        freeBind,
        receiveBufferBytes ?? DEFAULT_RECEIVE_BUFFER_BYTES,
        sendBufferBytes ?? DEFAULT_SEND_BUFFER_BYTES,
      ),
    describe: (fd) => native.describe(fd),
    duplicate: (fd) => native.duplicate(fd),
    steer: (fd, base, count) => native.steer(fd, base, count),
    unsteer: (fd) => native.unsteer(fd),
    serve(receivers, alarm, milliseconds) {
      native.serve(
        receivers.map(({ handle }) => handle),
        alarm,
        milliseconds,
      );
    },
    alarm: () => native.alarm(),
    ring: (alarm) => native.ring(alarm),
    trim: () => native.trim(),
    setNice: (nice) => native.setNice(nice),
    receive({ fd, buffers, counters, onBatch }) {
      const { batch, receive, receiveSlot, receiveLengths, send, sendSlot, sendLengths, peers } = buffers;
      const handle = native.receive(
        fd,
        batch,
        receive,
        receiveSlot,
        receiveLengths,
        send,
        sendSlot,
        sendLengths,
        peers,
        counters,
        onBatch,
      );
      return { handle, drain: () => native.drain(handle), close: () => native.close(handle) };
    },
  };
}

/**
 * The native part, if it was built, behind types. Nothing here runs per batch.
 *
 * A *bound socket* is a file descriptor that its owner keeps and closes (`fs.closeSync`); the kernel queues datagrams on
 * it whether or not anyone reads. A *receiver* reads a duplicate of it on the event loop of its thread. So the main thread
 * binds all sockets, in a known order and with the privileges it has at start, workers receive on them, and a worker
 * that dies takes no queued datagram with it: the next one carries on.
 */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../lib/errors.js";
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
  /**
   * Batches handled before other events of the thread get their turn, 1 to 1,024. Default: 4, which bounds the wait
   * of a message from the main thread to 256 answers (under 1 ms) and spreads the loop's own cost over as many.
   */
  readonly batchesPerWake?: number;
}

/** Reads one socket on the event loop of this thread, and keeps the thread alive, until closed. */
export interface Receiver {
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
const API_VERSION = 2;

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
    batchesPerWake: number,
    onBatch: OnBatch,
  ): object;
  drain(receiver: object): number;
  close(receiver: object): void;
}

/** Where `scripts/build-native.mjs` puts the addon; the same from `src/` and from `dist/`. */
export const ADDON_PATH = fileURLToPath(new URL("../../../build/batch.node", import.meta.url));

/**
 * Loads the native part; in each thread that uses it.
 *
 * @param path of the addon; default: where the installation builds it
 */
export function loadBatch(path = ADDON_PATH): BatchLoad {
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
    bind: ({ address, port, kind = "udp", reusePort = false, receiveBufferBytes, sendBufferBytes }) =>
      native.bind(
        address,
        port,
        kind === "tcp",
        reusePort,
        receiveBufferBytes ?? DEFAULT_RECEIVE_BUFFER_BYTES,
        sendBufferBytes ?? DEFAULT_SEND_BUFFER_BYTES,
      ),
    describe: (fd) => native.describe(fd),
    duplicate: (fd) => native.duplicate(fd),
    steer: (fd, base, count) => native.steer(fd, base, count),
    unsteer: (fd) => native.unsteer(fd),
    receive({ fd, buffers, counters, onBatch, batchesPerWake = 4 }) {
      const { batch, receive, receiveSlot, receiveLengths, send, sendSlot, sendLengths, peers } = buffers;
      const receiver = native.receive(
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
        batchesPerWake,
        onBatch,
      );
      return { drain: () => native.drain(receiver), close: () => native.close(receiver) };
    },
  };
}

/**
 * The memory that a batch of datagrams lives in: made once per thread, written by the kernel, read and written in
 * place by JavaScript. Message `i` of a batch is at `i` times the slot size in each array.
 */

/**
 * Messages per system call. More gain next to nothing (the call's cost is already spread over 64) and delay the
 * first reply of a batch; the native part takes 1 to 256.
 */
const DEFAULT_BATCH = 64;

/**
 * Octets for one received datagram: 2,048, more than any query that makes sense, and one cache line more, so that the
 * slots' first lines do not all fall into the same sets of the processor's cache. A longer datagram is counted as
 * truncated and shown with length 0.
 */
const RECEIVE_SLOT_OCTETS = 2048 + 64;

/** Octets for one reply: 1,280, more than the largest reply of 1,232, and one cache line more (see above). */
const SEND_SLOT_OCTETS = 1280 + 64;

/** Octets for one peer: a `sockaddr_in6` (28), rounded up. Fixed by `batch.c`. */
export const PEER_OCTETS = 32;

/** Where the port of a peer starts within its slot: 2 octets, network order, for both families. */
export const PEER_PORT_OFFSET = 2;

/** Where the address of a peer starts within its slot: 4 octets (IPv4) or 16 (IPv6), network order. */
export const PEER_ADDRESS_OFFSET = { 4: 4, 6: 8 } as const;

/** What the receivers of one thread share: batches are handled one after the other, so one set is enough. */
export interface BatchBuffers {
  /** Messages per batch, 1 to 256. */
  readonly batch: number;
  readonly receiveSlot: number;
  readonly sendSlot: number;
  /** Received octets; message `i` starts at `i * receiveSlot`. What lies past its length is left from before. */
  readonly receive: Uint8Array;
  /** Length of each received message; 0 for one that did not fit. Also a datagram may truly be empty. */
  readonly receiveLengths: Int32Array;
  /** Where replies are written; that of message `i` starts at `i * sendSlot`. */
  readonly send: Uint8Array;
  /** Length of each reply, at most `sendSlot`; 0, as it is before each batch, means that none is sent. */
  readonly sendLengths: Int32Array;
  /** Who sent each message, as the kernel's `sockaddr`: see {@link PEER_PORT_OFFSET}, {@link PEER_ADDRESS_OFFSET}. */
  readonly peers: Uint8Array;
}

/**
 * Makes the buffers of a thread. Do not transfer them to another thread: the native part keeps writing where they were.
 *
 * @param batch messages per batch, 1 to 256, default {@link DEFAULT_BATCH}
 */
export function createBuffers(
  batch = DEFAULT_BATCH,
  receiveSlot = RECEIVE_SLOT_OCTETS,
  sendSlot = SEND_SLOT_OCTETS,
): BatchBuffers {
  return {
    batch,
    receiveSlot,
    sendSlot,
    receive: new Uint8Array(batch * receiveSlot),
    receiveLengths: new Int32Array(batch),
    send: new Uint8Array(batch * sendSlot),
    sendLengths: new Int32Array(batch),
    peers: new Uint8Array(batch * PEER_OCTETS),
  };
}

/** Places in the counters of a socket; the order is that of `enum counter` in `batch.c`. */
export const COUNTERS = {
  /** Datagrams that came. */
  received: 0,
  /** Replies handed to the kernel. */
  sent: 1,
  /** Calls of the handler. */
  batches: 2,
  /** Replies the kernel refused (no route, filtered, forged port 0); each was skipped, the others went out. */
  sendErrors: 3,
  /** Replies dropped because the send queue was full. */
  sendBlocked: 4,
  /** Errors kept for the socket, ICMP errors among them. */
  receiveErrors: 5,
  /** Datagrams the kernel had no room for, over the life of the socket; may lag by 64 wakes of the event loop. */
  kernelDrops: 6,
  /** Datagrams longer than a receive slot; they count as received too. */
  truncated: 7,
  /** Replies with a length that cannot be: a defect of the handler. */
  badReplies: 8,
} as const;

/** Elements to give the counters of one socket: 128 octets, so that two threads never write to one cache line. */
const COUNTER_ELEMENTS = 16;

/**
 * Counters of one socket in shared memory: written by the thread that receives, read by any with `Atomics.load` or
 * {@link readCounters}. They carry on when another receiver takes over the same socket.
 */
export function createCounters(): BigUint64Array<SharedArrayBuffer> {
  return new BigUint64Array(new SharedArrayBuffer(COUNTER_ELEMENTS * BigUint64Array.BYTES_PER_ELEMENT));
}

/** The counters by name, at this moment. */
export function readCounters(counters: BigUint64Array): Record<keyof typeof COUNTERS, number> {
  const at = (name: keyof typeof COUNTERS) => Number(Atomics.load(counters, COUNTERS[name]));
  return {
    received: at("received"),
    sent: at("sent"),
    batches: at("batches"),
    sendErrors: at("sendErrors"),
    sendBlocked: at("sendBlocked"),
    receiveErrors: at("receiveErrors"),
    kernelDrops: at("kernelDrops"),
    truncated: at("truncated"),
    badReplies: at("badReplies"),
  };
}

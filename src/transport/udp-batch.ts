import type { BatchClock } from "../lib/clock.js";
import type { Listening, SocketAddress } from "../lib/listening.js";
import type { Client } from "../query/client.js";
import { TRANSPORT } from "../query/counters.js";
import type { Respond } from "../query/respond.js";
import { type BatchBuffers, createBuffers, PEER_ADDRESS_OFFSET, PEER_OCTETS } from "./batch/buffers.js";
import type { BatchTransport, Receiver } from "./batch/load.js";

/**
 * Milliseconds that the thread blocks at most before its event loop turns: the engine has timers and tasks of its own
 * there, and a thread that is terminated is waited for as long.
 */
const MAX_BLOCK_MS = 250;

/**
 * Answers whole batches of datagrams through the native part. The thread blocks there; whoever posts a message to it rings
 * the alarm, so that its event loop turns and takes the message. All sockets of the thread share one set of buffers.
 */
export class BatchServer {
  private readonly buffers = createBuffers();
  private readonly onBatch: (count: number) => void;
  private receivers: readonly Receiver[] = [];
  private isStopped = false;

  /**
   * @param alarm of this thread, from {@link BatchTransport.alarm}
   * @param clock that `respond` reads
   * @param blockMs milliseconds, 0 or more, default {@link MAX_BLOCK_MS}
   */
  constructor(
    private readonly transport: BatchTransport,
    respond: Respond,
    clock: BatchClock,
    private readonly alarm: number,
    private readonly blockMs = MAX_BLOCK_MS,
  ) {
    this.onBatch = batchHandler(this.buffers, respond, clock);
  }

  /** Serves a bound UDP socket. The descriptor stays its owner's. */
  open(
    address: SocketAddress,
    { fd, counters }: { readonly fd: number; readonly counters: BigUint64Array },
  ): Listening {
    const { buffers, onBatch } = this;
    const receiver = this.transport.receive({ fd, buffers, counters, onBatch });
    this.receivers = [...this.receivers, receiver];
    return {
      address,
      stop: async () => {
        receiver.drain();
        receiver.close();
        this.receivers = this.receivers.filter((one) => one !== receiver);
      },
    };
  }

  /** Begins to answer, and goes on until {@link stop}. */
  start(): void {
    setImmediate(() => this.turn());
  }

  /** Answers no more. */
  stop(): void {
    this.isStopped = true;
  }

  /** One turn of the event loop comes between two calls: it takes the messages that the alarm was rung for. */
  private turn(): void {
    if (this.isStopped) return;
    this.transport.serve(this.receivers, this.alarm, this.blockMs);
    setImmediate(() => this.turn());
  }
}

/** The address family of IPv4 in a `sockaddr` (AF_INET), on every system; the other one here is IPv6. */
const FAMILY_IPV4 = 2;

/** Points `client` to the sender of message `i`. */
function peerAt(client: Client, i: number): void {
  const slot = i * PEER_OCTETS;
  // The family is a number of 16 bits in the machine's order; both families fit into one octet.
  const family = (client.octets[slot] as number) | (client.octets[slot + 1] as number);
  client.length = family === FAMILY_IPV4 ? 4 : 16;
  client.at = slot + PEER_ADDRESS_OFFSET[family === FAMILY_IPV4 ? 4 : 6];
}

/** Answers the messages of a batch, each in its own slots. */
function batchHandler(buffers: BatchBuffers, respond: Respond, clock: BatchClock): (count: number) => void {
  const { receive, receiveSlot, receiveLengths, send, sendSlot, sendLengths, peers } = buffers;
  const client: Client = { octets: peers, at: 0, length: 4 };
  return (count) => {
    clock.beginBatch();
    for (let i = 0; i < count; i += 1) {
      const length = receiveLengths[i] as number;
      peerAt(client, i);
      sendLengths[i] = respond(receive, i * receiveSlot, length, send, i * sendSlot, TRANSPORT.udp, client);
    }
    clock.endBatch();
  };
}

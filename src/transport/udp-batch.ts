import type { Listening, SocketAddress } from "../lib/listening.js";
import type { Client } from "../query/client.js";
import { TRANSPORT } from "../query/counters.js";
import type { Respond } from "../query/respond.js";
import { type BatchBuffers, createBuffers, PEER_ADDRESS_OFFSET, PEER_OCTETS } from "./batch/buffers.js";
import { type BatchTransport, loadBatch } from "./batch/load.js";

/** Serves a bound UDP socket in this thread. The descriptor stays its owner's. */
export type ReceiveBatches = (
  address: SocketAddress,
  socket: { readonly fd: number; readonly counters: BigUint64Array },
) => Listening;

/**
 * Prepares a thread to answer whole batches of datagrams through the native part, which is loaded when the first
 * socket is served. All sockets of the thread share one set of buffers.
 */
export function createBatchReceiver(respond: Respond): ReceiveBatches {
  let prepared:
    | { readonly transport: BatchTransport; readonly buffers: BatchBuffers; readonly onBatch: (count: number) => void }
    | undefined;
  const prepare = () => {
    const { transport, reason } = loadBatch();
    if (transport === undefined) throw new Error(reason);
    const buffers = createBuffers();
    return { transport, buffers, onBatch: batchHandler(buffers, respond) };
  };
  return (address, { fd, counters }) => {
    prepared ??= prepare();
    const { transport, buffers, onBatch } = prepared;
    const receiver = transport.receive({ fd, buffers, counters, onBatch });
    return {
      address,
      async stop() {
        receiver.drain();
        receiver.close();
      },
    };
  };
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
function batchHandler(buffers: BatchBuffers, respond: Respond): (count: number) => void {
  const { receive, receiveSlot, receiveLengths, send, sendSlot, sendLengths, peers } = buffers;
  const client: Client = { octets: peers, at: 0, length: 4 };
  return (count) => {
    for (let i = 0; i < count; i += 1) {
      const length = receiveLengths[i] as number;
      peerAt(client, i);
      sendLengths[i] = respond(receive, i * receiveSlot, length, send, i * sendSlot, TRANSPORT.udp, client);
    }
  };
}

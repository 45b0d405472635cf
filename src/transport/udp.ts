import { createSocket, type RemoteInfo, type SocketOptions } from "node:dgram";
import { type Listening, listenError, type SocketAddress } from "../lib/listening.js";
import { clientAt, setClient } from "../query/client.js";
import { TRANSPORT } from "../query/counters.js";
import type { Respond } from "../query/respond.js";
import { MAX_UDP_REPLY_OCTETS } from "../wire/constants.js";

/** Octets asked of the kernel for datagrams that wait: at 60 octets of query and 700 of bookkeeping, some 5,000. */
const RECEIVE_BUFFER_OCTETS = 4 << 20;

/** Room for any datagram (its length has 16 bits), in whole words. */
const MAX_DATAGRAM_OCTETS = 1 << 16;

/** Opens a UDP socket on `node:dgram`. @throws UserError if it cannot be opened */
export async function openUdp(at: SocketAddress, respond: Respond): Promise<Listening> {
  const isV6 = at.address.includes(":");
  // Replies go to addresses, never to names: without this, each would wait for the next turn of the event loop.
  const lookup: SocketOptions["lookup"] = (address, _, callback) => callback(null, address, isV6 ? 6 : 4);
  const socket = createSocket({ type: isV6 ? "udp6" : "udp4", ipv6Only: isV6, lookup });
  await new Promise<void>((resolve, reject) => {
    socket.once("error", (error) => reject(listenError("UDP", at, error)));
    socket.bind({ address: at.address, port: at.port, exclusive: true }, resolve);
  });
  socket.removeAllListeners("error");
  // An ICMP error for a reply to a client that has gone: nothing to mend.
  socket.on("error", () => {});
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER_OCTETS);
  } catch {
    // The system's own size will do; the kernel caps it silently in any case.
  }
  const request = new Uint8Array(MAX_DATAGRAM_OCTETS);
  const reply = new Uint8Array(MAX_UDP_REPLY_OCTETS);
  const client = clientAt("::");
  socket.on("message", (message, from: RemoteInfo) => {
    // Nobody can be answered at port 0, which only forged datagrams come from; `send` would throw.
    if (from.port === 0) return;
    request.set(message);
    setClient(client, from.address);
    // A reply that waits for the kernel keeps its buffer.
    const into = socket.getSendQueueCount() === 0 ? reply : new Uint8Array(MAX_UDP_REPLY_OCTETS);
    const length = respond(request, 0, message.length, into, 0, TRANSPORT.udp, client);
    if (length > 0) socket.send(into, 0, length, from.port, from.address);
  });
  return {
    address: { address: at.address, port: socket.address().port },
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

import { createSocket, type RemoteInfo } from "node:dgram";
import { type Listening, listenError, type SocketAddress } from "../lib/listening.js";
import { clientAt } from "../query/client.js";
import type { Respond } from "../query/respond.js";
import { MAX_UDP_REPLY_OCTETS } from "../wire/constants.js";

/** Octets asked of the kernel for datagrams that wait: at 60 octets of query and 700 of bookkeeping, some 5,000. */
const RECEIVE_BUFFER_OCTETS = 4 << 20;

/** Opens a UDP socket on `node:dgram`. @throws UserError if it cannot be opened */
export async function openUdp(at: SocketAddress, respond: Respond): Promise<Listening> {
  const isV6 = at.address.includes(":");
  const socket = createSocket({ type: isV6 ? "udp6" : "udp4", ipv6Only: isV6 });
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
  const replies = createReplyPool();
  socket.on("message", (message, from: RemoteInfo) => {
    // Nobody can be answered at port 0, which only forged datagrams come from; `send` would throw.
    if (from.port === 0) return;
    const reply = replies.take();
    const length = respond(message, message.length, reply, "udp", clientAt(from.address));
    if (length === 0) return replies.give(reply);
    socket.send(reply, 0, length, from.port, from.address, () => replies.give(reply));
  });
  return {
    address: { address: at.address, port: socket.address().port },
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Reply buffers in flight: `send` keeps one until it is done. */
function createReplyPool(): { take(): Uint8Array; give(reply: Uint8Array): void } {
  const free: Uint8Array[] = [];
  return {
    take: () => free.pop() ?? new Uint8Array(MAX_UDP_REPLY_OCTETS),
    give(reply) {
      if (free.length < 256) free.push(reply);
    },
  };
}

import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { Packet } from "dns2";
import { codeOf, UserError } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import { typeNumber } from "../wire/constants.js";
import { encodeQuery } from "../wire/message.js";
import { parseName } from "../wire/name.js";

/** What is asked, of whom. */
export interface Asking {
  readonly server: SocketAddress;
  /** Absolute, with or without the trailing dot. */
  readonly name: string;
  /** `A`, `AAAA`, … */
  readonly type: string;
  /** Milliseconds until giving up. Default 1 000. */
  readonly timeoutMs?: number;
}

/** Octets offered for a reply over UDP: what resolvers offer since the DNS flag day of 2020. */
const UDP_OCTETS = 1232;

/**
 * Asks one question over UDP, as a resolver would, and parses the reply with `dns2`.
 *
 * Rejects with a {@link UserError}: `ASK_TIMEOUT`, or `ASK_UNREACHABLE` when the server's port refuses.
 */
export async function ask({ server, name, type, timeoutMs = 1_000 }: Asking): Promise<Packet> {
  const id = randomInt(0x1_0000);
  const number = typeNumber(type);
  if (number === undefined) throw new UserError(`${type} is not a record type`, "ASK_TYPE_UNKNOWN");
  const query = encodeQuery({
    id,
    name: parseName(name.endsWith(".") ? name : `${name}.`),
    type: number,
    udpOctets: UDP_OCTETS,
  });
  const socket = createSocket(server.address.includes(":") ? "udp6" : "udp4");
  try {
    return await new Promise<Packet>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new UserError(`no answer from ${formatAddress(server)} within ${timeoutMs} ms`, "ASK_TIMEOUT")),
        timeoutMs,
      );
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        act();
      };
      socket.on("error", (error) => settle(() => reject(unreachable(server, error))));
      socket.on("message", (message) => {
        // Connected, so it comes from the server; the id tells a late reply to an earlier question apart.
        if (message.length < 2 || message.readUInt16BE(0) !== id) return;
        settle(() => resolve(Packet.parse(message)));
      });
      socket.connect(server.port, server.address, () => socket.send(query));
    });
  } finally {
    socket.close();
  }
}

function unreachable(server: SocketAddress, error: unknown): UserError {
  const why = codeOf(error) === "ECONNREFUSED" ? "nothing listens there" : String(error);
  return new UserError(`cannot ask ${formatAddress(server)}: ${why}`, "ASK_UNREACHABLE", { cause: error });
}

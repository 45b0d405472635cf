import { createSocket } from "node:dgram";
import type { Config, Position } from "../config/config.js";
import { codeOf, type Problem } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";

/** An address to listen on, and where the main file names it. */
interface Named {
  readonly at: SocketAddress;
  readonly position: Position;
  /** Whether `freebind` lets livezone listen on it before it is there. */
  readonly isPatient: boolean;
}

/**
 * Warns of each address to listen on that this machine does not have now. Asks the system by a socket on a port of its own
 * choice, which disturbs nobody who listens there already.
 */
export async function warnOfMissingAddresses(config: Config): Promise<readonly Problem[]> {
  const { listen, listenPositions, freebind, admin, file } = config;
  const start: Position = { file, line: 1, column: 1 };
  const named: Named[] = listen.map((at, index) => ({
    at,
    position: listenPositions[index] ?? start,
    isPatient: freebind,
  }));
  if (admin.http !== undefined) {
    named.push({ at: admin.http, position: admin.httpPosition ?? start, isPatient: false });
  }
  const isMissing = await Promise.all(named.map(({ at }) => isElsewhere(at.address)));
  return named.filter((_, index) => isMissing[index]).map(describe);
}

/** Whether no interface of this machine has the address. What else keeps a socket from it is not asked here. */
function isElsewhere(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(address.includes(":") ? { type: "udp6", ipv6Only: true } : { type: "udp4" });
    const end = (answer: boolean): void => {
      socket.close();
      resolve(answer);
    };
    socket.once("error", (error) => end(codeOf(error) === "EADDRNOTAVAIL"));
    socket.bind({ address, port: 0, exclusive: true }, () => end(false));
  });
}

function describe({ at, position, isPatient }: Named): Problem {
  return {
    ...position,
    severity: "warning",
    message: `no interface of this machine has the address of ${formatAddress(at)} now${isPatient ? "" : ", so that serve could not listen on it"}.`,
    remedy: isPatient
      ? "With freebind: true, livezone listens before it comes; see that it does, or correct it."
      : 'See "ip address"; if the address comes later (VPN, VRRP, a slow interface), set freebind: true, which holds for listen.',
    code: "LISTEN_ADDRESS_UNAVAILABLE",
  };
}

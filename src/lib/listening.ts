import { codeOf, messageOf, UserError } from "./errors.js";

/** A socket address to listen on. */
export interface SocketAddress {
  /** IPv4 or IPv6 literal, without brackets. */
  readonly address: string;
  /** 0 to 65 535; 0 lets the system choose (tests). */
  readonly port: number;
}

/** A listening socket of any kind. */
export interface Listening {
  /** Where it listens; the port is the real one if 0 was asked for. */
  readonly address: SocketAddress;
  /**
   * Takes no new messages, lets those under way be answered, and closes.
   *
   * @param graceMs milliseconds until connections still open are cut
   */
  stop(graceMs: number): Promise<void>;
}

/** `192.0.2.1:53`, `[2001:db8::1]:53`. */
export function formatAddress({ address, port }: SocketAddress): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/**
 * Says in one line why a socket could not be opened, who is likely to have it, and what to do.
 *
 * @param what `UDP`, `TCP` or `HTTP`
 */
export function listenError(what: string, at: SocketAddress, error: unknown): UserError {
  const where = `${what} ${formatAddress(at)}`;
  const later = what === "HTTP" ? "" : "; if it comes later (VPN, VRRP, a slow interface), set freebind: true";
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return new UserError(`cannot listen on ${where}: the port is in use${likelyOwner(at)}`, "LISTEN_ADDRESS_IN_USE", {
        cause: error,
      });
    case "EACCES":
      return new UserError(
        `cannot listen on ${where}: no permission; ports below 1024 take the capability CAP_NET_BIND_SERVICE (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE), or choose a port above`,
        "LISTEN_NO_PERMISSION",
        { cause: error },
      );
    case "EADDRNOTAVAIL":
      return new UserError(
        `cannot listen on ${where}: no interface of this machine has the address; see "ip address"${later}, or listen on 0.0.0.0 or [::]`,
        "LISTEN_ADDRESS_UNAVAILABLE",
        { cause: error },
      );
    default:
      return new UserError(`cannot listen on ${where}: ${messageOf(error)}`, "LISTEN_FAILED", { cause: error });
  }
}

function likelyOwner({ address, port }: SocketAddress): string {
  const show = `; "ss -lnptu sport = :${port}" shows by whom`;
  if (port !== 53) return `${show}; stop that, or choose another port`;
  const isWildcard = address === "0.0.0.0" || address === "::";
  if (isWildcard || address.startsWith("127.0.0.53")) {
    return `, likely by systemd-resolved on 127.0.0.53 or another resolver of this machine${show}; listen on the machine's own address instead, or set DNSStubListener=no in resolved.conf`;
  }
  return `, likely by another DNS server (dnsmasq, unbound, named)${show}; stop that, or listen on another address`;
}

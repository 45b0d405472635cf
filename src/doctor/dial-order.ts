import { isIPv4 } from "node:net";

/** An address of this machine, as far as the choice of a destination depends on it. */
export interface LocalAddress {
  /** IPv4 or IPv6 literal. */
  readonly address: string;
  /** Bits of the network, e.g. 24. */
  readonly prefixLength: number;
}

/** Order in which a client tries addresses, and what it does between two of them. */
export interface DialOrder {
  /** `Go` or `glibc`. */
  readonly client: string;
  readonly addresses: readonly string[];
  /** One sentence. */
  readonly how: string;
}

/**
 * What clients on a machine would do with an answer.
 *
 * Go (kubelet, kubectl, client-go: `net/dial.go`, `net/addrselect.go`): both families side by side, the second one
 * started after 300 ms; within IPv4 the order received. glibc (curl, Python: `getaddrinfo(3)`, RFC 6724): one after
 * the other, IPv6 first where there is a route; IPv4 addresses in the machine's own subnet first, by common prefix.
 *
 * @param received in the order of the answers, IPv4 and IPv6
 */
export function dialOrders(received: readonly string[], local: readonly LocalAddress[]): DialOrder[] {
  const v4 = received.filter((address) => isIPv4(address));
  const v6 = received.filter((address) => !isIPv4(address));
  const hasIpv6 = local.some(({ address }) => !isIPv4(address) && isGlobal(address));
  const families = hasIpv6 ? [v6, v4] : [v4, v6];
  const both = v4.length > 0 && v6.length > 0;
  const near = v4.filter((address) => commonBits(address, local) > 0);
  const sorted = v4.toSorted((a, b) => commonBits(b, local) - commonBits(a, local));
  const sortedFamilies = hasIpv6 ? [v6, sorted] : [sorted, v6];
  return [
    {
      client: "Go",
      addresses: families.flat(),
      how: both
        ? `in the order received, ${hasIpv6 ? "IPv6" : "IPv4"} first; the other family is tried too after 300 ms`
        : "in the order received, the time left shared among the addresses left",
    },
    {
      client: "glibc",
      addresses: sortedFamilies.flat(),
      how:
        near.length > 0 && near.length < v4.length
          ? `${near.join(", ")} always first: in this machine's subnet, so load from here is not spread`
          : near.length > 1
            ? "by common prefix with this machine's address, in the same order every time"
            : "in the order received, one after the other",
    },
  ];
}

function isGlobal(address: string): boolean {
  return address !== "::1" && !/^fe[89ab]/i.test(address);
}

/** Leading bits that an IPv4 address shares with a local one in whose subnet it lies; 0 outside all of them. */
function commonBits(address: string, local: readonly LocalAddress[]): number {
  let most = 0;
  for (const { address: own, prefixLength } of local) {
    if (!isIPv4(own)) continue;
    const bits = Math.clz32(toNumber(address) ^ toNumber(own));
    if (bits >= prefixLength) most = Math.max(most, bits);
  }
  return most;
}

function toNumber(address: string): number {
  return address.split(".").reduce((value, part) => ((value << 8) | Number(part)) >>> 0, 0);
}

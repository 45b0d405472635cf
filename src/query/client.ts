import { addressOctets } from "../wire/address.js";

/** Who sent a query: an address in place, so that naming the client of a packet allocates nothing. */
export interface Client {
  /** Holds the address from `at` on, in network order. */
  octets: Uint8Array;
  at: number;
  /** Octets of the address: 4 (IPv4) or 16 (IPv6). */
  length: number;
}

/** A client by the text of its address, a zone such as `%eth0` left out. @throws Error if it is no address */
export function clientAt(address: string): Client {
  const octets = addressOctets(address.replace(/%.*$/, ""));
  return { octets, at: 0, length: octets.length };
}

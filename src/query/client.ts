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
  const octets = address.includes(":") ? addressOctets(address.replace(/%.*$/, "")) : ipv4Octets(address);
  return { octets, at: 0, length: octets.length };
}

/** The octets of what `node:dgram` gives as an IPv4 address; a fraction of a microsecond, since it is done per packet. */
function ipv4Octets(address: string): Uint8Array {
  const octets = new Uint8Array(4);
  let part = 0;
  let value = 0;
  for (let i = 0; i < address.length; i += 1) {
    const code = address.charCodeAt(i);
    if (code === 0x2e) {
      octets[part] = value;
      part += 1;
      value = 0;
    } else if (code >= 0x30 && code <= 0x39) {
      value = value * 10 + code - 0x30;
    } else {
      throw new Error(`not an address: ${address}`);
    }
  }
  if (part !== 3 || value > 255) throw new Error(`not an address: ${address}`);
  octets[3] = value;
  return octets;
}

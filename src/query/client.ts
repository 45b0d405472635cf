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
  const client: Client = { octets: new Uint8Array(address.includes(":") ? 16 : 4), at: 0, length: 0 };
  setClient(client, address);
  return client;
}

/** Points a client with room for 16 octets to another address. Allocates nothing. @throws Error if it is no address */
export function setClient(client: Client, address: string): void {
  const isV6 = address.includes(":");
  client.at = 0;
  client.length = isV6 ? 16 : 4;
  if (isV6 ? readIpv6(address, client.octets) : readIpv4(address, client.octets)) return;
  if (!isV6) throw new Error(`not an address: ${address}`);
  // A form that the system does not write, such as an IPv4 address inside an IPv6 one.
  client.octets.set(addressOctets(address.replace(/%.*$/, "")));
}

/** Four numbers of 0 to 255. */
function readIpv4(address: string, octets: Uint8Array): boolean {
  let part = 0;
  let value = 0;
  for (let i = 0; i < address.length; i += 1) {
    const code = address.charCodeAt(i);
    if (code === 0x2e) {
      if (part > 3 || value > 255) return false;
      octets[part] = value;
      part += 1;
      value = 0;
    } else if (code >= 0x30 && code <= 0x39) {
      value = value * 10 + code - 0x30;
    } else {
      return false;
    }
  }
  octets[3] = value;
  return part === 3 && value <= 255 && address !== "";
}

/** Groups of up to four hexadecimal digits, and one `::` at most (RFC 4291 §2.2). */
function readIpv6(address: string, octets: Uint8Array): boolean {
  let at = 0;
  let gapAt = -1;
  let value = 0;
  let digits = 0;
  for (let i = 0; i <= address.length; i += 1) {
    const code = i === address.length ? 0x25 : address.charCodeAt(i);
    const digit = hexDigit(code);
    if (digit >= 0) {
      value = (value << 4) | digit;
      digits += 1;
      if (digits > 4) return false;
      continue;
    }
    if (code !== 0x3a && code !== 0x25) return false;
    if (digits > 0) {
      if (at === 16) return false;
      octets[at] = value >>> 8;
      octets[at + 1] = value;
      at += 2;
    }
    if (code === 0x25) break;
    if (address.charCodeAt(i + 1) === 0x3a) {
      if (gapAt >= 0) return false;
      gapAt = at;
      i += 1;
    }
    value = 0;
    digits = 0;
  }
  if (gapAt < 0) return at === 16;
  if (at === 16) return false;
  octets.copyWithin(16 - (at - gapAt), gapAt, at);
  octets.fill(0, gapAt, 16 - (at - gapAt));
  return true;
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

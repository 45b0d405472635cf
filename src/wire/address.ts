import ipaddr from "ipaddr.js";

/**
 * The octets of an IPv4 (4) or IPv6 (16) address: the rdata of A and AAAA (RFC 1035 §3.4.1, RFC 3596 §2.2).
 *
 * @param text a literal that has been validated
 * @throws Error if it is none
 */
export function addressOctets(text: string): Uint8Array {
  return Uint8Array.from(ipaddr.parse(text).toByteArray());
}

/** The canonical text of 4 or 16 octets (RFC 5952). @throws Error for another length */
export function addressText(octets: Uint8Array): string {
  const address = ipaddr.fromByteArray([...octets]);
  return address.kind() === "ipv6" ? (address as ipaddr.IPv6).toRFC5952String() : address.toString();
}

import type { RRset } from "./zone.js";

/** The records of one name by type. */
export type RRsets = ReadonlyMap<number, RRset>;

/** Whether a name has the same records, in the same order. */
export function sameRRsets(some: RRsets, others: RRsets | undefined): boolean {
  if (others === undefined || some.size !== others.size) return false;
  for (const [type, rrset] of some) {
    const other = others.get(type);
    if (other === undefined || !sameRRset(rrset, other)) return false;
  }
  return true;
}

/** Whether two RRsets have the same TTL and the same records, in the same order. */
export function sameRRset(some: RRset, other: RRset): boolean {
  if (some === other) return true;
  if (some.ttl !== other.ttl || some.atMost !== other.atMost || some.rdatas.length !== other.rdatas.length)
    return false;
  return some.rdatas.every((rdata, index) => sameOctets(rdata, other.rdatas[index]));
}

function sameOctets(some: Uint8Array, others: Uint8Array | undefined): boolean {
  if (some === others) return true;
  return some.length === others?.length && some.every((octet, i) => octet === others[i]);
}

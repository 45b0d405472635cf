import { createHash } from "node:crypto";
import { rdataKey } from "../wire/rdata.js";
import type { RRsets } from "../zone/rrsets.js";
import type { ZoneSource } from "./journal.js";

/** What was made of the records of one name. They are the same object as long as they are the same records. */
const known = new WeakMap<RRsets, bigint>();

const MODULUS = 2n ** 64n;

/**
 * A digest of what a zone holds, without its serial: the same on servers that hold the same records, whatever their order.
 * 16 hexadecimal digits. It is for servers that trust each other: who wants two zones with one digest can make them.
 */
export function contentDigest(source: Pick<ZoneSource, "owners" | "rrsets">): string {
  let sum = 0n;
  for (const name of source.owners()) {
    const rrsets = source.rrsets(name);
    let own = known.get(rrsets);
    if (own === undefined) {
      own = digestOf(rrsets);
      known.set(rrsets, own);
    }
    sum = (sum + own) % MODULUS;
  }
  return sum.toString(16).padStart(16, "0");
}

function digestOf(rrsets: RRsets): bigint {
  let sum = 0n;
  for (const { name, type, ttl, rdatas } of rrsets.values()) {
    const records = rdatas.map((rdata) => rdataKey(type, rdata)).sort();
    const text = JSON.stringify([name, type, ttl, records]);
    sum += createHash("sha256").update(text, "utf8").digest().readBigUInt64BE(0);
  }
  return sum % MODULUS;
}

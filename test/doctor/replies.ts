import type { Reply, ReplyRecord } from "../../src/client/reply.js";
import type { Heard } from "../../src/doctor/facts.js";

/** Nothing came back. */
export const silence: Heard = { silence: "no answer from 192.0.2.1:53 within 1500 ms" };

/** A reply of a resolver without records, with changes. */
export function heardReply(change: Partial<Reply> = {}): Heard {
  const reply: Reply = {
    id: 0,
    rcode: "NOERROR",
    aa: false,
    tc: false,
    ra: true,
    answers: [],
    authorities: [],
    additionals: [],
    edns: { udpOctets: 1232, version: 0, options: [] },
    ...change,
  };
  return { reply };
}

/** An A or AAAA record. */
export function addressRecord(name: string, address: string, ttl = 5): ReplyRecord {
  return { name, type: address.includes(":") ? "AAAA" : "A", ttl, data: address, address };
}

import type { ReplyPlace } from "../answers/encode.js";
import { EDNS_OPTION, MAX_UDP_REPLY_OCTETS, TYPE } from "../wire/constants.js";
import { COOKIE_OCTETS, isCookieLength } from "./cookies.js";
import { TRANSPORT } from "./counters.js";
import type { Query } from "./decode.js";
import type { QueryPolicy } from "./policy.js";

/** Octets of an OPT record without options (RFC 6891 §6.1.2). */
const OPT_OCTETS = 11;

/** An option's code and length. */
const OPTION_HEAD_OCTETS = 4;

/** Octets of an extended error without text (RFC 8914 §2). */
export const ERROR_OPTION_OCTETS = OPTION_HEAD_OCTETS + 2;

/** Octets of the data of a TCP keepalive option (RFC 7828 §3.1). */
const KEEPALIVE_OCTETS = 2;

/** Octets of an OPT record with all options there are is at most 183: the identity has 128. Whole words. */
const MAX_OPT_OCTETS = 256;

/**
 * The OPT record of one reply: first what is to be in it, so that its size is known while the answer is fitted in, then
 * its octets. One per thread, used anew for each query.
 */
export class ReplyOpt {
  /** Octets the record will take, once {@link prepare} has run. */
  size = OPT_OCTETS;
  /** Whether the client has proved its address with a cookie (RFC 7873 §5.2.5). */
  isProven = false;

  /** The record as it will stand in the reply. */
  private readonly record = new Uint8Array(MAX_OPT_OCTETS);

  constructor() {
    this.record.set([0, 0, TYPE.OPT, MAX_UDP_REPLY_OCTETS >>> 8, MAX_UDP_REPLY_OCTETS & 0xff]);
  }

  /** Begins the record of a reply to a query with EDNS, and adds what answers the query's options. */
  prepare(query: Query, policy: QueryPolicy | undefined): void {
    this.clear();
    this.isProven = false;
    // Of the flags DO as it came (RFC 3225 §3).
    this.record[7] = query.dnssecOk ? 0x80 : 0;
    if (policy === undefined) return;
    const { cookies, identity } = policy;
    const { message, cookieAt, cookieLength } = query;
    if (cookies !== undefined && isCookieLength(cookieLength)) {
      const dataAt = this.addOption(EDNS_OPTION.COOKIE, COOKIE_OCTETS);
      const standing = cookies.exchange(message, cookieAt, cookieLength, query.client, this.record, dataAt);
      this.isProven = standing === "proven";
    }
    if (query.wantsNsid && identity !== undefined) {
      this.record.set(identity, this.addOption(EDNS_OPTION.NSID, identity.length));
    }
    // Over UDP the option is ignored (RFC 7828 §3.2.2).
    if (query.wantsKeepalive && query.transport === TRANSPORT.tcp) {
      const tenths = Math.min(0xffff, Math.round(policy.tcpIdleMs / 100));
      this.setU16(this.addOption(EDNS_OPTION.KEEPALIVE, KEEPALIVE_OCTETS), tenths);
    }
  }

  /** Leaves all options out. */
  clear(): void {
    this.size = OPT_OCTETS;
  }

  /** Adds an extended error (RFC 8914). */
  addError(code: number): void {
    this.setU16(this.addOption(EDNS_OPTION.ERROR, ERROR_OPTION_OCTETS - OPTION_HEAD_OCTETS), code);
  }

  /**
   * Writes the record behind a reply that ends at `end`, and counts it in the header.
   *
   * @param end offset from the reply's beginning
   * @param rcode its upper bits stand in the record (RFC 6891 §6.1.3)
   * @returns the new end
   */
  append(reply: ReplyPlace, end: number, rcode: number): number {
    const { octets, at } = reply;
    this.record[5] = rcode >>> 4;
    this.setU16(OPT_OCTETS - 2, this.size - OPT_OCTETS);
    // Octet by octet: a processor waits when it reads a word that has just been written by octets.
    const { record, size } = this;
    const to = at + end;
    for (let i = 0; i < size; i += 1) octets[to + i] = record[i] as number;
    const additional = (((octets[at + 10] as number) << 8) | (octets[at + 11] as number)) + 1;
    octets[at + 10] = additional >>> 8;
    octets[at + 11] = additional;
    return end + size;
  }

  /** Writes an option's code and length. @returns where its data are to stand in `record` */
  private addOption(code: number, length: number): number {
    const at = this.size;
    this.setU16(at, code);
    this.setU16(at + 2, length);
    this.size = at + OPTION_HEAD_OCTETS + length;
    return at + OPTION_HEAD_OCTETS;
  }

  private setU16(at: number, value: number): void {
    this.record[at] = value >>> 8;
    this.record[at + 1] = value;
  }
}

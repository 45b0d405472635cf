import type { ReplyPlace } from "../answers/encode.js";
import { EDNS_OPTION, MAX_UDP_REPLY_OCTETS, OPT_OCTETS, TYPE } from "../wire/constants.js";
import { copyOctets, wordsOf } from "../wire/words.js";
import { COOKIE_OCTETS, isCookieLength } from "./cookies.js";
import { TRANSPORT } from "./counters.js";
import type { Query } from "./decode.js";
import type { QueryPolicy } from "./policy.js";

/** An option's code and length. */
const OPTION_HEAD_OCTETS = 4;

/** Octets of an extended error without text (RFC 8914 §2). */
export const ERROR_OPTION_OCTETS = OPTION_HEAD_OCTETS + 2;

/** Octets of the data of a TCP keepalive option (RFC 7828 §3.1). */
const KEEPALIVE_OCTETS = 2;

/** Octets of an OPT record with all options there are is at most 183: the identity has 128. Whole words. */
const MAX_OPT_OCTETS = 256;

/** Where the record stands: behind one octet, so that the data of its first option begin at a whole word. */
const RECORD_AT = 1;

/**
 * The OPT record of one reply: first what is to be in it, so that its size is known while the answer is fitted in, then
 * its octets. One per thread, used anew for each query. It is written and copied by words: a processor waits where it
 * reads a word that has just been written by octets.
 */
export class ReplyOpt {
  /** Octets the record will take, once {@link prepare} has run. */
  size = OPT_OCTETS;
  /** Whether the client has proved its address with a cookie (RFC 7873 §5.2.5). */
  isProven = false;

  private readonly octets = new Uint8Array(MAX_OPT_OCTETS);
  private readonly words = wordsOf(this.octets);
  private readonly view = new DataView(this.octets.buffer);
  private dnssecOk = false;

  /** Begins the record of a reply to a query with EDNS, and adds what answers the query's options. */
  prepare(query: Query, policy: QueryPolicy | undefined): void {
    this.clear();
    this.isProven = false;
    this.dnssecOk = query.dnssecOk;
    if (policy === undefined) return;
    const { cookies, identity } = policy;
    const { message, cookieAt, cookieLength } = query;
    if (cookies !== undefined && isCookieLength(cookieLength)) {
      const dataAt = this.addOption(EDNS_OPTION.COOKIE, COOKIE_OCTETS);
      const standing = cookies.exchange(message, cookieAt, cookieLength, query.client, this.view, dataAt);
      this.isProven = standing === "proven";
    }
    if (query.wantsNsid && identity !== undefined) {
      this.octets.set(identity, this.addOption(EDNS_OPTION.NSID, identity.length));
    }
    // Over UDP the option is ignored (RFC 7828 §3.2.2).
    if (query.wantsKeepalive && query.transport === TRANSPORT.tcp) {
      const tenths = Math.min(0xffff, Math.round(policy.tcpIdleMs / 100));
      this.view.setUint16(this.addOption(EDNS_OPTION.KEEPALIVE, KEEPALIVE_OCTETS), tenths);
    }
  }

  /** Leaves all options out. */
  clear(): void {
    this.size = OPT_OCTETS;
  }

  /** Adds an extended error (RFC 8914). */
  addError(code: number): void {
    this.view.setUint16(this.addOption(EDNS_OPTION.ERROR, ERROR_OPTION_OCTETS - OPTION_HEAD_OCTETS), code);
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
    const { view, size } = this;
    // The root, the type, the size that we take; upper bits of the code, version 0; of the flags DO as it came (RFC 3225
    // §3); octets of the options. In front of all that the last octet of the reply, which is copied to where it stands.
    view.setInt32(0, ((octets[at + end - 1] as number) << 24) | TYPE.OPT);
    view.setInt32(4, (MAX_UDP_REPLY_OCTETS << 16) | ((rcode >>> 4) << 8));
    view.setInt32(8, (this.dnssecOk ? 0x8000_0000 : 0) | (size - OPT_OCTETS));
    copyOctets(this.octets, this.words, 0, octets, reply.words, at + end - RECORD_AT, size + RECORD_AT);
    const additional = (((octets[at + 10] as number) << 8) | (octets[at + 11] as number)) + 1;
    octets[at + 10] = additional >>> 8;
    octets[at + 11] = additional;
    return end + size;
  }

  /** Writes an option's code and length. @returns where its data are to stand in `octets` */
  private addOption(code: number, length: number): number {
    const at = RECORD_AT + this.size;
    this.view.setInt32(at, (code << 16) | length);
    this.size += OPTION_HEAD_OCTETS + length;
    return at + OPTION_HEAD_OCTETS;
  }
}

import { EDNS_OPTION, MAX_UDP_REPLY_OCTETS, TYPE } from "../wire/constants.js";
import type { Client } from "./client.js";
import { COOKIE_OCTETS, isCookieLength } from "./cookies.js";
import type { TransportName } from "./counters.js";
import type { QueryEdns } from "./parse.js";
import type { QueryPolicy } from "./policy.js";

/** Octets of an OPT record without options (RFC 6891 §6.1.2). */
export const OPT_OCTETS = 11;

/** An option's code and length. */
export const OPTION_HEAD_OCTETS = 4;

/** Octets of an extended error without text (RFC 8914 §2). */
export const ERROR_OPTION_OCTETS = OPTION_HEAD_OCTETS + 2;

/** Longest identity or version text, so that a reply of 512 octets always has room for it. */
export const MAX_TEXT_OCTETS = 128;

/**
 * The OPT record of one reply: first what is to be in it, so that its size is known while the answer is fitted in, then
 * its octets. One per thread, used anew for each query.
 */
export interface ReplyOpt {
  /** Octets the record will take, once {@link prepare} has run. */
  size: number;
  /** Whether the client has proved its address with a cookie (RFC 7873 §5.2.5). */
  isProven: boolean;
  /** Chooses the options; all of them are answers to options of the query. */
  prepare(
    request: Uint8Array,
    edns: QueryEdns,
    transport: TransportName,
    client: Client,
    policy: QueryPolicy | undefined,
  ): void;
  /** Leaves all options out. */
  clear(): void;
  /** Adds an extended error (RFC 8914). */
  addError(code: number): void;
  /** Writes the record behind a reply that ends at `at`, and counts it in the header. @returns the new end */
  append(reply: Uint8Array, at: number, edns: QueryEdns, rcode: number): number;
}

export function createReplyOpt(): ReplyOpt {
  const options = new Uint8Array(512);
  const cookie = new Uint8Array(COOKIE_OCTETS);
  let used = 0;
  const add = (code: number, data: Uint8Array): void => {
    options[used] = code >>> 8;
    options[used + 1] = code;
    options[used + 2] = data.length >>> 8;
    options[used + 3] = data.length;
    options.set(data, used + OPTION_HEAD_OCTETS);
    used += OPTION_HEAD_OCTETS + data.length;
    opt.size += OPTION_HEAD_OCTETS + data.length;
  };
  const opt: ReplyOpt = {
    size: OPT_OCTETS,
    isProven: false,
    prepare(request, edns, transport, client, policy) {
      opt.clear();
      opt.isProven = false;
      if (policy === undefined) return;
      if (policy.cookies !== undefined && isCookieLength(edns.cookieLength)) {
        opt.isProven =
          policy.cookies.exchange(request, edns.cookieAt, edns.cookieLength, client, cookie, 0) === "proven";
        add(EDNS_OPTION.COOKIE, cookie);
      }
      if (edns.wantsNsid && policy.identity !== undefined) add(EDNS_OPTION.NSID, policy.identity);
      // Over UDP the option is ignored (RFC 7828 §3.2.2).
      if (edns.wantsKeepalive && transport === "tcp") add(EDNS_OPTION.KEEPALIVE, tenthsOfSeconds(policy.tcpIdleMs));
    },
    clear() {
      used = 0;
      opt.size = OPT_OCTETS;
    },
    addError(code) {
      add(EDNS_OPTION.ERROR, Uint8Array.of(code >>> 8, code));
    },
    append(reply, at, edns, rcode) {
      reply[at] = 0;
      reply[at + 1] = TYPE.OPT >>> 8;
      reply[at + 2] = TYPE.OPT;
      reply[at + 3] = MAX_UDP_REPLY_OCTETS >>> 8;
      reply[at + 4] = MAX_UDP_REPLY_OCTETS & 0xff;
      // The upper bits of the response code, version 0, and of the flags DO as it came (RFC 3225 §3).
      reply[at + 5] = rcode >>> 4;
      reply[at + 6] = 0;
      reply[at + 7] = edns.dnssecOk ? 0x80 : 0;
      reply[at + 8] = 0;
      reply[at + 9] = used >>> 8;
      reply[at + 10] = used;
      for (let i = 0; i < used; i += 1) reply[at + OPT_OCTETS + i] = options[i] as number;
      const additional = (((reply[10] as number) << 8) | (reply[11] as number)) + 1;
      reply[10] = additional >>> 8;
      reply[11] = additional;
      return at + OPT_OCTETS + used;
    },
  };
  return opt;
}

/** A timeout in the units of RFC 7828 §3.1. */
function tenthsOfSeconds(ms: number): Uint8Array {
  const tenths = Math.min(0xffff, Math.round(ms / 100));
  return Uint8Array.of(tenths >>> 8, tenths);
}

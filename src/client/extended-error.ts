import type { Reply } from "./reply.js";

/** Option code of extended errors (RFC 8914 §2). */
const EXTENDED_ERROR = 15;

/** An extended error of a reply (RFC 8914). */
export interface ExtendedError {
  /** INFO-CODE, 0 to 65 535. */
  readonly code: number;
  /** Its registered name; absent if we know none. */
  readonly name?: string;
  /** EXTRA-TEXT as the server wrote it; empty if it wrote none. */
  readonly text: string;
}

/** Names of the codes, in their order from 0 (RFC 8914 §4, and what IANA has registered since). */
const NAMES = [
  "Other Error",
  "Unsupported DNSKEY Algorithm",
  "Unsupported DS Digest Type",
  "Stale Answer",
  "Forged Answer",
  "DNSSEC Indeterminate",
  "DNSSEC Bogus",
  "Signature Expired",
  "Signature Not Yet Valid",
  "DNSKEY Missing",
  "RRSIGs Missing",
  "No Zone Key Bit Set",
  "NSEC Missing",
  "Cached Error",
  "Not Ready",
  "Blocked",
  "Censored",
  "Filtered",
  "Prohibited",
  "Stale NXDOMAIN Answer",
  "Not Authoritative",
  "Not Supported",
  "No Reachable Authority",
  "Network Error",
  "Invalid Data",
  "Signature Expired before Valid",
  "Too Early",
  "Unsupported NSEC3 Iterations Value",
] as const;

/** The extended errors of a reply, in its order; an option that is too short is left out. */
export function extendedErrors({ edns }: Pick<Reply, "edns">): ExtendedError[] {
  return (edns?.options ?? []).flatMap(({ code: option, data }) => {
    if (option !== EXTENDED_ERROR || data.length < 2) return [];
    const code = ((data[0] ?? 0) << 8) + (data[1] ?? 0);
    const name = NAMES[code];
    // RFC 8914 §2: UTF-8, perhaps with a final NUL.
    const text = new TextDecoder().decode(data.subarray(2)).replace(/\0$/, "");
    return [{ code, ...(name === undefined ? {} : { name }), text }];
  });
}

/** `extended error 9, DNSKEY Missing: "no key for …"`. */
export function formatExtendedError({ code, name, text }: ExtendedError): string {
  return `extended error ${code}${name === undefined ? "" : `, ${name}`}${text === "" ? "" : `: "${text}"`}`;
}

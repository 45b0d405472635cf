/** Record types livezone knows by name (RFC 1035 §3.2.2 and the RFC beside each). */
export const TYPE = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  /** RFC 3596 */
  AAAA: 28,
  /** RFC 2782 */
  SRV: 33,
  /** RFC 6891; never a record of a zone */
  OPT: 41,
  /** RFC 4034 */
  DS: 43,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  /** RFC 5155 */
  NSEC3: 50,
  NSEC3PARAM: 51,
  /** RFC 2930; a meta type */
  TKEY: 249,
  /** RFC 8945; a meta type */
  TSIG: 250,
  /** RFC 1995; a query type */
  IXFR: 251,
  /** RFC 5936; a query type */
  AXFR: 252,
  /** RFC 1035 §3.2.3; query types for mailboxes, obsolete */
  MAILB: 253,
  MAILA: 254,
  /** RFC 8482; the query type that names every type */
  ANY: 255,
  /** RFC 8659 */
  CAA: 257,
} as const;

/** Classes (RFC 1035 §3.2.4, RFC 2136 §1.3). */
export const CLASS = { IN: 1, CH: 3, HS: 4, NONE: 254, ANY: 255 } as const;

/** Response codes (RFC 1035 §4.1.1, RFC 6891 §9). */
export const RCODE = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  NOTAUTH: 9,
  /** Extended: the low four bits stand in the header, the rest in OPT (RFC 6891 §6.1.3). */
  BADVERS: 16,
  /** RFC 7873 §5.2.3 */
  BADCOOKIE: 23,
} as const;

/** Kinds of query (RFC 1035 §4.1.1, RFC 1996, RFC 2136). */
export const OPCODE = { QUERY: 0, IQUERY: 1, STATUS: 2, NOTIFY: 4, UPDATE: 5 } as const;

/** Bits of the header's second 16-bit word (RFC 1035 §4.1.1; AD and CD: RFC 4035 §3). */
export const FLAG = {
  QR: 0x8000,
  AA: 0x0400,
  TC: 0x0200,
  RD: 0x0100,
  RA: 0x0080,
  AD: 0x0020,
  CD: 0x0010,
} as const;

/** EDNS options we send or read (RFC 6891 §9). */
export const EDNS_OPTION = {
  /** RFC 5001 */
  NSID: 3,
  /** RFC 7873 */
  COOKIE: 10,
  /** RFC 7828 */
  KEEPALIVE: 11,
  /** RFC 8914 */
  ERROR: 15,
} as const;

/** Codes of extended errors we send (RFC 8914 §4). */
export const EXTENDED_ERROR = { STALE_ANSWER: 3, PROHIBITED: 18, NOT_AUTHORITATIVE: 20, NOT_SUPPORTED: 21 } as const;

/** The port of DNS servers, where resolvers find those of a delegated zone (RFC 1035 §4.2). */
export const DNS_PORT = 53;

/** Octets of a message header (RFC 1035 §4.1.1). */
export const HEADER_OCTETS = 12;

/** Octets of a record behind its owner: type, class, TTL, length (RFC 1035 §4.1.3). */
export const RECORD_FIXED_OCTETS = 10;

/** Octets of an OPT record without options: the root as its owner, and the fixed part (RFC 6891 §6.1.2). */
export const OPT_OCTETS = 1 + RECORD_FIXED_OCTETS;

/** Largest domain name in wire form, root label included (RFC 1035 §2.3.4). */
export const MAX_NAME_OCTETS = 255;

/** Largest label (RFC 1035 §2.3.4). */
export const MAX_LABEL_OCTETS = 63;

/** Largest UDP message without EDNS (RFC 1035 §4.2.1). */
export const PLAIN_UDP_OCTETS = 512;

/**
 * Largest UDP reply, in octets, whatever the client offers:
 * 1280 (IPv6 minimum MTU, RFC 8200 §5) - 40 (IPv6 header) - 8 (UDP header).
 */
export const MAX_UDP_REPLY_OCTETS = 1280 - 40 - 8;

/** Largest message over TCP: its length prefix has 16 bits (RFC 1035 §4.2.2). */
export const MAX_TCP_MESSAGE_OCTETS = 65_535;

const TYPE_NAMES = new Map<number, string>(Object.entries(TYPE).map(([name, number]) => [number, name]));

/** `A`, `AAAA`, …, or `TYPE65280` for a type without a name here (RFC 3597 §5). */
export function typeText(type: number): string {
  return TYPE_NAMES.get(type) ?? `TYPE${type}`;
}

/** The number of a type's name in any letter case, or of `TYPEnnn` (0 to 65 535); undefined if it is neither. */
export function typeNumber(text: string): number | undefined {
  const upper = text.toUpperCase();
  if (Object.hasOwn(TYPE, upper)) return TYPE[upper as keyof typeof TYPE];
  const digits = /^TYPE(\d{1,5})$/.exec(upper)?.[1];
  if (digits === undefined) return undefined;
  const number = Number(digits);
  return number <= 0xffff ? number : undefined;
}

const RCODE_NAMES = new Map<number, string>(Object.entries(RCODE).map(([name, number]) => [number, name]));

/** `NOERROR`, `NXDOMAIN`, …, or `RCODE13` for one without a name here. */
export function rcodeText(rcode: number): string {
  return RCODE_NAMES.get(rcode) ?? `RCODE${rcode}`;
}

import { createHash } from "node:crypto";

/** A zone's key as resolvers are told of it. */
export interface TrustAnchor {
  /** `257 3 13 <base64>`: the key that signs keys (RFC 4034 §2.2). */
  readonly dnskey: string;
  /** `<tag> 13 2 <hex>`: its digest (RFC 4034 §5.1.4; type 2 is SHA-256, RFC 4509). */
  readonly ds: string;
}

/**
 * The trust anchor of a zone.
 *
 * @param rdata of its DNSKEY record
 * @param zone without the trailing dot; empty for the root
 */
export function trustAnchor(rdata: Buffer, zone: string): TrustAnchor {
  const labels = zone.split(".").filter((label) => label !== "");
  const owner = [
    ...labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
    Buffer.alloc(1),
  ];
  const digest = createHash("sha256")
    .update(Buffer.concat([...owner, rdata]))
    .digest("hex");
  // RFC 4034, appendix B.
  const sum = rdata.reduce((total, octet, i) => total + (i % 2 === 0 ? octet << 8 : octet), 0);
  const tag = (sum + (sum >>> 16)) & 0xffff;
  return {
    dnskey: `${rdata.readUInt16BE(0)} ${rdata[2]} ${rdata[3]} ${rdata.subarray(4).toString("base64")}`,
    ds: `${tag} ${rdata[3]} 2 ${digest}`,
  };
}

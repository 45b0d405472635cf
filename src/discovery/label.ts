import { createHash } from "node:crypto";

/** Longest DNS label, octets (RFC 1035 §2.3.4). */
const MAX_LABEL = 63;

/** Hexadecimal digits that tell two ids apart which would have the same label. */
const MARK_DIGITS = 6;

/**
 * The DNS label of an id: lower case, with `-` for whatever a host name cannot have (RFC 1123 §2.1). Empty if nothing is left.
 */
export function labelOf(id: string): string {
  const plain = id
    .slice(0, 1_024)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return plain.length <= MAX_LABEL ? plain : markedLabel(plain, id);
}

/** The label of an id whose plain label another has: with a mark that depends on the id alone. */
export function markedLabel(label: string, id: string): string {
  const mark = createHash("sha256").update(id).digest("hex").slice(0, MARK_DIGITS);
  return `${label.slice(0, MAX_LABEL - MARK_DIGITS - 1).replace(/-+$/, "")}-${mark}`;
}

/** The id of an address that has no name: `ip-192-0-2-11`. */
export function idOfAddress(address: string): string {
  return `ip-${address.replace(/[^a-z0-9]/gi, "-")}`;
}

import { createHash } from "node:crypto";
import type { ZoneConfig } from "../config/config.js";

/** What may differ from server to server although the zone is the same: where things stand in files, and files' paths. */
const OWN = new Set(["position", "ca", "bearerTokenFile", "clientCertificate", "to", "allow", "versions"]);

/** A digest of what a zone's configuration means, for siblings to compare: 16 hexadecimal digits. */
export function zoneDigest(zone: ZoneConfig): string {
  const text = JSON.stringify(zone, (key, value: unknown) => (OWN.has(key) ? undefined : value));
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

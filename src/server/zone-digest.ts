import { createHash } from "node:crypto";
import type { ZoneConfig } from "../config/config.js";

/**
 * What differs from server to server although the zone is the same: where things stand in files, paths of files, who transfers
 * the zone, and the serials of one primary among several, which must differ.
 */
const OWN = new Set([
  "position",
  "ca",
  "bearerTokenFile",
  "clientCertificate",
  "to",
  "allow",
  "versions",
  "serialModulo",
  "kubeconfig",
]);

/** What a source of targets in a file is called by, and that file. `path` is otherwise what a probe asks for over HTTP. */
const OWN_OF_FILE = new Set(["path", "name"]);

function isOwn(holder: unknown, key: string): boolean {
  const isFile = typeof holder === "object" && holder !== null && "type" in holder && holder.type === "file";
  return OWN.has(key) || (isFile && OWN_OF_FILE.has(key));
}

/** A digest of what a zone's configuration means, for siblings to compare: 16 hexadecimal digits. */
export function zoneDigest(zone: ZoneConfig): string {
  const text = JSON.stringify(zone, function (this: unknown, key, value: unknown) {
    return isOwn(this, key) ? undefined : value;
  });
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

import { readRegularFile } from "../lib/regular-file.js";

/** Two lines of 64 digits and some comment. */
const MAX_FILE_OCTETS = 4_096;

/** One in use and one that is on its way in or out. */
const MAX_SECRETS = 2;

/**
 * Reads the secrets that siblings share: one or two lines of 64 hexadecimal digits. A server accepts both and begins with
 * the first.
 *
 * @returns 32 octets each, or why the file cannot be used; what it holds is in no message
 */
export function readSiblingSecrets(
  file: string,
): { readonly secrets: readonly Uint8Array[] } | { readonly why: string } {
  const read = readRegularFile(file, MAX_FILE_OCTETS);
  if ("why" in read) return read;
  const lines = read.content
    .toString("latin1")
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "");
  if (lines.length === 0) return { why: "it holds no secret" };
  if (lines.length > MAX_SECRETS) return { why: `it holds ${lines.length} secrets, more than ${MAX_SECRETS}` };
  const wrong = lines.findIndex((line) => !/^[0-9a-f]{64}$/i.test(line));
  if (wrong >= 0) return { why: `its secret ${wrong + 1} is not 64 hexadecimal digits` };
  return { secrets: lines.map((line) => Uint8Array.from(Buffer.from(line, "hex"))) };
}

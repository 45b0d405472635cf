import { readRegularFile } from "../lib/regular-file.js";

/** Two lines of digits and some comment. */
const MAX_FILE_OCTETS = 4_096;

/** One in use and one that is on its way in or out (RFC 9018 §5). */
const MAX_SECRETS = 2;

/** Least number of different octets in a secret of 32. Of random ones, fewer than one in 10^27 have less. */
const MIN_DIFFERENT = 8;

/** The secrets of a file, or why it cannot be used; what it holds is in no message. */
export type Secrets = { readonly secrets: readonly Uint8Array[] } | { readonly why: string };

/**
 * Reads the secrets of DNS cookies, of 16 octets: one or two lines of 32 hexadecimal digits, the one in use first. NSD and
 * BIND read the same form, so that siblings of all kinds can share the file.
 */
export function readCookieSecrets(file: string): Secrets {
  return readSecrets(file, 32);
}

/**
 * Reads the secrets that siblings share, of 32 octets: one or two lines of 64 hexadecimal digits. A server accepts both and
 * begins with the first.
 */
export function readSiblingSecrets(file: string): Secrets {
  const read = readSecrets(file, 64);
  if ("why" in read) return read;
  const weak = read.secrets.findIndex((secret) => new Set(secret).size < MIN_DIFFERENT);
  return weak < 0 ? read : { why: `its secret ${weak + 1} repeats a few octets, so that it can be guessed` };
}

function readSecrets(file: string, digits: number): Secrets {
  const read = readRegularFile(file, MAX_FILE_OCTETS);
  if ("why" in read) return read;
  const lines = read.content
    .toString("latin1")
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "");
  if (lines.length === 0) return { why: "it holds no secret" };
  if (lines.length > MAX_SECRETS) return { why: `it holds ${lines.length} secrets, more than ${MAX_SECRETS}` };
  const wrong = lines.findIndex((line) => line.length !== digits || !/^[0-9a-f]+$/i.test(line));
  if (wrong >= 0) return { why: `its secret ${wrong + 1} is not ${digits} hexadecimal digits` };
  return { secrets: lines.map((line) => Uint8Array.from(Buffer.from(line, "hex"))) };
}

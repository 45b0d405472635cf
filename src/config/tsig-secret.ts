import { readRegularFile } from "../lib/regular-file.js";

/** A key clause of BIND with some comment. */
const MAX_FILE_OCTETS = 4_096;

/** Shortest secret, in octets: 128 bits; RFC 8945 §8 advises as many as the hash has. */
const LEAST_SECRET_OCTETS = 16;

/** What a key file says of the key beside its secret; each absent if it does not. */
export interface TsigClause {
  /** Lower case, without the trailing dot. */
  readonly name?: string;
  /** Lower case, such as `hmac-sha256`. */
  readonly algorithm?: string;
}

/**
 * Reads the secret of a TSIG key: one line of base64, or a file with `secret "…";` as `tsig-keygen` writes it, or with
 * `secret: …` as `keymgr -t` does.
 *
 * @returns the secret, or why the file cannot be used; what it holds is in no message
 */
export function readTsigSecret(
  file: string,
): { readonly secret: Uint8Array; readonly clause: TsigClause } | { readonly why: string } {
  const read = readRegularFile(file, MAX_FILE_OCTETS);
  if ("why" in read) return read;
  const lines = read.content
    .toString("latin1")
    .split(/\r?\n/)
    .map((line) => line.replace(/^\s*#.*|\/\/.*$/, "").trim())
    .filter((line) => line !== "");
  const text = lines.join("\n");
  const named = /\bsecret:?\s+"?([A-Za-z0-9+/=]+)"?/.exec(text)?.[1];
  const base64 = named ?? (lines.length === 1 ? text : undefined);
  if (base64 === undefined) return { why: lines.length === 0 ? "it holds no secret" : "it holds more than a secret" };
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return { why: "its secret is not base64" };
  const secret = Uint8Array.from(Buffer.from(base64, "base64"));
  if (secret.length < LEAST_SECRET_OCTETS) {
    return { why: `its secret has ${secret.length} octets, fewer than ${LEAST_SECRET_OCTETS}` };
  }
  return { secret, clause: named === undefined ? {} : clauseIn(text) };
}

function clauseIn(text: string): TsigClause {
  const name = /\bkey\s+"?([^"\s{;]+)"?\s*\{/i.exec(text)?.[1] ?? /\bid:\s+"?([^"\s]+)"?/.exec(text)?.[1];
  const algorithm = /\balgorithm:?\s+"?([A-Za-z0-9-]+)"?/i.exec(text)?.[1];
  return {
    ...(name === undefined ? {} : { name: name.toLowerCase().replace(/\.$/, "") }),
    ...(algorithm === undefined ? {} : { algorithm: algorithm.toLowerCase() }),
  };
}

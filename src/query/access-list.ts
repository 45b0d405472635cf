import type { Client } from "./client.js";

/** A range of addresses (RFC 4632 §3.1, RFC 4291 §2.3). */
export interface Prefix {
  /** 4 or 16 octets; what lies behind `bits` does not count. */
  readonly octets: Uint8Array;
  /** 0 to 32 or 128. */
  readonly bits: number;
}

/** Whether a client's address lies in one of the ranges. */
export function isWithinPrefixes(client: Client, prefixes: readonly Prefix[]): boolean {
  for (const prefix of prefixes) if (isWithinPrefix(client, prefix)) return true;
  return false;
}

function isWithinPrefix(client: Client, { octets, bits }: Prefix): boolean {
  if (client.length !== octets.length) return false;
  const whole = bits >>> 3;
  for (let i = 0; i < whole; i += 1) {
    if (client.octets[client.at + i] !== octets[i]) return false;
  }
  const rest = bits & 7;
  if (rest === 0) return true;
  const mask = 0xff00 >>> rest;
  return ((client.octets[client.at + whole] as number) & mask & 0xff) === ((octets[whole] as number) & mask & 0xff);
}

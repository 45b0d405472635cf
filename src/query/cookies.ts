import { SIPHASH_OCTETS, sipHash24 } from "../wire/siphash.js";
import type { Client } from "./client.js";

/** Octets of a client cookie (RFC 7873 §4). */
export const CLIENT_COOKIE_OCTETS = 8;

/** Octets of a server cookie as we make it: version, reserved, timestamp, hash (RFC 9018 §4). */
const SERVER_COOKIE_OCTETS = 16;

/** Octets of a COOKIE option's data as we send it. */
export const COOKIE_OCTETS = CLIENT_COOKIE_OCTETS + SERVER_COOKIE_OCTETS;

/** A server cookie has 8 to 32 octets, whoever made it (RFC 7873 §4). */
const MIN_SERVER_COOKIE_OCTETS = 8;
const MAX_SERVER_COOKIE_OCTETS = 32;

/** Version 1 (RFC 9018 §4.1). */
const VERSION = 1;

/** Seconds a cookie is good for, and how far a sibling's clock may run ahead (RFC 9018 §4.3). */
const LIFETIME_SECONDS = 3_600;
const AHEAD_SECONDS = 300;

/** Seconds after which a cookie that is still good is replaced (RFC 9018 §4.3). */
const REFRESH_SECONDS = 1_800;

/** What a client's COOKIE option says of it. */
export type CookieStanding =
  /** No server cookie, or one that is not ours or too old: the address may be forged. */
  | "unproven"
  /** A server cookie that we, or a sibling, gave to this address lately. */
  | "proven";

/** Makes and checks server cookies (RFC 7873, in the interoperable form of RFC 9018). */
export interface CookieJar {
  /**
   * Judges the data of a COOKIE option and writes the data of the reply's into `reply`.
   *
   * @param at where the data begin in `request`; `length` octets, which {@link isCookieLength} accepts
   * @param reply room for {@link COOKIE_OCTETS}
   */
  exchange(request: Uint8Array, at: number, length: number, client: Client, reply: Uint8Array): CookieStanding;
}

/** Whether a COOKIE option may have that many octets: a client cookie, with or without a server cookie (RFC 7873 §5.2.2). */
export function isCookieLength(octets: number): boolean {
  if (octets === CLIENT_COOKIE_OCTETS) return true;
  const server = octets - CLIENT_COOKIE_OCTETS;
  return server >= MIN_SERVER_COOKIE_OCTETS && server <= MAX_SERVER_COOKIE_OCTETS;
}

/**
 * @param secrets 16 octets each, at least one: the first makes cookies, all are tried on those that come, so that a new
 *   secret can be put in front of the old one on all siblings, one after the other (RFC 9018 §5)
 * @param wallMs milliseconds since 1970
 */
export function createCookieJar(secrets: readonly Uint8Array[], wallMs: () => number): CookieJar {
  const [current] = secrets;
  if (current === undefined) throw new Error("cookies need a secret");
  const hash = new Uint8Array(SIPHASH_OCTETS);
  // What is hashed: client cookie, version, reserved, timestamp, address (RFC 9018 §4.4).
  const inputs = {
    4: new Uint8Array(CLIENT_COOKIE_OCTETS + 8 + 4),
    16: new Uint8Array(CLIENT_COOKIE_OCTETS + 8 + 16),
  };
  const inputOf = (client: Client): Uint8Array => {
    const input = client.length === 4 ? inputs[4] : inputs[16];
    for (let i = 0; i < client.length; i += 1) input[16 + i] = client.octets[client.at + i] as number;
    return input;
  };

  return {
    exchange(request, at, length, client, reply) {
      const now = Math.floor(wallMs() / 1_000) >>> 0;
      const input = inputOf(client);
      for (let i = 0; i < CLIENT_COOKIE_OCTETS; i += 1) {
        input[i] = request[at + i] as number;
        reply[i] = request[at + i] as number;
      }
      let age: number | undefined;
      if (length === COOKIE_OCTETS && request[at + CLIENT_COOKIE_OCTETS] === VERSION) {
        for (let i = CLIENT_COOKIE_OCTETS; i < 16; i += 1) input[i] = request[at + i] as number;
        // Serial arithmetic (RFC 1982), since the timestamp has 32 bits.
        const seconds = (now - u32(request, at + 12)) | 0;
        const isTimely = seconds >= -AHEAD_SECONDS && seconds <= LIFETIME_SECONDS;
        if (isTimely && secrets.some((secret) => matches(secret, input, hash, request, at + 16))) age = seconds;
      }
      // A good cookie is kept while it is fresh and of the current secret.
      if (age !== undefined && age <= REFRESH_SECONDS && matches(current, input, hash, request, at + 16)) {
        for (let i = CLIENT_COOKIE_OCTETS; i < COOKIE_OCTETS; i += 1) reply[i] = request[at + i] as number;
        return "proven";
      }
      input[8] = VERSION;
      input.fill(0, 9, 12);
      input[12] = now >>> 24;
      input[13] = now >>> 16;
      input[14] = now >>> 8;
      input[15] = now;
      for (let i = CLIENT_COOKIE_OCTETS; i < 16; i += 1) reply[i] = input[i] as number;
      sipHash24(current, input, reply, 16);
      return age === undefined ? "unproven" : "proven";
    },
  };
}

/** Whether the 8 octets at `at` are the hash of `input`; all are compared, whichever differs first. */
function matches(secret: Uint8Array, input: Uint8Array, hash: Uint8Array, request: Uint8Array, at: number): boolean {
  sipHash24(secret, input, hash, 0);
  let difference = 0;
  for (let i = 0; i < SIPHASH_OCTETS; i += 1) difference |= (hash[i] as number) ^ (request[at + i] as number);
  return difference === 0;
}

function u32(octets: Uint8Array, at: number): number {
  return (
    (((octets[at] as number) << 24) |
      ((octets[at + 1] as number) << 16) |
      ((octets[at + 2] as number) << 8) |
      (octets[at + 3] as number)) >>>
    0
  );
}

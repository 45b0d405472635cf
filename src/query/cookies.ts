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

/** Stands for the age of a cookie that is not good. */
const NO_AGE = 0x3fff_ffff;

/** What a client's COOKIE option says of it. */
export type CookieStanding =
  /** No server cookie, or one that is not ours or too old: the address may be forged. */
  | "unproven"
  /** A server cookie that we, or a sibling, gave to this address lately. */
  | "proven";

/** Makes and checks server cookies (RFC 7873, in the interoperable form of RFC 9018). */
export interface ServerCookies {
  /**
   * Judges the data of a COOKIE option and writes the data of the reply's into `reply`.
   *
   * @param at where the data begin in `request`; `length` octets, which {@link isCookieLength} accepts
   * @param reply room for {@link COOKIE_OCTETS} from `replyAt` on
   */
  exchange(
    request: Uint8Array,
    at: number,
    length: number,
    client: Client,
    reply: Uint8Array,
    replyAt: number,
  ): CookieStanding;
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
export function createServerCookies(secrets: readonly Uint8Array[], wallMs: () => number): ServerCookies {
  return new SecretCookies(secrets.map(createHasher), wallMs);
}

class SecretCookies implements ServerCookies {
  private readonly current: Hasher;
  // What is hashed: client cookie, version, reserved, timestamp, address (RFC 9018 §4.4).
  private readonly input4 = createInput(4);
  private readonly input16 = createInput(16);

  constructor(
    private readonly hashers: readonly Hasher[],
    private readonly wallMs: () => number,
  ) {
    const [current] = hashers;
    if (current === undefined) throw new Error("cookies need a secret");
    this.current = current;
  }

  exchange(
    request: Uint8Array,
    at: number,
    length: number,
    client: Client,
    reply: Uint8Array,
    replyAt: number,
  ): CookieStanding {
    const now = Math.floor(this.wallMs() / 1_000) >>> 0;
    const input = client.length === 4 ? this.input4 : this.input16;
    const { octets } = input;
    for (let i = 0; i < client.length; i += 1) octets[16 + i] = client.octets[client.at + i] as number;
    for (let i = 0; i < CLIENT_COOKIE_OCTETS; i += 1) {
      octets[i] = request[at + i] as number;
      reply[replyAt + i] = request[at + i] as number;
    }
    const age = this.ageOf(input, request, at, length, now);
    // A good cookie is kept while it is fresh and of the current secret.
    if (age <= REFRESH_SECONDS && matches(this.current, input, request, at + 16)) {
      for (let i = CLIENT_COOKIE_OCTETS; i < COOKIE_OCTETS; i += 1) reply[replyAt + i] = request[at + i] as number;
      return "proven";
    }
    this.write(input, now, reply, replyAt);
    return age === NO_AGE ? "unproven" : "proven";
  }

  /** Seconds since we, or a sibling, made the server cookie of a COOKIE option; {@link NO_AGE} if it is not good. */
  private ageOf(input: HashInput, request: Uint8Array, at: number, length: number, now: number): number {
    if (length !== COOKIE_OCTETS || request[at + CLIENT_COOKIE_OCTETS] !== VERSION) return NO_AGE;
    for (let i = CLIENT_COOKIE_OCTETS; i < 16; i += 1) input.octets[i] = request[at + i] as number;
    // Serial arithmetic (RFC 1982), since the timestamp has 32 bits.
    const seconds = (now - u32(request, at + 12)) | 0;
    if (seconds < -AHEAD_SECONDS || seconds > LIFETIME_SECONDS) return NO_AGE;
    for (const hasher of this.hashers) if (matches(hasher, input, request, at + 16)) return seconds;
    return NO_AGE;
  }

  /** Writes a server cookie of this moment behind the client cookie of a reply. */
  private write(input: HashInput, now: number, reply: Uint8Array, replyAt: number): void {
    const { octets } = input;
    octets[8] = VERSION;
    octets[9] = 0;
    octets[10] = 0;
    octets[11] = 0;
    octets[12] = now >>> 24;
    octets[13] = now >>> 16;
    octets[14] = now >>> 8;
    octets[15] = now;
    for (let i = CLIENT_COOKIE_OCTETS; i < 16; i += 1) reply[replyAt + i] = octets[i] as number;
    const hashAt = this.current.find(input);
    for (let i = 0; i < SIPHASH_OCTETS; i += 1) reply[replyAt + 16 + i] = this.current.hashes[hashAt + i] as number;
  }
}

/** What is hashed, and the same in words. */
interface HashInput {
  readonly octets: Uint8Array;
  readonly words: Int32Array;
}

function createInput(addressOctets: 4 | 16): HashInput {
  const octets = new Uint8Array(CLIENT_COOKIE_OCTETS + 8 + addressOctets);
  return { octets, words: new Int32Array(octets.buffer) };
}

/** Hashes under one secret; those made lately are looked up. */
interface Hasher {
  /** Holds them one after the other. */
  readonly hashes: Uint8Array;
  /** @returns where the hash of the input stands in `hashes`, until the next call */
  find(input: HashInput): number;
}

/** Hashes that are kept, a power of two: 52 KiB. */
const KEPT = 1 << 10;

/** Words of an input at most, and one for how many there are. */
const KEPT_WORDS = 9;

/**
 * A resolver sends the same cookie for half an hour, and one that has none yet asks several times within the second
 * that its cookie will name. Each hash has one place, so that no number of clients makes more of them.
 */
function createHasher(secret: Uint8Array): Hasher {
  const kept = new Int32Array(KEPT * KEPT_WORDS);
  const hashes = new Uint8Array(KEPT * SIPHASH_OCTETS);
  return {
    hashes,
    find({ octets, words }) {
      let mixed = 0;
      for (let i = 0; i < words.length; i += 1) mixed = Math.imul(mixed ^ (words[i] as number), 0x9e3779b1);
      const place = (mixed >>> 16) & (KEPT - 1);
      const at = place * KEPT_WORDS;
      let isKept = kept[at] === words.length;
      for (let i = 0; i < words.length && isKept; i += 1) isKept = kept[at + 1 + i] === words[i];
      if (!isKept) {
        kept[at] = words.length;
        for (let i = 0; i < words.length; i += 1) kept[at + 1 + i] = words[i] as number;
        sipHash24(secret, octets, hashes, place * SIPHASH_OCTETS);
      }
      return place * SIPHASH_OCTETS;
    },
  };
}

/** Whether the 8 octets at `at` are the hash of the input; all are compared, whichever differs first. */
function matches({ find, hashes }: Hasher, input: HashInput, request: Uint8Array, at: number): boolean {
  const hashAt = find(input);
  let difference = 0;
  for (let i = 0; i < SIPHASH_OCTETS; i += 1) {
    difference |= (hashes[hashAt + i] as number) ^ (request[at + i] as number);
  }
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

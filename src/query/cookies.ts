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
    reply: DataView,
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
  return new SecretCookies(
    secrets.map((secret) => new Hasher(secret)),
    wallMs,
  );
}

/** Words of a server cookie's input in front of the address: client cookie, version and reserved, timestamp (RFC 9018 §4.4). */
const ADDRESS_WORD = 4;

/** Words of an input at most, with an IPv6 address. */
const MAX_INPUT_WORDS = 8;

class SecretCookies implements ServerCookies {
  private readonly current: Hasher;
  private readonly input: HashInput = { words: new Int32Array(MAX_INPUT_WORDS), length: 0 };

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
    reply: DataView,
    replyAt: number,
  ): CookieStanding {
    const now = Math.floor(this.wallMs() / 1_000) >>> 0;
    const { input } = this;
    const { words } = input;
    words[0] = word(request, at);
    words[1] = word(request, at + 4);
    input.length = ADDRESS_WORD + (client.length >>> 2);
    for (let i = ADDRESS_WORD; i < input.length; i += 1) {
      words[i] = word(client.octets, client.at + 4 * (i - ADDRESS_WORD));
    }
    const age = this.ageOf(request, at, length, now);
    // A good cookie is kept while it is fresh and of the current secret.
    if (age > REFRESH_SECONDS || !this.current.isHash(input, word(request, at + 16), word(request, at + 20))) {
      words[2] = VERSION << 24;
      words[3] = now;
    }
    this.write(reply, replyAt);
    return age === NO_AGE ? "unproven" : "proven";
  }

  /** Seconds since we, or a sibling, made the server cookie of a COOKIE option; {@link NO_AGE} if it is not good. */
  private ageOf(request: Uint8Array, at: number, length: number, now: number): number {
    if (length !== COOKIE_OCTETS || request[at + CLIENT_COOKIE_OCTETS] !== VERSION) return NO_AGE;
    const { input, hashers } = this;
    const timestamp = word(request, at + 12);
    input.words[2] = word(request, at + 8);
    input.words[3] = timestamp;
    // Serial arithmetic (RFC 1982), since the timestamp has 32 bits.
    const seconds = (now - timestamp) | 0;
    if (seconds < -AHEAD_SECONDS || seconds > LIFETIME_SECONDS) return NO_AGE;
    const first = word(request, at + 16);
    const second = word(request, at + 20);
    for (const hasher of hashers) if (hasher.isHash(input, first, second)) return seconds;
    return NO_AGE;
  }

  /** Writes the client cookie and the server cookie that the input stands for. */
  private write(reply: DataView, at: number): void {
    const { input, current } = this;
    for (let i = 0; i < ADDRESS_WORD; i += 1) reply.setInt32(at + 4 * i, input.words[i] as number);
    const hashAt = current.find(input);
    reply.setInt32(at + 4 * ADDRESS_WORD, current.hashes[hashAt] as number);
    reply.setInt32(at + 4 * ADDRESS_WORD + 4, current.hashes[hashAt + 1] as number);
  }
}

/** What is hashed, in words of network order. */
interface HashInput {
  readonly words: Int32Array;
  /** Words of it. */
  length: number;
}

/** Hashes that are kept, a power of two: 44 KiB. */
const KEPT = 1 << 10;

/** Words of an input that is kept, and one for how many there are. */
const KEPT_WORDS = MAX_INPUT_WORDS + 1;

/** Words of a hash. */
const HASH_WORDS = SIPHASH_OCTETS / 4;

/**
 * Hashes under one secret; those made lately are looked up. A resolver sends the same cookie for half an hour, and one that
 * has none yet asks several times within the second that its cookie will name. Each hash has one place, so that no number
 * of clients makes more of them.
 */
class Hasher {
  /** Two words each, in network order, one hash after the other. */
  readonly hashes = new Int32Array(KEPT * HASH_WORDS);
  private readonly kept = new Int32Array(KEPT * KEPT_WORDS);
  private readonly room = new DataView(new ArrayBuffer(4 * MAX_INPUT_WORDS));
  private readonly octets4 = new Uint8Array(this.room.buffer, 0, 4 * (ADDRESS_WORD + 1));
  private readonly octets16 = new Uint8Array(this.room.buffer);
  private readonly hash = new DataView(new ArrayBuffer(SIPHASH_OCTETS));
  private readonly hashOctets = new Uint8Array(this.hash.buffer);

  /** @param secret 16 octets */
  constructor(private readonly secret: Uint8Array) {}

  /** @returns where the hash of the input stands in `hashes`, until the next call */
  find(input: HashInput): number {
    const { kept } = this;
    const { words, length } = input;
    let mixed = 0;
    for (let i = 0; i < length; i += 1) mixed = Math.imul(mixed ^ (words[i] as number), 0x9e3779b1);
    const place = (mixed >>> 16) & (KEPT - 1);
    const at = place * KEPT_WORDS;
    let isKept = kept[at] === length;
    for (let i = 0; i < length && isKept; i += 1) isKept = kept[at + 1 + i] === words[i];
    if (!isKept) this.keep(input, place);
    return place * HASH_WORDS;
  }

  /** Whether the two words are the hash of the input; both are compared, whichever differs. */
  isHash(input: HashInput, first: number, second: number): boolean {
    const at = this.find(input);
    const { hashes } = this;
    return (((hashes[at] as number) ^ first) | ((hashes[at + 1] as number) ^ second)) === 0;
  }

  private keep({ words, length }: HashInput, place: number): void {
    const { kept, room, hash, hashes } = this;
    const at = place * KEPT_WORDS;
    kept[at] = length;
    for (let i = 0; i < length; i += 1) {
      kept[at + 1 + i] = words[i] as number;
      room.setInt32(4 * i, words[i] as number);
    }
    sipHash24(this.secret, length === MAX_INPUT_WORDS ? this.octets16 : this.octets4, this.hashOctets, 0);
    hashes[place * HASH_WORDS] = hash.getInt32(0);
    hashes[place * HASH_WORDS + 1] = hash.getInt32(4);
  }
}

/** Four octets as a signed number, in network order. */
function word(octets: Uint8Array, at: number): number {
  return (
    ((octets[at] as number) << 24) |
    ((octets[at + 1] as number) << 16) |
    ((octets[at + 2] as number) << 8) |
    (octets[at + 3] as number)
  );
}

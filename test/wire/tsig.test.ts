import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HEADER_OCTETS } from "../../src/wire/constants.js";
import { lowerName, type Name, parseName } from "../../src/wire/name.js";
import {
  appendUnsigned,
  readTsig,
  type Signing,
  signMessage,
  TSIG_ERROR,
  type TsigKey,
  timeAsOther,
  tsigOctets,
  unsignedTsigOctets,
  verifyTsig,
} from "../../src/wire/tsig.js";
import { encodeQuery } from "../support/dns-message.js";

const SECRET = Uint8Array.from(Buffer.from("c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=", "base64"));
const key = (algorithm: TsigKey["algorithm"], name = "corp.example"): TsigKey => ({
  name: lowerName(parseName(name)),
  algorithm,
  secret: SECRET,
});
const SHA256 = key("hmac-sha256");
const SHA512 = key("hmac-sha512");
const keysOf = (...keys: readonly TsigKey[]): ReadonlyMap<Name, TsigKey> => new Map(keys.map((one) => [one.name, one]));

/** What dig 9.18 sent with this secret: the TSIG record begins behind question and OPT, at octet 57. */
const BY_DIG = {
  sha256: {
    at: 57,
    time: 0x6b10b463,
    hex: "202e01200001000000000002036b3873076578616d706c650474657374000006000100002904d000000000000c000a00085751a54f29926fc704636f7270076578616d706c650000fa00ff00000000003d0b686d61632d7368613235360000006b10b463012c002097814ecc014868dcbeeff1898ae52d8cc10e879b72b78743e30616b8f6723744202e00000000",
  },
  /** The key's name was written Corp.Example. */
  sha512: {
    at: 57,
    time: 0x6b10b464,
    hex: "b03301200001000000000002036b3873076578616d706c650474657374000006000100002904d000000000000c000a000800bd3914ae2aa44004636f7270076578616d706c650000fa00ff00000000005d0b686d61632d7368613531320000006b10b464012c0040c90ed8e0e4e7b77a32c869cc1a8e4a19b5b9a7e5f515b86ccfbe7c7b2fb78a6e10d15fc6b51c9fb15d6a34f76d462e820927dcdda1718872a4d8f6c85d4ecc52b03300000000",
  },
};

const octetsOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

/** A message that ends with a TSIG record, with that record. */
function read(message: Uint8Array, start: number) {
  const record = readTsig(message, start);
  if (record === undefined) throw new Error("no TSIG record");
  return record;
}

/** A signed query. */
function signed(signing: Signing, question = { name: "k8s.example.test", type: "SOA" }) {
  const query = encodeQuery(question);
  const room = new Uint8Array(query.length + 400);
  room.set(query);
  const { length, mac } = signMessage(room, query.length, signing);
  return { message: room.slice(0, length), start: query.length, mac };
}

describe("what dig signed", () => {
  test("is read", () => {
    const { hex, at, time } = BY_DIG.sha256;
    expect(read(octetsOf(hex), at)).toMatchObject({
      start: at,
      keyName: parseName("corp.example"),
      algorithm: parseName("hmac-sha256"),
      timeSigned: time,
      fudge: 300,
      originalId: 0x202e,
      error: 0,
    });
  });

  const { sha256, sha512 } = BY_DIG;
  const CASES = [
    { name: "verifies", vector: sha256, keys: keysOf(SHA256), after: 0, kind: "valid" },
    { name: "verifies, the longer hash", vector: sha512, keys: keysOf(SHA512), after: 0, kind: "valid" },
    { name: "verifies 300 s later", vector: sha256, keys: keysOf(SHA256), after: 300, kind: "valid" },
    { name: "verifies 300 s earlier", vector: sha256, keys: keysOf(SHA256), after: -300, kind: "valid" },
    { name: "is too old 301 s later", vector: sha256, keys: keysOf(SHA256), after: 301, kind: "bad-time" },
    { name: "is too new 301 s earlier", vector: sha256, keys: keysOf(SHA256), after: -301, kind: "bad-time" },
    { name: "names a key that is not there", vector: sha256, keys: keysOf(), after: 0, kind: "unknown-key" },
    {
      name: "names another key",
      vector: sha256,
      keys: keysOf(key("hmac-sha256", "other")),
      after: 0,
      kind: "unknown-key",
    },
    {
      name: "has another algorithm than the key",
      vector: sha512,
      keys: keysOf(SHA256),
      after: 0,
      kind: "unknown-key",
    },
    {
      name: "is signed with another secret",
      vector: sha256,
      keys: keysOf({ ...SHA256, secret: SECRET.slice(1) }),
      after: 0,
      kind: "bad-signature",
    },
    {
      name: "is too old and wrongly signed: the signature counts first",
      vector: sha256,
      keys: keysOf({ ...SHA256, secret: SECRET.slice(1) }),
      after: 900,
      kind: "bad-signature",
    },
  ] as const;
  test.each(CASES)("$name", ({ vector, keys, after, kind }) => {
    const message = octetsOf(vector.hex);
    expect(verifyTsig(message, read(message, vector.at), keys, vector.time + after).kind).toBe(kind);
  });

  test("is signed likewise here, octet by octet", () => {
    for (const [vector, tsigKey] of [
      [sha256, SHA256],
      [sha512, SHA512],
    ] as const) {
      const message = octetsOf(vector.hex);
      const room = new Uint8Array(message.length);
      room.set(message.subarray(0, vector.at));
      room[11] = 1;
      expect(signMessage(room, vector.at, { key: tsigKey, timeSigned: vector.time }).length).toBe(message.length);
      expect(Buffer.from(room).toString("hex")).toBe(vector.hex);
    }
  });
});

describe("a truncated MAC", () => {
  /** The message of {@link signed} with its MAC cut to so many octets. */
  function cut(octets: number): Uint8Array {
    const { message, start } = signed({ key: SHA256, timeSigned: 1_000 });
    const { mac } = read(message, start);
    const macAt = message.length - 6 - mac.length;
    const shorter = Uint8Array.from([...message.subarray(0, macAt + octets), ...message.subarray(macAt + mac.length)]);
    shorter[macAt - 1] = octets;
    const lengthAt = start + SHA256.name.length + 8;
    shorter[lengthAt + 1] = (shorter[lengthAt + 1] as number) - (mac.length - octets);
    return shorter;
  }
  test.each([
    { octets: 31, kind: "truncated" },
    { octets: 16, kind: "truncated" },
    { octets: 15, kind: "malformed" },
    { octets: 9, kind: "malformed" },
    { octets: 0, kind: "bad-signature" },
  ])("of $octets octets: $kind", ({ octets, kind }) => {
    const message = cut(octets);
    const record = read(message, message.length - tsigOctets(SHA256) + 32 - octets);
    expect(record.mac).toHaveLength(octets);
    expect(verifyTsig(message, record, keysOf(SHA256), 1_000).kind).toBe(kind);
  });
});

test("an error without a signature repeats the time and tells the error", () => {
  const { message, start } = signed({ key: SHA256, timeSigned: 77 });
  const request = read(message, start);
  const room = new Uint8Array(HEADER_OCTETS + unsignedTsigOctets(request));
  const length = appendUnsigned(room, HEADER_OCTETS, request, TSIG_ERROR.BADKEY);
  expect(length).toBe(room.length);
  expect(read(room, HEADER_OCTETS)).toMatchObject({ timeSigned: 77, mac: new Uint8Array(0), error: TSIG_ERROR.BADKEY });
});

test("BADTIME tells the server's time, in 48 bits", () => {
  expect([...timeAsOther(0x1234_5678_9abc)]).toEqual([0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc]);
});

describe("properties", () => {
  const tsigKeys = fc.record({
    name: fc.constantFrom("k", "corp.example", "A.b.C").map((text) => lowerName(parseName(text))),
    algorithm: fc.constantFrom<TsigKey["algorithm"]>("hmac-sha256", "hmac-sha512"),
    secret: fc.uint8Array({ minLength: 1, maxLength: 80 }),
  });
  const macs = fc.option(fc.uint8Array({ minLength: 16, maxLength: 64 }), { nil: undefined });

  test("what is signed verifies, with the MAC before it; one bit changed, it does not", () => {
    fc.assert(
      fc.property(tsigKeys, macs, fc.nat(2 ** 31), fc.nat(), (tsigKey, priorMac, timeSigned, at) => {
        const { message, start, mac } = signed({ key: tsigKey, timeSigned, ...(priorMac && { priorMac }) });
        const record = read(message, start);
        const judge = (octets: Uint8Array, prior = priorMac): string =>
          verifyTsig(octets, read(octets, start), keysOf(tsigKey), timeSigned, prior).kind;
        expect(record.mac).toEqual(mac);
        expect(message.length - start).toBe(tsigOctets(tsigKey));
        expect(judge(message)).toBe("valid");
        expect(judge(message, Uint8Array.from([1, 2, 3]))).toBe("bad-signature");
        const changed = Uint8Array.from(message);
        // Not the id, which may be changed on the way, nor the count of the record itself.
        const place = 2 + (at % (start - 2));
        if (place === 10 || place === 11) return;
        changed[place] = (changed[place] as number) ^ 1;
        expect(judge(changed)).toBe("bad-signature");
      }),
      { seed: 13 },
    );
  });

  test("whatever comes, reading does not throw", () => {
    const { message, start } = signed({ key: SHA256, timeSigned: 1 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(message.length - 1), fc.nat(255)), { maxLength: 6 }),
        fc.nat(20),
        (edits, cutBy) => {
          const broken = message.slice(0, message.length - cutBy);
          for (const [at, value] of edits) if (at < broken.length) broken[at] = value;
          const record = readTsig(broken, start);
          if (record !== undefined) verifyTsig(broken, record, keysOf(SHA256), 1);
        },
      ),
      { seed: 14, numRuns: 2_000 },
    );
  });
});

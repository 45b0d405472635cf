import { describe, expect, test } from "vitest";
import { decode, isQueryOperation, Query } from "../../src/query/decode.js";
import { parseName } from "../../src/wire/name.js";
import { encodeQuery } from "../support/dns-message.js";

/** Octets in front of each message, so that no offset is right by chance. */
const AT = 5;

/** One object for all, as in a thread: what the last message said must not shine through. */
const query = new Query();

function decoded(message: Uint8Array): boolean {
  query.message = Buffer.concat([Buffer.alloc(AT, 0xff), message, Buffer.alloc(3, 0xff)]);
  query.at = AT;
  query.length = message.length;
  query.flags = ((message[2] as number) << 8) | (message[3] as number);
  return decode(query);
}

const NAME = "aPi.k8s.example.test";

/** A query with these octets as the options of its OPT record. */
function withOptions(...options: number[]): Buffer {
  const opt = [0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, options.length, ...options];
  const bytes = Buffer.concat([encodeQuery({ name: NAME }), Buffer.from(opt)]);
  bytes.writeUInt16BE(1, 10);
  return bytes;
}

describe("one object takes message after message", () => {
  test("a question with EDNS and all options that mean something", () => {
    const cookie = [1, 2, 3, 4, 5, 6, 7, 8];
    const bytes = withOptions(0, 3, 0, 0, 0, 10, 0, 8, ...cookie, 0, 10, 0, 1, 9, 0, 11, 0, 0);
    expect(decoded(bytes)).toBe(true);
    expect(query).toMatchObject({
      hasQuestion: true,
      type: 1,
      class: 1,
      questionEnd: 12 + 22 + 4,
      hasEdns: true,
      udpOctets: 1232,
      ednsVersion: 0,
      dnssecOk: true,
      cookieLength: 8,
      wantsNsid: true,
      wantsKeepalive: true,
    });
    expect(query.name.is(parseName("api.k8s.example.test."))).toBe(true);
    expect([...query.message.subarray(query.cookieAt, query.cookieAt + 8)]).toEqual(cookie);
  });

  test("then one with an empty OPT record, and one without", () => {
    expect(decoded(withOptions())).toBe(true);
    expect(query).toMatchObject({ hasEdns: true, cookieAt: -1, cookieLength: -1, wantsNsid: false });
    expect(query.wantsKeepalive).toBe(false);
    expect(decoded(encodeQuery({ name: NAME, type: "AAAA" }))).toBe(true);
    expect(query).toMatchObject({ hasEdns: false, type: 28 });
  });

  test("then a bare header, which has no question", () => {
    expect(decoded(Buffer.alloc(12))).toBe(true);
    expect(query).toMatchObject({ hasQuestion: false, hasEdns: false, questionEnd: 12 });
    expect(isQueryOperation(query)).toBe(true);
  });
});

const plain = encodeQuery({ name: NAME });
const changed = (bytes: Buffer, at: number, value: number) => {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(value, at);
  return copy;
};

test.each([
  ["two questions", changed(plain, 5, 2), false],
  ["a name that is cut off", plain.subarray(0, 20), false],
  ["no room for type and class", plain.subarray(0, plain.length - 1), false],
  ["an octet behind the last record", Buffer.concat([plain, Buffer.alloc(1)]), true],
  ["a record that is announced and missing", changed(plain, 11, 1), true],
  ["OPT in the answer section", changed(changed(withOptions(), 11, 0), 7, 1), true],
  ["OPT twice", changed(Buffer.concat([withOptions(), withOptions().subarray(plain.length)]), 11, 2), true],
  ["options that end behind the record", withOptions(0, 3, 0, 1), true],
  ["half an option", withOptions(0, 3, 0), true],
])("malformed: %s", (_, bytes, hasQuestion) => {
  decoded(withOptions());
  expect(decoded(bytes)).toBe(false);
  expect(query).toMatchObject({ hasQuestion, hasEdns: false });
});

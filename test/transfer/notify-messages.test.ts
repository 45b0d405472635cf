import { describe, expect, test } from "vitest";
import { presentSoa } from "../../src/transfer/journal.js";
import { notifyMessage, readSecondaryReply, soaQuery } from "../../src/transfer/notify-messages.js";
import { readTsig, signMessage, tsigOctets, verifyTsig } from "../../src/wire/tsig.js";
import { parseMessage } from "../support/dns-message.js";
import { CORP } from "./signing.js";
import { liveZone } from "./zones.js";

const NOW = 1_700_000_000;
const live = liveZone();
const zone = live.zone.name;

const NO_RECORD = new Uint8Array(0);

/** A reply to a message: its question, and an SOA record if there is one in it. */
function reply(
  request: Uint8Array,
  { flags = 0x8400, answer = NO_RECORD }: { flags?: number; answer?: Uint8Array } = {},
): Uint8Array {
  const end = 12 + zone.length + 4;
  const octets = new Uint8Array(end + answer.length);
  octets.set(request.subarray(0, end));
  octets.set(answer, end);
  const view = new DataView(octets.buffer);
  view.setUint16(2, flags | (view.getUint16(2) & 0x7800));
  [1, answer.length > 0 ? 1 : 0, 0, 0].forEach((count, index) => {
    view.setUint16(4 + index * 2, count);
  });
  return octets;
}

/** The SOA record as NOTIFY carries it. */
const soaOctets = notifyMessage(1, presentSoa(live)).octets.subarray(12 + zone.length + 4);

describe("what is sent", () => {
  test("NOTIFY names the zone and carries its SOA, authoritatively", () => {
    const message = parseMessage(notifyMessage(0x1234, presentSoa(live)).octets);
    expect(message).toMatchObject({ id: 0x1234, opcode: 4, flags: { aa: true, rd: false } });
    expect(message.questions).toMatchObject([{ name: "k8s.example.test.", type: "SOA" }]);
    expect(message.answers).toMatchObject([{ type: "SOA", owner: "k8s.example.test." }]);
  });

  test("a check asks for the SOA, without recursion", () => {
    const message = parseMessage(soaQuery(7, zone).octets);
    expect(message).toMatchObject({ id: 7, opcode: 0, flags: { aa: false, rd: false }, answers: [] });
    expect(message.questions).toMatchObject([{ name: "k8s.example.test.", type: "SOA" }]);
  });

  test("both are signed where there is a key", () => {
    for (const { octets } of [
      notifyMessage(1, presentSoa(live), { key: CORP, nowSeconds: NOW }),
      soaQuery(1, zone, { key: CORP, nowSeconds: NOW }),
    ]) {
      const record = readTsig(octets, octets.length - tsigOctets(CORP));
      expect(record && verifyTsig(octets, record, new Map([[CORP.name, CORP]]), NOW).kind).toBe("valid");
    }
  });
});

describe("what comes back", () => {
  const plain = soaQuery(7, zone);
  const changed = (octets: Uint8Array, at: number, value: number): Uint8Array => {
    const copy = Uint8Array.from(octets);
    copy[at] = value;
    return copy;
  };
  const answered = reply(plain.octets, { answer: soaOctets });
  const CASES: readonly { readonly name: string; readonly octets: Uint8Array; readonly is: object | undefined }[] = [
    { name: "the SOA", octets: answered, is: { rcode: "NOERROR", serial: live.serial } },
    {
      name: "an SOA from a cache",
      octets: reply(plain.octets, { flags: 0x8080, answer: soaOctets }),
      is: { rcode: "NOERROR" },
    },
    { name: "a refusal", octets: reply(plain.octets, { flags: 0x8005 }), is: { rcode: "REFUSED" } },
    { name: "another id", octets: changed(answered, 1, 8), is: undefined },
    { name: "another operation", octets: changed(answered, 2, 0xa4), is: undefined },
    { name: "a query", octets: changed(answered, 2, 0x04), is: undefined },
    { name: "another zone", octets: changed(answered, 13, 0x78), is: undefined },
    { name: "a header cut short", octets: answered.subarray(0, 11), is: undefined },
    { name: "a record cut short", octets: answered.subarray(0, answered.length - 1), is: undefined },
  ];
  test.each(CASES)("$name", ({ octets, is }) => {
    expect(readSecondaryReply(octets, plain.expected, NOW)).toEqual(is);
  });

  test("a signed message wants a signed reply, or an error", () => {
    const { octets, expected } = soaQuery(7, zone, { key: CORP, nowSeconds: NOW });
    const bare = reply(octets, { answer: soaOctets });
    const signed = new Uint8Array(bare.length + tsigOctets(CORP));
    signed.set(bare);
    signMessage(signed, bare.length, { key: CORP, timeSigned: NOW, priorMac: expected.signature?.mac ?? bare });
    expect(readSecondaryReply(signed, expected, NOW)?.serial).toBe(live.serial);
    expect(readSecondaryReply(signed, expected, NOW + 301)).toBeUndefined();
    expect(readSecondaryReply(bare, expected, NOW)).toBeUndefined();
    expect(readSecondaryReply(reply(octets, { flags: 0x8009 }), expected, NOW)).toEqual({ rcode: "NOTAUTH" });
  });
});

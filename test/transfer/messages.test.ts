import fc from "fast-check";
import { expect, test } from "vitest";
import { presentRecords, presentSoa } from "../../src/transfer/journal.js";
import { fullTransfer, type TransferReply, transferMessages } from "../../src/transfer/messages.js";
import { TYPE } from "../../src/wire/constants.js";
import { parseName } from "../../src/wire/name.js";
import { readTsig, type TsigKey, tsigOctets, verifyTsig } from "../../src/wire/tsig.js";
import { parseMessage } from "../support/dns-message.js";
import { line, liveZone } from "./zones.js";

const ZONE = parseName("k8s.example.test");
const REPLY: TransferReply = { id: 0x4242, zone: ZONE, type: TYPE.AXFR, rd: false, hasEdns: false };
const KEY: TsigKey = { name: parseName("corp"), algorithm: "hmac-sha256", secret: Uint8Array.of(1, 2, 3) };

const record = (index: number, octets: number) => ({
  name: parseName(`t${index}`, ZONE),
  type: TYPE.TXT,
  ttl: 60,
  rdata: Uint8Array.from({ length: octets + 1 }, (_, i) => (i === 0 ? octets : 0x61)),
});

test("a zone is one message: question, SOA, records, SOA, names compressed", () => {
  const live = liveZone();
  const messages = [...transferMessages(REPLY, fullTransfer(presentSoa(live), presentRecords(live)))];
  expect(messages).toHaveLength(1);
  const message = parseMessage(messages[0] ?? new Uint8Array(0));
  expect(message).toMatchObject({ id: 0x4242, rcode: "NOERROR", flags: { qr: true, aa: true, tc: false, ra: false } });
  expect(message.questions).toEqual([{ name: "k8s.example.test.", type: "AXFR", class: "IN" }]);
  const own = [presentSoa(live), ...presentRecords(live), presentSoa(live)].map(line);
  expect(message.answers.map(({ owner, ttl, type, rdata }) => `${owner} ${ttl} ${type} ${rdata}`)).toEqual(own);
  expect(message.answers.filter(({ type }) => type === "SOA")).toHaveLength(2);
  expect(message.edns).toBeUndefined();
});

test("EDNS is answered with EDNS, in the first message", () => {
  const records = Array.from({ length: 20 }, (_, i) => record(i, 200));
  const messages = [...transferMessages({ ...REPLY, hasEdns: true }, records, 1_000)].map(parseMessage);
  expect(messages.length).toBeGreaterThan(1);
  expect(messages.map(({ edns }) => edns !== undefined)).toEqual(messages.map((_, i) => i === 0));
  expect(messages.map(({ questions }) => questions.length)).toEqual(messages.map((_, i) => (i === 0 ? 1 : 0)));
});

test("nothing at all is one message without records", () => {
  expect([...transferMessages(REPLY, [])].map(parseMessage)).toMatchObject([{ answers: [] }]);
});

test("a record that fits in no message is an error", () => {
  expect(() => [...transferMessages(REPLY, [record(1, 250)], 100)]).toThrow("too long");
});

test("all records arrive in order, in messages that hold as many as they can, each one signed", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 250 }), { maxLength: 120 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 600, max: 5_000 }), fc.boolean(), (octets, max, isSigned) => {
      const records = octets.map((size, i) => record(i, size));
      const signature = { key: KEY, mac: Uint8Array.of(9, 9), nowSeconds: () => 1_000 };
      const messages = [...transferMessages({ ...REPLY, ...(isSigned && { signature }) }, records, max)];
      const read = messages.map(parseMessage);
      expect(read.flatMap(({ answers }) => answers.map(({ owner }) => owner))).toEqual(
        records.map((_, i) => `t${i}.k8s.example.test.`),
      );
      for (const [i, message] of messages.entries()) {
        expect(message.length).toBeLessThanOrEqual(max);
        const next = records[read.slice(0, i + 1).reduce((sum, { answers }) => sum + answers.length, 0)];
        if (next !== undefined) expect(message.length + next.rdata.length + 300).toBeGreaterThan(max);
      }
      if (isSigned) checkSignatures(messages, signature.mac);
    }),
    { seed: 16, numRuns: 100 },
  );
});

/** The first message as a response; of the others each has the MAC before it. */
function checkSignatures(messages: readonly Uint8Array[], requestMac: Uint8Array): void {
  const [first, ...others] = messages;
  if (first === undefined) throw new Error("no message");
  const start = (message: Uint8Array): number => message.length - tsigOctets(KEY);
  const record = readTsig(first, start(first));
  if (record === undefined) throw new Error("not signed");
  expect(verifyTsig(first, record, new Map([[KEY.name, KEY]]), 1_000, requestMac).kind).toBe("valid");
  const macs = new Set([Buffer.from(record.mac).toString("hex")]);
  for (const message of others) macs.add(Buffer.from(readTsig(message, start(message))?.mac ?? []).toString("hex"));
  expect(macs.size).toBe(messages.length);
}

import { describe, expect, test } from "vitest";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters, TRANSPORT } from "../../src/query/counters.js";
import { ReplySignature } from "../../src/query/reply-signature.js";
import { createResponder, HANDED_OVER } from "../../src/query/respond.js";
import { mayTransfer, type TransferPolicy } from "../../src/query/transfer-access.js";
import type { TransferRequest } from "../../src/transfer/request.js";
import { TYPE } from "../../src/wire/constants.js";
import { parseName } from "../../src/wire/name.js";
import { readTsig, verifyTsig } from "../../src/wire/tsig.js";
import { SERIAL, serveSketch } from "../answers/serve.js";
import { type DnsMessage, parseMessage } from "../support/dns-message.js";
import { CORP, type Signature, sign, type TransferQuestion, transferQuery } from "../transfer/signing.js";

const NOW = 1_700_000_000;
const ZONE = parseName("k8s.example.test");
const prefix = (address: string, bits: number) => ({ octets: clientAt(address).octets, bits });

/** 192.0.2.53 may transfer the zone, and with the key 198.51.100.0/24. */
const transfer: TransferPolicy = {
  keys: new Map([[CORP.name, CORP]]),
  zones: new Map([[ZONE, [prefix("192.0.2.53", 32), { ...prefix("198.51.100.0", 24), key: CORP.name }]]]),
};

const served = serveSketch({
  endpoints: { api: { cp1: ["192.0.2.11"] } },
  policy: { cookieSecrets: [], tcpIdleMs: 10_000, transfer, nowSeconds: () => NOW },
});
const handed: TransferRequest[] = [];
const respond = createResponder(served.state, createQueryCounters(), { onTransfer: (one) => handed.push(one) });

/** What comes of a query: the request that is handed over, or the reply, in full and read. */
function ask(query: Buffer, from: string, transport: "udp" | "tcp") {
  handed.length = 0;
  const reply = new Uint8Array(65_536);
  const length = respond(query, 0, query.length, reply, 0, TRANSPORT[transport], clientAt(from));
  if (length === HANDED_OVER) return { request: handed[0] };
  if (length === 0) return {};
  const octets = reply.slice(0, length);
  return { octets, message: parseMessage(octets) };
}

/** What the TSIG record of a reply says, and whether it verifies. */
function signatureOf(octets: Uint8Array | undefined, message: DnsMessage | undefined, requestMac: Uint8Array) {
  if (octets === undefined || !message?.additionals.some(({ type }) => type === "TSIG" || type === "TYPE250"))
    return "none";
  for (let start = octets.length - 1; start > 12; start -= 1) {
    const record = readTsig(octets, start);
    if (record === undefined || record.keyName.length < 2) continue;
    const verdict = verifyTsig(octets, record, transfer.keys, record.timeSigned, requestMac);
    return `${record.error} ${verdict.kind}`;
  }
  return "unreadable";
}

interface Case {
  readonly name: string;
  readonly ask: TransferQuestion;
  readonly from: string;
  readonly over?: "udp" | "tcp";
  readonly sign?: Signature;
  /** `granted`, or the response code. */
  readonly is: string;
  /** Error and verdict of the reply's signature. Default `none`. */
  readonly signed?: string;
}

const LISTED = "192.0.2.53";
const WITH_KEY = "198.51.100.7";
const valid: Signature = { time: NOW };
const axfr: TransferQuestion = { type: "AXFR" };
const ixfr: TransferQuestion = { type: "IXFR", serial: 5 };

const CASES: readonly Case[] = [
  { name: "a listed address", ask: axfr, from: LISTED, is: "granted" },
  { name: "a listed address, incremental", ask: ixfr, from: LISTED, is: "granted" },
  { name: "a listed address, with the key", ask: axfr, from: LISTED, sign: valid, is: "granted" },
  { name: "another address", ask: axfr, from: "192.0.2.54", is: "REFUSED" },
  { name: "another address, incremental", ask: ixfr, from: "192.0.2.54", is: "REFUSED" },
  { name: "another address, over UDP", ask: ixfr, over: "udp", from: "192.0.2.54", is: "REFUSED" },
  {
    name: "another address, with the key",
    ask: axfr,
    from: "192.0.2.54",
    sign: valid,
    is: "REFUSED",
    signed: "0 valid",
  },
  { name: "an address that needs the key", ask: axfr, from: WITH_KEY, is: "REFUSED" },
  { name: "an address that needs the key, with it", ask: axfr, from: WITH_KEY, sign: valid, is: "granted" },
  { name: "a zone that is not served", ask: { ...axfr, zone: "other.test" }, from: LISTED, is: "NOTAUTH" },
  { name: "a name in the zone", ask: { ...axfr, zone: "api.k8s.example.test" }, from: LISTED, is: "NOTAUTH" },
  { name: "letter case does not count", ask: { ...axfr, zone: "K8s.Example.TEST" }, from: LISTED, is: "granted" },
  { name: "incremental from nowhere", ask: { type: "IXFR" }, from: LISTED, is: "FORMERR" },
  { name: "full over UDP", ask: axfr, over: "udp", from: LISTED, is: "FORMERR" },
  { name: "incremental over UDP", ask: ixfr, over: "udp", from: LISTED, is: "NOERROR" },
  {
    name: "incremental over UDP, with the key",
    ask: ixfr,
    over: "udp",
    from: WITH_KEY,
    sign: valid,
    is: "NOERROR",
    signed: "0 valid",
  },
  {
    name: "an unknown key",
    ask: axfr,
    from: WITH_KEY,
    sign: { ...valid, key: "nope" },
    is: "NOTAUTH",
    signed: "17 unknown-key",
  },
  {
    name: "a wrong secret",
    ask: axfr,
    from: WITH_KEY,
    sign: { ...valid, secret: Buffer.alloc(32) },
    is: "NOTAUTH",
    signed: "16 bad-signature",
  },
  { name: "a late clock", ask: axfr, from: WITH_KEY, sign: { time: NOW - 301 }, is: "NOTAUTH", signed: "18 valid" },
  { name: "an early clock", ask: axfr, from: WITH_KEY, sign: { time: NOW + 301 }, is: "NOTAUTH", signed: "18 valid" },
  {
    name: "a MAC of 16 octets",
    ask: axfr,
    from: WITH_KEY,
    sign: { ...valid, octets: 16 },
    is: "NOTAUTH",
    signed: "22 valid",
  },
  { name: "a MAC of 15 octets", ask: axfr, from: WITH_KEY, sign: { ...valid, octets: 15 }, is: "FORMERR" },
  {
    name: "no MAC",
    ask: axfr,
    from: WITH_KEY,
    sign: { ...valid, octets: 0 },
    is: "NOTAUTH",
    signed: "16 bad-signature",
  },
  {
    name: "a wrong secret, of a listed address",
    ask: axfr,
    from: LISTED,
    sign: { ...valid, secret: Buffer.alloc(32) },
    is: "NOTAUTH",
    signed: "16 bad-signature",
  },
  {
    name: "the serial, signed",
    ask: { type: "SOA", edns: true },
    over: "udp",
    from: LISTED,
    sign: valid,
    is: "NOERROR",
    signed: "0 valid",
  },
  {
    name: "any query, signed",
    ask: { type: "A" },
    over: "udp",
    from: "192.0.2.99",
    sign: valid,
    is: "NOERROR",
    signed: "0 valid",
  },
];

describe("a request for a transfer", () => {
  test.each(CASES)("$name: $is", ({ ask: question, from, over = "tcp", sign: signature, is, signed = "none" }) => {
    const query = transferQuery(question);
    const bytes = signature === undefined ? query : sign(query, signature);
    const { request, octets, message } = ask(bytes, from, over);
    expect(request === undefined ? message?.rcode : "granted").toBe(is);
    if (request !== undefined) {
      expect(request).toMatchObject({ id: 0x4242, client: from, hasEdns: false, rd: false });
      expect(request.serial).toBe(question.serial);
      expect(request.signature?.key).toBe(signature && CORP.name);
      return;
    }
    const mac = signature === undefined ? Buffer.alloc(0) : bytes.subarray(-6 - (signature.octets ?? 32), -6);
    expect(signatureOf(octets, message, mac)).toBe(signed);
    const { answers = [], authorities = [] } = message ?? {};
    if (question.type === "AXFR" || is === "REFUSED") expect([...answers, ...authorities]).toEqual([]);
    if (question.type === "IXFR" && is === "NOERROR") expect(answers.map(({ type }) => type)).toEqual(["SOA"]);
  });

  test("is met with silence until there is something to transfer", () => {
    served.state.ready = false;
    expect(ask(transferQuery(axfr), LISTED, "tcp")).toEqual({});
    expect(ask(transferQuery(ixfr), LISTED, "udp")).toEqual({});
    served.state.ready = true;
  });

  test("is refused where nobody transfers", () => {
    expect(served.askRaw(transferQuery(axfr), "tcp", LISTED)?.readUInt8(3)).toBe(5);
  });

  test("with a TSIG record that is not the last one is FORMERR", () => {
    const signed = sign(transferQuery(axfr), valid);
    const more = Buffer.concat([signed, Buffer.from([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0])]);
    more.writeUInt16BE(2, 10);
    expect(ask(more, LISTED, "tcp").message?.rcode).toBe("FORMERR");
  });

  test("with a TSIG record that cannot be read is FORMERR", () => {
    const signed = sign(transferQuery(axfr), valid);
    signed.writeUInt16BE(1, signed.length - 65);
    expect(ask(signed, LISTED, "tcp").message?.rcode).toBe("FORMERR");
  });

  test("an answer and its signature fit into what the client takes", () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));
    const crowd = serveSketch({
      endpoints: { api: many },
      policy: { cookieSecrets: [], tcpIdleMs: 10_000, transfer, nowSeconds: () => NOW },
    });
    for (let targets = 1; targets <= 40; targets += 1) {
      crowd.setAnswer("api", Object.fromEntries(Object.entries(many).slice(0, targets)));
      const query = sign(transferQuery({ type: "A", zone: "api.k8s.example.test" }), valid);
      const reply = crowd.askRaw(query);
      expect(reply?.length).toBeLessThanOrEqual(512);
      expect(reply && signatureOf(reply, parseMessage(reply), query.subarray(-38, -6))).toBe("0 valid");
    }
  });
});

test("rules: address and key must both fit the same rule", () => {
  const rules = transfer.zones.get(ZONE) ?? [];
  expect(mayTransfer(rules, clientAt(LISTED), undefined)).toBe(true);
  expect(mayTransfer(rules, clientAt(WITH_KEY), undefined)).toBe(false);
  expect(mayTransfer(rules, clientAt(WITH_KEY), parseName("other"))).toBe(false);
  expect(mayTransfer(rules, clientAt(WITH_KEY), CORP.name)).toBe(true);
  expect(mayTransfer([], clientAt(LISTED), CORP.name)).toBe(false);
});

test("a signed request is left as it came, be it in a Buffer as from a socket", () => {
  const query = sign(transferQuery({ type: "SOA" }), { time: NOW });
  const before = query.toString("hex");
  // A proxy may have given the message another id, under which it waits for the reply.
  query.writeUInt16BE(0x1717, 0);
  const { octets, message } = ask(query, WITH_KEY, "tcp");
  expect(message).toMatchObject({ id: 0x1717, rcode: "NOERROR" });
  expect(signatureOf(octets, message, query.subarray(-38, -6))).toBe("0 valid");
  query.writeUInt16BE(0x4242, 0);
  expect(query.toString("hex")).toBe(before);
});

test("a query without a signature leaves nothing due", () => {
  const signature = new ReplySignature();
  expect(signature).toMatchObject({ size: 0, isValid: false, signer: undefined });
});

test("the serial told over UDP is that of the zone", () => {
  const { message } = ask(transferQuery(ixfr), LISTED, "udp");
  expect(message?.questions).toMatchObject([{ type: "IXFR" }]);
  expect(message?.answers[0]?.rdata.split(" ")[2]).toBe(String(SERIAL));
  expect(TYPE.IXFR).toBe(251);
});

test("NOTIFY is refused: a primary needs no telling", () => {
  const query = transferQuery({ type: "SOA" });
  query.writeUInt16BE(4 << 11, 2);
  const { message } = ask(query, LISTED, "udp");
  expect(message).toMatchObject({ rcode: "REFUSED", opcode: 4 });
});

test("who may not ask at all is refused before its signature is looked at", () => {
  const closed = serveSketch({
    endpoints: { api: { cp1: ["192.0.2.11"] } },
    policy: { cookieSecrets: [], tcpIdleMs: 10_000, transfer, nowSeconds: () => NOW, allow: [prefix("192.0.2.0", 24)] },
  });
  const responder = createResponder(closed.state, createQueryCounters(), {});
  const query = sign(transferQuery({ type: "SOA" }), { time: NOW, secret: Buffer.alloc(32) });
  const reply = new Uint8Array(65_536);
  const from = (address: string) =>
    parseMessage(reply.slice(0, responder(query, 0, query.length, reply, 0, TRANSPORT.tcp, clientAt(address))));
  expect(from("203.0.113.1")).toMatchObject({ rcode: "REFUSED", additionals: [] });
  expect(from("192.0.2.1").rcode).toBe("NOTAUTH");
});

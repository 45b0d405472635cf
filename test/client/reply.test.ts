import { Packet } from "dns2";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ReplyError, readReply } from "../../src/client/reply.js";
import { TYPE } from "../../src/wire/constants.js";
import { encodeSections } from "../../src/wire/message.js";
import { nameOctets, parseName } from "../../src/wire/name.js";
import { parseRdata } from "../../src/wire/rdata.js";
import { QNAME } from "../../src/wire/record-writer.js";

const question = parseName("api.k8s.example.com.");

/** A header and the question, QR and AA set. */
function head(counts: readonly [answers: number, authorities: number, additionals: number], rcode = 0): number[] {
  const sizes = counts.flatMap((count) => [0, count]);
  return [0x12, 0x34, 0x84, rcode, 0, 1, ...sizes, ...nameOctets(question), 0, TYPE.A, 0, 1];
}

function record(type: number, text: string, ttl = 5) {
  const tokens = text.split(" ").map((word) => ({ text: word, quoted: false, line: 1, column: 1 }));
  return { name: QNAME, type, ttl, rdata: parseRdata(type, tokens, question) } as const;
}

/** An OPT record that offers 1232 octets. */
function opt(extendedRcode: number, options: readonly number[]): number[] {
  return [0, 0, 41, 0x04, 0xd0, extendedRcode, 0, 0, 0, 0, options.length, ...options];
}

describe("readReply", () => {
  test("reads flags, sections and compressed names", () => {
    const sections = encodeSections(question, {
      answer: [record(TYPE.A, "192.0.2.11"), record(TYPE.AAAA, "2001:db8::11")],
      authority: [
        record(TYPE.SOA, "ns1.k8s.example.com. hostmaster.k8s.example.com. 7 7200 900 1209600 5"),
        record(TYPE.NS, "ns2.k8s.example.com."),
      ],
      additional: [],
    });
    const reply = readReply(Uint8Array.from([...head([2, 2, 0]), ...sections.octets]));
    expect(reply).toMatchObject({ id: 0x1234, rcode: "NOERROR", aa: true, tc: false, ra: false });
    expect(reply.question).toEqual({ name: question, type: TYPE.A });
    const name = "api.k8s.example.com";
    expect(reply.answers).toEqual([
      { name, type: "A", ttl: 5, data: "192.0.2.11", address: "192.0.2.11" },
      { name, type: "AAAA", ttl: 5, data: "2001:db8::11", address: "2001:db8::11" },
    ]);
    expect(reply.authorities.map(({ data }) => data)).toEqual([
      "ns1.k8s.example.com. hostmaster.k8s.example.com. 7 7200 900 1209600 5",
      "ns2.k8s.example.com.",
    ]);
    expect(reply.edns).toBeUndefined();
  });

  const cookie = [0, 10, 0, 2, 0xab, 0xcd];
  const stale = [0, 15, 0, 2, 0, 3];

  test("reads EDNS: size, options, and the upper bits of the response code", () => {
    const reply = readReply(Uint8Array.from([...head([0, 0, 1], 0), ...opt(1, [...cookie, ...stale])]));
    expect(reply.rcode).toBe("BADVERS");
    expect(reply.edns?.udpOctets).toBe(1232);
    expect(reply.edns?.options.map(({ code, data }) => [code, [...data]])).toEqual([
      [10, [0xab, 0xcd]],
      [15, [0, 3]],
    ]);
    expect(reply.additionals).toEqual([]);
  });

  test("reads what stands behind an option, which dns2 does not", () => {
    const { octets } = encodeSections(question, {
      answer: [],
      authority: [],
      additional: [record(TYPE.A, "192.0.2.1")],
    });
    const message = Buffer.from([...head([0, 0, 2]), ...opt(0, [...cookie, ...stale]), ...octets]);
    expect(readReply(message).additionals.map(({ address }) => address)).toEqual(["192.0.2.1"]);
    expect(Packet.parse(message).additionals.map(({ address }) => address)).not.toContain("192.0.2.1");
  });

  test("takes a TTL with its top bit set for zero", () => {
    const { octets } = encodeSections(question, {
      answer: [record(TYPE.A, "192.0.2.1", 0x8000_0001)],
      authority: [],
      additional: [],
    });
    expect(readReply(Uint8Array.from([...head([1, 0, 0]), ...octets])).answers[0]?.ttl).toBe(0);
  });

  const whole = [
    ...head([1, 0, 0]),
    ...encodeSections(question, { answer: [record(TYPE.A, "192.0.2.1")], authority: [], additional: [] }).octets,
  ];
  test.each([
    { name: "nothing", octets: [] },
    { name: "a query", octets: [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0] },
    { name: "a record that is cut off", octets: whole.slice(0, -1) },
    { name: "a count that nothing follows", octets: head([3, 0, 0]) },
    { name: "an option that is cut off", octets: [...head([0, 0, 1]), ...opt(0, [0, 10, 0, 9, 1])] },
  ])("refuses $name", ({ octets }) => {
    expect(() => readReply(Uint8Array.from(octets))).toThrow(ReplyError);
  });

  test("either reads octets or refuses them, whatever they are", () => {
    const anything = fc.uint8Array({ maxLength: 300 });
    const almost = fc.tuple(fc.nat(whole.length - 1), fc.nat(255)).map(([at, octet]) => {
      const changed = Uint8Array.from(whole);
      changed[at] = octet;
      return changed;
    });
    fc.assert(
      fc.property(fc.oneof(anything, almost), (octets) => {
        try {
          readReply(octets);
        } catch (error) {
          expect(error).toBeInstanceOf(ReplyError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

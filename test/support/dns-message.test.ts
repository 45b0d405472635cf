import { describe, expect, it } from "vitest";
import { encodeName, encodeQuery, parseMessage } from "./dns-message.js";

const hex = (text: string) => Buffer.from(text.replace(/\s/g, ""), "hex");

describe("encodeQuery", () => {
  it("writes a plain query", () => {
    expect(encodeQuery({ name: "a.bc", type: "AAAA", id: 0x1234, rd: true })).toEqual(
      hex("1234 0100 0001 0000 0000 0000  01 61 02 62 63 00  001c 0001"),
    );
  });

  it("writes OPT with options", () => {
    const edns = { udpSize: 4096, dnssecOk: true, options: [{ code: 10, data: hex("0102") }] };
    expect(encodeQuery({ name: ".", class: "CH", type: "TXT", id: 1, edns })).toEqual(
      hex("0001 0000 0001 0000 0000 0001  00 0010 0003  00 0029 1000 00 00 8000 0006 000a 0002 0102"),
    );
  });
});

describe("encodeName", () => {
  for (const [name, wire] of [
    [".", "00"],
    ["A.b.", "01 41 01 62 00"],
    ["a\\.b.c", "03 61 2e 62 01 63 00"],
    ["\\000\\255", "02 00 ff 00"],
    ["a\\.", "02 61 2e 00"],
  ] as const) {
    it(`writes ${name}`, () => expect(encodeName(name)).toEqual(hex(wire)));
  }
  for (const name of ["a..b", "x".repeat(64), ".a"]) {
    it(`refuses ${name}`, () => expect(() => encodeName(name)).toThrow("bad label"));
  }
});

// A reply to `a. A`: one answer whose owner is a pointer to the question.
const REPLY = "abcd 8500 0001 0001 0000 0000  01 61 00 0001 0001  c00c 0001 0001 00000005 0004 c0000201";

describe("parseMessage", () => {
  it("reads header, question and compressed answer", () => {
    expect(parseMessage(hex(REPLY))).toMatchObject({
      id: 0xabcd,
      opcode: 0,
      flags: { qr: true, aa: true, tc: false, rd: true, ra: false, ad: false, cd: false },
      rcode: "NOERROR",
      questions: [{ name: "a.", type: "A", class: "IN" }],
      answers: [{ owner: "a.", type: "A", class: "IN", ttl: 5, rdata: "192.0.2.1" }],
      authorities: [],
      additionals: [],
    });
  });

  it("reads IPv6 in the form of RFC 5952", () => {
    for (const [octets, text] of [
      ["20010db8000000000000000000000001", "2001:db8::1"],
      ["00000000000000000000000000000000", "::"],
      ["00010000000200000000000300040005", "1:0:2::3:4:5"],
      ["00010000000200030000000400050006", "1:0:2:3:0:4:5:6"],
      ["00000000000100020003000400050006", "::1:2:3:4:5:6"],
    ] as const) {
      const message = `0000 8000 0000 0001 0000 0000  00 001c 0001 00000005 0010 ${octets}`;
      expect(parseMessage(hex(message)).answers[0]?.rdata).toBe(text);
    }
  });

  it("adds the extended bits of OPT to the rcode", () => {
    const reply = "0000 8000 0000 0000 0000 0001  00 0029 04d0 01000000 0000";
    expect(parseMessage(hex(reply))).toMatchObject({ rcode: "BADVERS", additionals: [], edns: { udpSize: 1232 } });
  });

  for (const [name, message] of [
    ["an incomplete header", "abcd 8500 0001"],
    ["a missing question", "0000 8000 0001 0000 0000 0000"],
    ["octets after the end", `${REPLY} 00`],
    ["record data past the end", REPLY.slice(0, -2)],
    ["record data longer than its type", REPLY.replace("0004 c0000201", "0005 c000020100")],
    ["record data shorter than its type", REPLY.replace("0004 c0000201", "0003 c00002")],
    ["a pointer to itself", "0000 8000 0001 0000 0000 0000  c00c 0001 0001"],
    ["a pointer forward", "0000 8000 0001 0000 0000 0000  c010 0001 0001 00 0001 0001"],
    ["an endless name", "0000 8000 0001 0000 0000 0000  01 61 c00c 0001 0001"],
    ["two OPT records", "0000 8000 0000 0000 0000 0002  00 0029 04d0 00000000 0000  00 0029 04d0 00000000 0000"],
  ] as const) {
    it(`refuses ${name}`, () => expect(() => parseMessage(hex(message))).toThrow(RangeError));
  }
});

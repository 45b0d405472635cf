import { describe, expect, test } from "vitest";
import { encodeQuery } from "../../src/client/query.js";
import { TYPE } from "../../src/wire/constants.js";
import { NameError, parseName } from "../../src/wire/name.js";
import { parseMessage } from "../support/dns-message.js";

describe("encodeQuery", () => {
  test("writes header and question", () => {
    const message = parseMessage(encodeQuery({ id: 0xabcd, name: parseName("api.example.test."), type: TYPE.AAAA }));
    expect(message).toMatchObject({
      id: 0xabcd,
      opcode: 0,
      flags: { qr: false, rd: true },
      questions: [{ name: "api.example.test.", type: "AAAA", class: "IN" }],
    });
    expect(message.edns).toBeUndefined();
  });

  test.each([0, 512, 1232, 65_535])("offers %i octets in an OPT record", (udpOctets) => {
    const message = parseMessage(encodeQuery({ id: 1, name: parseName("."), type: TYPE.NS, udpOctets }));
    expect(message.edns).toEqual({ udpSize: udpOctets, version: 0, dnssecOk: false, options: [] });
  });

  test("asks without recursion", () => {
    const message = parseMessage(encodeQuery({ id: 1, name: parseName("a."), type: TYPE.A, recurse: false }));
    expect(message.flags.rd).toBe(false);
  });

  test("asks for what is not validated", () => {
    const of = (checkingDisabled: boolean) =>
      encodeQuery({ id: 1, name: parseName("a."), type: TYPE.A, checkingDisabled, udpOctets: 1232 });
    // CD is 0x10 in the header's fourth octet (RFC 4035 §3).
    expect([of(true)[3], of(false)[3]]).toEqual([0x10, 0]);
    expect(parseMessage(of(true)).flags.rd).toBe(true);
  });

  test("refuses what dns2 would write as another name", () => {
    expect(() => encodeQuery({ id: 1, name: parseName("a\\.b."), type: TYPE.A })).toThrow(NameError);
  });
});

import { expect, test } from "vitest";
import { TRANSPORT, type TransportName } from "../../src/query/counters.js";
import { Query } from "../../src/query/decode.js";
import { ReplyOpt } from "../../src/query/edns.js";
import { NO_WORDS } from "../../src/wire/words.js";

const policy = { cookieSecrets: [], tcpIdleMs: 12_345, identity: Uint8Array.from([0x61, 0x62]) };

function query(transport: TransportName, dnssecOk: boolean): Query {
  return Object.assign(new Query(), {
    transport: TRANSPORT[transport],
    hasEdns: true,
    dnssecOk,
    wantsNsid: true,
    wantsKeepalive: true,
  });
}

/** The record behind a reply of 20 octets, and what the header then counts in its additional section. */
function appended(opt: ReplyOpt, rcode: number) {
  const reply = { octets: new Uint8Array(100), words: NO_WORDS, at: 3 };
  reply.octets[3 + 11] = 0xff;
  const end = opt.append(reply, 20, rcode);
  const { octets } = reply;
  return { opt: [...octets.subarray(23, 3 + end)], additional: ((octets[13] as number) << 8) | (octets[14] as number) };
}

test("the record says what the options of the query ask for, in the size it announced", () => {
  const opt = new ReplyOpt();
  opt.prepare(query("tcp", true), policy);
  opt.addError(18);
  const nsid = [0, 3, 0, 2, 0x61, 0x62];
  const keepalive = [0, 11, 0, 2, 0, 123];
  const error = [0, 15, 0, 2, 0, 18];
  const { opt: record, additional } = appended(opt, 16);
  expect(record).toEqual([0, 0, 41, 4, 208, 1, 0, 0x80, 0, 0, 18, ...nsid, ...keepalive, ...error]);
  expect(record).toHaveLength(opt.size);
  expect(additional).toBe(0x100);
});

test("nothing of one reply is left in the next", () => {
  const opt = new ReplyOpt();
  opt.prepare(query("tcp", true), policy);
  appended(opt, 16);
  opt.prepare(query("udp", false), policy);
  expect(appended(opt, 0).opt).toEqual([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 6, 0, 3, 0, 2, 0x61, 0x62]);
  opt.prepare(query("udp", false), undefined);
  expect(appended(opt, 0).opt).toEqual([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
});

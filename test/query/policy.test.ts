import { describe, expect, test } from "vitest";
import { createPolicy, type PolicySettings } from "../../src/query/policy.js";
import { addressOctets } from "../../src/wire/address.js";
import { type ServedZone, serveSketch } from "../answers/serve.js";
import { type DnsMessage, encodeQuery, parseMessage } from "../support/dns-message.js";
import { createFakeClock } from "../support/fake-clock.js";

const SECRET = Uint8Array.from({ length: 16 }, (_, i) => i);
const OPTION = { nsid: 3, cookie: 10, keepalive: 11, error: 15 };
const CLIENT_COOKIE = Buffer.from("0011223344556677", "hex");
const NAME = "api.k8s.example.test";

const CROWD = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));

function serve(settings: Partial<PolicySettings> = {}): ServedZone {
  const clock = createFakeClock();
  return serveSketch({
    endpoints: { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"] }, crowd: CROWD },
    policy: createPolicy({ cookieSecrets: [SECRET], tcpIdleMs: 10_000, ...settings }, clock, () => 0.5),
  });
}

function option(message: DnsMessage, code: number): string | undefined {
  const found = message.edns?.options.find((candidate) => candidate.code === code);
  return found === undefined ? undefined : Buffer.from(found.data).toString("hex");
}

const withOption = (code: number, data: Uint8Array = Buffer.alloc(0)) => ({ edns: { options: [{ code, data }] } });

describe("DNS cookies (RFC 7873)", () => {
  const served = serve();
  const learned = option(served.ask({ name: NAME, ...withOption(OPTION.cookie, CLIENT_COOKIE) }), OPTION.cookie) ?? "";

  test("a client cookie is answered with itself and a server cookie of 16 octets", () => {
    expect(learned).toMatch(
      /^0011223344556677010000000[0-9a-f]{7}[0-9a-f]{16}$|^001122334455667701000000[0-9a-f]{24}$/,
    );
  });

  test("in every reply that can have one: NXDOMAIN, referral, REFUSED, BADVERS, truncated, TCP", () => {
    for (const name of [NAME, "nothing.k8s.example.test", "elsewhere.test", "crowd.k8s.example.test"]) {
      for (const transport of ["udp", "tcp"] as const) {
        const message = served.ask({ name, ...withOption(OPTION.cookie, Buffer.from(learned, "hex")) }, transport);
        expect(option(message, OPTION.cookie)).toBe(learned);
      }
    }
    const badVersion = { version: 1, options: [{ code: OPTION.cookie, data: CLIENT_COOKIE }] };
    expect(option(served.ask({ name: NAME, edns: badVersion }), OPTION.cookie)).toBe(learned);
  });

  test("not where it was not asked for", () => {
    expect(served.ask({ name: NAME, edns: {} }).edns?.options).toEqual([]);
    expect(served.ask({ name: NAME }).edns).toBeUndefined();
  });

  test.each([0, 1, 7, 9, 15, 41, 100])("%i octets are malformed: FORMERR", (length) => {
    const message = served.ask({ name: NAME, ...withOption(OPTION.cookie, Buffer.alloc(length)) });
    expect(message).toMatchObject({ rcode: "FORMERR", edns: { options: [] } });
  });

  test("of two COOKIE options the first counts", () => {
    const options = [CLIENT_COOKIE, Buffer.alloc(8, 9)].map((data) => ({ code: OPTION.cookie, data }));
    const message = served.ask({ name: NAME, edns: { options } });
    expect(message.edns?.options).toHaveLength(1);
    expect(option(message, OPTION.cookie)).toBe(learned);
  });

  test("a query without question asks for a cookie (§5.4)", () => {
    const ask = (cookie: Buffer, asks = served, questions = 0) => {
      const query = encodeQuery({ id: 7, name: ".", ...withOption(OPTION.cookie, cookie) });
      query.writeUInt16BE(questions, 4);
      return parseMessage(asks.askRaw(Buffer.concat([query.subarray(0, 12), query.subarray(17)])) ?? Buffer.alloc(0));
    };
    const first = ask(CLIENT_COOKIE);
    expect(first).toMatchObject({ id: 7, rcode: "NOERROR", questions: [], answers: [] });
    expect(option(first, OPTION.cookie)).toBe(learned);
    expect(ask(Buffer.from(learned, "hex")).rcode).toBe("NOERROR");
    const forged = ask(Buffer.concat([CLIENT_COOKIE, Buffer.alloc(16, 1)]));
    expect(forged.rcode).toBe("BADCOOKIE");
    expect(option(forged, OPTION.cookie)).toBe(learned);
    expect(ask(CLIENT_COOKIE, serve({ cookieSecrets: [] })).rcode).toBe("FORMERR");
    // Questions that are announced and not there are no missing question.
    expect(ask(CLIENT_COOKIE, served, 2)).toMatchObject({ rcode: "FORMERR" });
    expect(ask(CLIENT_COOKIE, served, 2).edns).toBeUndefined();
  });

  test("without a secret the option is as unknown as any", () => {
    const message = serve({ cookieSecrets: [] }).ask({ name: NAME, ...withOption(OPTION.cookie, CLIENT_COOKIE) });
    expect(message).toMatchObject({ rcode: "NOERROR", edns: { options: [] } });
  });
});

describe("the name server identifier (RFC 5001)", () => {
  test("is sent where it is configured and asked for", () => {
    const served = serve({ identity: Buffer.from("site-a") });
    expect(option(served.ask({ name: NAME, ...withOption(OPTION.nsid) }), OPTION.nsid)).toBe(
      Buffer.from("site-a").toString("hex"),
    );
    expect(served.ask({ name: NAME, edns: {} }).edns?.options).toEqual([]);
    expect(serve().ask({ name: NAME, ...withOption(OPTION.nsid) }).edns?.options).toEqual([]);
  });
});

describe("TCP keepalive (RFC 7828)", () => {
  test("tells the timeout in tenths of a second, over TCP only", () => {
    const served = serve({ tcpIdleMs: 12_300 });
    expect(option(served.ask({ name: NAME, ...withOption(OPTION.keepalive) }, "tcp"), OPTION.keepalive)).toBe("007b");
    expect(served.ask({ name: NAME, ...withOption(OPTION.keepalive) }, "udp").edns?.options).toEqual([]);
    expect(served.ask({ name: NAME, edns: {} }, "tcp").edns?.options).toEqual([]);
  });
});

test.each([
  { name: "padding (RFC 7830)", code: 12, data: Buffer.alloc(468) },
  { name: "client subnet (RFC 7871)", code: 8, data: Buffer.from([0, 1, 24, 0, 192, 0, 2]) },
  { name: "a malformed client subnet", code: 8, data: Buffer.from([9]) },
  { name: "an unknown option", code: 65_001, data: Buffer.alloc(3) },
])("$name is passed over and not echoed", ({ code, data }) => {
  const message = serve().ask({ name: NAME, ...withOption(code, data) });
  expect(message).toMatchObject({ rcode: "NOERROR", edns: { options: [] } });
  expect(message.answers).toHaveLength(3);
});

describe("extended errors (RFC 8914)", () => {
  const allow = [{ octets: addressOctets("10.0.0.0"), bits: 8 }];
  test.each([
    { name: "a name that is not ours: not authoritative", question: { name: "elsewhere.test" }, code: "0014" },
    { name: "a transfer: not supported", question: { name: "k8s.example.test", type: "AXFR" }, code: "0015" },
    { name: "a class that is not served: not supported", question: { name: NAME, class: "HS" }, code: "0015" },
  ])("$name", ({ question, code }) => {
    expect(option(serve().ask({ ...question, edns: {} }, "tcp"), OPTION.error)).toBe(code);
  });

  test("a client that is not allowed: prohibited", () => {
    const served = serve({ allow });
    expect(option(served.ask({ name: NAME, edns: {} }, "tcp", "192.0.2.1"), OPTION.error)).toBe("0012");
  });

  test("while the prober is cut off, answers that follow health are called stale, others are not", () => {
    const served = serve({ isStale: true });
    for (const type of ["A", "AAAA", "SRV", "ANY"]) {
      expect(option(served.ask({ name: NAME, type, edns: {} }), OPTION.error)).toBe("0003");
    }
    expect(served.ask({ name: NAME, type: "TXT", edns: {} }).edns?.options).toEqual([]);
    expect(served.ask({ name: NAME }).edns).toBeUndefined();
    expect(option(served.ask({ name: "crowd.k8s.example.test", edns: {} }), OPTION.error)).toBe("0003");
  });

  test("make no reply longer than its query, unless the client is known to have asked", () => {
    const served = serve();
    const bare = { name: "elsewhere.test", edns: {} };
    expect(option(served.ask(bare), OPTION.error)).toBeUndefined();
    const padded = { name: "elsewhere.test", ...withOption(12, Buffer.alloc(2)) };
    expect(option(served.ask(padded), OPTION.error)).toBe("0014");
    const learned = option(served.ask({ ...bare, ...withOption(OPTION.cookie, CLIENT_COOKIE) }), OPTION.cookie) ?? "";
    const proven = { ...bare, ...withOption(OPTION.cookie, Buffer.from(learned, "hex")) };
    expect(option(served.ask(proven), OPTION.error)).toBe("0014");
    expect(served.ask({ name: "elsewhere.test" }, "tcp").edns).toBeUndefined();
  });
});

describe("CHAOS", () => {
  const served = serve({ identity: Buffer.from("site-a"), version: Buffer.from("1.2") });
  test.each([
    { name: "id.server", text: "site-a" },
    { name: "HostName.Bind", text: "site-a" },
    { name: "version.bind", text: "1.2" },
    { name: "VERSION.server", text: "1.2" },
  ])("$name", ({ name, text }) => {
    for (const type of ["TXT", "ANY"]) {
      const message = served.ask({ name, type, class: "CH", rd: true, edns: {} });
      expect(message).toMatchObject({ rcode: "NOERROR", flags: { qr: true, aa: true, rd: true, ra: false } });
      expect(message.answers).toEqual([{ owner: `${name}.`, type: "TXT", class: "CH", ttl: 0, rdata: `"${text}"` }]);
    }
  });

  test("nothing else, and nothing at all unless configured", () => {
    const refused = [
      served.ask({ name: "authors.bind", type: "TXT", class: "CH" }),
      served.ask({ name: "version.bind", type: "A", class: "CH" }),
      served.ask({ name: NAME, class: "CH" }),
      serve().ask({ name: "version.bind", type: "TXT", class: "CH" }),
      serve({ version: Buffer.from("1.2") }).ask({ name: "id.server", type: "TXT", class: "CH" }),
      served.ask({ name: "version.bind", type: "TXT" }),
    ];
    for (const message of refused) expect(message).toMatchObject({ rcode: "REFUSED", answers: [] });
  });
});

describe("an access list", () => {
  const served = serve({
    allow: [
      { octets: addressOctets("10.1.0.0"), bits: 16 },
      { octets: addressOctets("2001:db8::"), bits: 32 },
    ],
  });
  test.each([
    { from: "10.1.2.3", rcode: "NOERROR" },
    { from: "10.2.0.1", rcode: "REFUSED" },
    { from: "2001:db8::9", rcode: "NOERROR" },
    { from: "2001:db9::9", rcode: "REFUSED" },
  ] as const)("$from: $rcode", ({ from, rcode }) => {
    for (const transport of ["udp", "tcp"] as const) {
      expect(served.ask({ name: NAME }, transport, from).rcode).toBe(rcode);
      expect(served.ask({ name: "elsewhere.test" }, transport, from).rcode).toBe("REFUSED");
    }
  });
});

describe("the rate limit", () => {
  const rateLimit = { perSecond: 20, slip: 2, ipv4Prefix: 24, ipv6Prefix: 56 };
  const send = (served: ServedZone, bytes: Buffer, from: string, transport: "udp" | "tcp" = "udp") => {
    const replies = Array.from({ length: 200 }, () => served.askRaw(bytes, transport, from));
    const received = replies.filter((reply) => reply !== undefined).map((reply) => parseMessage(reply));
    return {
      whole: received.filter(({ flags }) => !flags.tc).length,
      slipped: received.filter(({ flags }) => flags.tc),
      silent: replies.length - received.length,
    };
  };

  test("ten times as much as is allowed: the rest is dropped, or cut to TC without a record", () => {
    const served = serve({ rateLimit });
    const query = encodeQuery({ name: NAME, edns: {} });
    const { whole, slipped, silent } = send(served, query, "192.0.2.1");
    expect({ whole, slipped: slipped.length, silent }).toEqual({ whole: 20, slipped: 90, silent: 90 });
    for (const message of slipped) {
      expect(message).toMatchObject({
        rcode: "NOERROR",
        flags: { tc: true },
        answers: [],
        authorities: [],
        additionals: [],
      });
      expect(message.questions[0]?.name).toBe(`${NAME}.`);
      expect(message.edns?.options).toEqual([]);
      expect(message.bytes.length).toBeLessThanOrEqual(query.length);
    }
    expect(send(served, query, "198.51.100.1").whole).toBe(20);
  });

  test("holds for refusals and junk as well", () => {
    const served = serve({ rateLimit });
    expect(send(served, encodeQuery({ name: "elsewhere.test" }), "192.0.2.1").whole).toBe(20);
    expect(send(served, Buffer.alloc(12), "203.0.113.1")).toMatchObject({ whole: 20, slipped: [], silent: 180 });
  });

  test("not over TCP, and not with a valid cookie", () => {
    const served = serve({ rateLimit });
    expect(send(served, encodeQuery({ name: NAME }), "192.0.2.1", "tcp").whole).toBe(200);
    const learned =
      option(
        served.ask({ name: NAME, ...withOption(OPTION.cookie, CLIENT_COOKIE) }, "udp", "192.0.2.1"),
        OPTION.cookie,
      ) ?? "";
    const proven = encodeQuery({ name: NAME, ...withOption(OPTION.cookie, Buffer.from(learned, "hex")) });
    expect(send(served, proven, "192.0.2.1").whole).toBe(200);
    // The same cookie from elsewhere proves nothing.
    expect(send(served, proven, "192.0.3.1").whole).toBe(20);
  });
});

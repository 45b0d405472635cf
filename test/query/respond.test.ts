import { describe, expect, test } from "vitest";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters, sumCounters, TRANSPORT } from "../../src/query/counters.js";
import { createResponder } from "../../src/query/respond.js";
import { serveSketch } from "../answers/serve.js";
import { type DnsMessage, encodeName, encodeQuery, parseMessage } from "../support/dns-message.js";

const served = serveSketch({
  records: `
@          60 IN TXT   "apex"
@          60 IN MX    10 registry
registry   60 IN A     192.0.2.20
deep.ent   60 IN A     192.0.2.21
www        60 IN CNAME registry
out        60 IN CNAME www.elsewhere.test.
gone       60 IN CNAME nothing
loop       60 IN CNAME pool
pool       60 IN CNAME loop
down       60 IN CNAME x.child
dsalias    60 IN CNAME signed
*.wild     60 IN TXT   "w"
child      60 IN NS    ns1.child
ns1.child  60 IN A     192.0.2.53
signed     60 IN NS    ns.elsewhere.test.
signed     60 IN TYPE43 \\# 4 00010d02
`,
  endpoints: { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] } },
});

/** One line for each section: `owner type rdata`, the zone's name left out. */
function sections(message: DnsMessage): string {
  const short = (text: string) => text.replaceAll(/\.?k8s\.example\.test\./g, "").replace(/^$/, "@");
  const lines = (records: DnsMessage["answers"]) =>
    records
      .map(({ owner, type, rdata }) => `${short(owner)} ${type} ${type === "SOA" ? "…" : short(rdata)}`)
      .sort()
      .join("; ");
  return [message.answers, message.authorities, message.additionals].map(lines).join(" | ");
}

// Question, response code with AA, then answer | authority | additional.
const ANSWERS = [
  { ask: "registry A", is: "NOERROR AA", sections: "registry A 192.0.2.20 |  | " },
  { ask: "api A", is: "NOERROR AA", sections: "api A 192.0.2.11; api A 192.0.2.12; api A 192.0.2.13 |  | " },
  { ask: "api AAAA", is: "NOERROR AA", sections: "api AAAA 2001:db8::13 |  | " },
  { ask: "cp3.api AAAA", is: "NOERROR AA", sections: "cp3.api AAAA 2001:db8::13 |  | " },
  {
    ask: "_https._tcp.api SRV",
    is: "NOERROR AA",
    sections: [
      "_https._tcp.api SRV 0 1 6443 cp1.api; _https._tcp.api SRV 0 1 6443 cp2.api; _https._tcp.api SRV 0 1 6443 cp3.api",
      "",
      "cp1.api A 192.0.2.11; cp2.api A 192.0.2.12; cp3.api A 192.0.2.13; cp3.api AAAA 2001:db8::13",
    ].join(" | "),
  },
  { ask: "@ SOA", is: "NOERROR AA", sections: "@ SOA … |  | " },
  { ask: "@ NS", is: "NOERROR AA", sections: "@ NS ns1 |  | ns1 A 127.0.0.1" },
  { ask: "@ MX", is: "NOERROR AA", sections: "@ MX 10 registry |  | registry A 192.0.2.20" },
  // NODATA: a type that is not there, an empty non-terminal, the apex.
  { ask: "registry AAAA", is: "NOERROR AA", sections: " | @ SOA … | " },
  { ask: "registry TYPE65000", is: "NOERROR AA", sections: " | @ SOA … | " },
  { ask: "ent A", is: "NOERROR AA", sections: " | @ SOA … | " },
  { ask: "_tcp.api SRV", is: "NOERROR AA", sections: " | @ SOA … | " },
  { ask: "@ A", is: "NOERROR AA", sections: " | @ SOA … | " },
  { ask: "@ DS", is: "NOERROR AA", sections: " | @ SOA … | " },
  // NXDOMAIN, also below a name that has data.
  { ask: "nothing A", is: "NXDOMAIN AA", sections: " | @ SOA … | " },
  { ask: "x.registry A", is: "NXDOMAIN AA", sections: " | @ SOA … | " },
  { ask: "a.b.c.d.e.ent ANY", is: "NXDOMAIN AA", sections: " | @ SOA … | " },
  // Wildcards: the name itself, below it, the name it hangs from.
  { ask: "*.wild TXT", is: "NOERROR AA", sections: '*.wild TXT "w" |  | ' },
  { ask: "a.b.wild TXT", is: "NOERROR AA", sections: 'a.b.wild TXT "w" |  | ' },
  { ask: "a.wild A", is: "NOERROR AA", sections: " | @ SOA … | " },
  { ask: "wild TXT", is: "NOERROR AA", sections: " | @ SOA … | " },
  { ask: "x.*.wild TXT", is: "NXDOMAIN AA", sections: " | @ SOA … | " },
  // Aliases: inside, outside, to nothing, in a circle, into a child.
  { ask: "www A", is: "NOERROR AA", sections: "registry A 192.0.2.20; www CNAME registry |  | " },
  { ask: "www CNAME", is: "NOERROR AA", sections: "www CNAME registry |  | " },
  { ask: "www TXT", is: "NOERROR AA", sections: "www CNAME registry | @ SOA … | " },
  { ask: "www ANY", is: "NOERROR AA", sections: "www CNAME registry |  | " },
  { ask: "out A", is: "NOERROR AA", sections: "out CNAME www.elsewhere.test. |  | " },
  { ask: "gone A", is: "NXDOMAIN AA", sections: "gone CNAME nothing | @ SOA … | " },
  { ask: "loop A", is: "NOERROR AA", sections: "loop CNAME pool; pool CNAME loop |  | " },
  { ask: "down A", is: "NOERROR AA", sections: "down CNAME x.child | child NS ns1.child | ns1.child A 192.0.2.53" },
  { ask: "dsalias DS", is: "NOERROR AA", sections: "dsalias CNAME signed; signed DS \\# 4 00010d02 |  | " },
  { ask: "dsalias A", is: "NOERROR AA", sections: "dsalias CNAME signed | signed NS ns.elsewhere.test. | " },
  // Child delegations: at the cut, below it, glue; DS is ours.
  { ask: "child A", is: "NOERROR", sections: " | child NS ns1.child | ns1.child A 192.0.2.53" },
  { ask: "child NS", is: "NOERROR", sections: " | child NS ns1.child | ns1.child A 192.0.2.53" },
  { ask: "child ANY", is: "NOERROR", sections: " | child NS ns1.child | ns1.child A 192.0.2.53" },
  { ask: "ns1.child A", is: "NOERROR", sections: " | child NS ns1.child | ns1.child A 192.0.2.53" },
  { ask: "a.b.child DS", is: "NOERROR", sections: " | child NS ns1.child | ns1.child A 192.0.2.53" },
  { ask: "child DS", is: "NOERROR AA", sections: " | @ SOA … | " },
  { ask: "signed DS", is: "NOERROR AA", sections: "signed DS \\# 4 00010d02 |  | " },
  { ask: "signed A", is: "NOERROR", sections: " | signed NS ns.elsewhere.test. | " },
  // ANY: one RRset (RFC 8482 §4.1).
  { ask: "api ANY", is: "NOERROR AA", sections: "api A 192.0.2.11; api A 192.0.2.12; api A 192.0.2.13 |  | " },
  { ask: "ent ANY", is: "NOERROR AA", sections: " | @ SOA … | " },
] as const;

describe("a question is answered", () => {
  test.each(ANSWERS)("$ask: $is $sections", ({ ask, is, sections: expected }) => {
    const [owner = "", type = ""] = ask.split(" ");
    const name = owner === "@" ? "k8s.example.test" : `${owner}.k8s.example.test`;
    for (const transport of ["udp", "tcp"] as const) {
      const message = served.ask({ name, type, edns: {} }, transport);
      expect(`${message.rcode}${message.flags.aa ? " AA" : ""}`).toBe(is);
      expect(sections(message)).toBe(expected);
      expect(message.flags).toMatchObject({ qr: true, tc: false, ra: false, ad: false });
    }
  });

  test("of class ANY too, without AA: nobody is authoritative for all classes (RFC 1034 §3.7.1)", () => {
    const message = served.ask({ name: "registry.k8s.example.test", class: "ANY" });
    expect(message).toMatchObject({ rcode: "NOERROR", flags: { aa: false }, answers: [{ rdata: "192.0.2.20" }] });
  });
});

/** A query as octets, for breaking it. */
function query(
  change: (bytes: Buffer) => void = () => {},
  question: Parameters<typeof encodeQuery>[0] = { name: "api.k8s.example.test" },
): Buffer {
  const bytes = encodeQuery({ id: 0x4242, rd: true, ...question });
  change(bytes);
  return bytes;
}

const OPT = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
const RR = Buffer.concat([Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4]), Buffer.from([192, 0, 2, 1])]);

/** Appends records to a query and sets the counts of the last three sections. */
function withRecords(counts: readonly [number, number, number], ...records: readonly Uint8Array[]): Buffer {
  const bytes = query();
  counts.forEach((count, i) => {
    bytes.writeUInt16BE(count, 6 + 2 * i);
  });
  return Buffer.concat([bytes, ...records]);
}

const withOpt = (options: Uint8Array, change: (opt: Buffer) => void = () => {}): Buffer => {
  const opt = Buffer.concat([OPT, options]);
  opt.writeUInt16BE(options.length, 9);
  change(opt);
  return withRecords([0, 0, 1], opt);
};

describe("a question is refused", () => {
  const REFUSED = [
    { name: "out of the zone", bytes: query(undefined, { name: "www.elsewhere.test" }), rcode: "REFUSED" },
    { name: "above the zone", bytes: query(undefined, { name: "example.test" }), rcode: "REFUSED" },
    { name: "the root", bytes: query(undefined, { name: ".", type: "NS" }), rcode: "REFUSED" },
    { name: "class CH", bytes: query(undefined, { name: "version.bind", type: "TXT", class: "CH" }), rcode: "REFUSED" },
    {
      name: "class HS for a name of ours",
      bytes: query(undefined, { name: "api.k8s.example.test", class: "HS" }),
      rcode: "REFUSED",
    },
    { name: "class 0", bytes: query(undefined, { name: "api.k8s.example.test", class: "CLASS0" }), rcode: "REFUSED" },
    { name: "AXFR", bytes: query(undefined, { name: "k8s.example.test", type: "AXFR" }), rcode: "REFUSED" },
    { name: "IXFR", bytes: query(undefined, { name: "k8s.example.test", type: "IXFR" }), rcode: "REFUSED" },
    { name: "MAILB", bytes: query(undefined, { name: "k8s.example.test", type: "TYPE253" }), rcode: "REFUSED" },
    { name: "OPT as a type", bytes: query(undefined, { name: "k8s.example.test", type: "OPT" }), rcode: "FORMERR" },
    {
      name: "TSIG as a type",
      bytes: query(undefined, { name: "k8s.example.test", type: "TYPE250" }),
      rcode: "FORMERR",
    },
    {
      name: "TKEY as a type",
      bytes: query(undefined, { name: "k8s.example.test", type: "TYPE249" }),
      rcode: "FORMERR",
    },
    ...[1, 2, 5, 6, 15].map((opcode) => ({
      name: `opcode ${opcode}`,
      bytes: query(undefined, { name: "api.k8s.example.test", opcode, edns: {} }),
      rcode: "NOTIMP",
    })),
    {
      name: "NOTIFY with its SOA",
      bytes: query((bytes) => {
        bytes.writeUInt8(0x21, 2);
        bytes.writeUInt16BE(0, 6);
      }),
      rcode: "REFUSED",
    },
    {
      name: "EDNS version 1 of another operation",
      bytes: query(undefined, { name: "api.k8s.example.test", opcode: 2, edns: { version: 1 } }),
      rcode: "BADVERS",
    },
    { name: "a record in the answer section", bytes: withRecords([1, 0, 0], RR), rcode: "FORMERR" },
    { name: "a record that is announced and missing", bytes: withRecords([0, 0, 1]), rcode: "FORMERR" },
    { name: "a record cut short", bytes: withRecords([0, 0, 1], RR.subarray(0, -1)), rcode: "FORMERR" },
    {
      name: "a record whose data end too late",
      bytes: withRecords([0, 0, 1], Buffer.from([0, 0, 16, 0, 1, 0, 0, 0, 0, 0xff, 0xff])),
      rcode: "FORMERR",
    },
    { name: "octets behind the last record", bytes: withRecords([0, 0, 0], Buffer.from([0])), rcode: "FORMERR" },
    { name: "two OPT records", bytes: withRecords([0, 0, 2], OPT, OPT), rcode: "FORMERR" },
    {
      name: "OPT with an owner",
      bytes: withRecords([0, 0, 1], Buffer.concat([Buffer.from([1, 0x61]), OPT])),
      rcode: "FORMERR",
    },
    {
      name: "OPT whose owner is a pointer",
      bytes: withRecords([0, 0, 1], Buffer.concat([Buffer.from([0xc0, 12]), OPT.subarray(1)])),
      rcode: "FORMERR",
    },
    { name: "OPT in the authority section", bytes: withRecords([0, 1, 0], OPT), rcode: "FORMERR" },
    { name: "an option cut short", bytes: withOpt(Buffer.from([0, 3, 0, 5, 1])), rcode: "FORMERR" },
    { name: "half an option's head", bytes: withOpt(Buffer.from([0, 3, 0])), rcode: "FORMERR" },
    {
      name: "EDNS version 1",
      bytes: query(undefined, { name: "api.k8s.example.test", edns: { version: 1 } }),
      rcode: "BADVERS",
    },
    {
      name: "EDNS version 255",
      bytes: query(undefined, { name: "api.k8s.example.test", edns: { version: 255 } }),
      rcode: "BADVERS",
    },
  ];
  test.each(REFUSED)("$name: $rcode", ({ bytes, rcode }) => {
    for (const transport of ["udp", "tcp"] as const) {
      const reply = served.askRaw(bytes, transport);
      const message = parseMessage(reply ?? Buffer.alloc(0));
      expect(message).toMatchObject({ id: 0x4242, rcode, answers: [], authorities: [], additionals: [] });
      expect(message.flags).toEqual({ qr: true, aa: false, tc: false, rd: true, ra: false, ad: false, cd: false });
      // The question as it came, and nothing that makes the reply longer than the query.
      expect(reply?.subarray(12, 12 + 5).equals(bytes.subarray(12, 12 + 5))).toBe(true);
      if (transport === "udp") expect(message.bytes.length).toBeLessThanOrEqual(bytes.length);
    }
  });

  test("BADVERS names the version we speak (RFC 6891 §6.1.3)", () => {
    const message = served.ask({ name: "api.k8s.example.test", edns: { version: 3, dnssecOk: true } });
    expect(message).toMatchObject({
      rcode: "BADVERS",
      edns: { version: 0, dnssecOk: true, udpSize: 1232, options: [] },
    });
  });

  const UNREADABLE = [
    { name: "no question", bytes: query((bytes) => bytes.writeUInt16BE(0, 4)).subarray(0, 12), rcode: "FORMERR" },
    { name: "two questions", bytes: query((bytes) => bytes.writeUInt16BE(2, 4)), rcode: "FORMERR" },
    { name: "65,535 questions", bytes: query((bytes) => bytes.writeUInt16BE(0xffff, 4)), rcode: "FORMERR" },
    { name: "a header alone", bytes: query().subarray(0, 12), rcode: "FORMERR" },
    { name: "a name cut short", bytes: query().subarray(0, 20), rcode: "FORMERR" },
    { name: "a name without end", bytes: query().subarray(0, -5), rcode: "FORMERR" },
    { name: "no type", bytes: query().subarray(0, -4), rcode: "FORMERR" },
    { name: "half a class", bytes: query().subarray(0, -1), rcode: "FORMERR" },
    { name: "a pointer in the question", bytes: query((bytes) => bytes.writeUInt16BE(0xc00c, 12)), rcode: "FORMERR" },
    { name: "a reserved label type", bytes: query((bytes) => bytes.writeUInt8(0x43, 12)), rcode: "FORMERR" },
    { name: "a name of 256 octets", bytes: tooLongName(), rcode: "FORMERR" },
    {
      name: "an unknown operation of unknown form",
      bytes: query((bytes) => bytes.writeUInt8(15 << 3, 2)).subarray(0, 20),
      rcode: "NOTIMP",
    },
    {
      name: "two questions of an unknown operation",
      bytes: query((bytes) => bytes.writeUInt32BE(0x78000002, 2)),
      rcode: "NOTIMP",
    },
  ];
  test.each(UNREADABLE)("as a bare header: $name: $rcode", ({ bytes, rcode }) => {
    const reply = served.askRaw(bytes) ?? Buffer.alloc(0);
    expect(parseMessage(reply)).toMatchObject({
      id: 0x4242,
      rcode,
      questions: [],
      flags: { qr: true, aa: false, ra: false },
    });
    expect(reply).toHaveLength(12);
    expect(parseMessage(reply).opcode).toBe((bytes.readUInt8(2) >> 3) & 0xf);
  });

  test.each([0, 1, 2, 11])("with silence: %i octets", (length) => {
    expect(served.askRaw(query().subarray(0, length))).toBeUndefined();
  });

  test("with silence: a response", () => {
    expect(served.askRaw(query((bytes) => bytes.writeUInt8(0x80, 2)))).toBeUndefined();
  });

  test("with silence: everything of ours until the first round of probes; the rest is refused at once", () => {
    const early = serveSketch({ endpoints: { api: { cp1: ["192.0.2.1"] } } });
    early.state.ready = false;
    expect(early.askRaw(query())).toBeUndefined();
    expect(early.ask({ name: "elsewhere.test" }).rcode).toBe("REFUSED");
    early.state.ready = true;
    expect(early.ask({ name: "api.k8s.example.test" }).answers).toHaveLength(1);
  });
});

function tooLongName(): Buffer {
  const labels = encodeName(`${"a.".repeat(126)}b`);
  const name = Buffer.concat([labels.subarray(0, -1), Buffer.from([1, 0x61, 0])]);
  return Buffer.concat([query().subarray(0, 12), name, Buffer.from([0, 1, 0, 1])]);
}

describe("EDNS", () => {
  test("is answered where it is asked with, never where it is not", () => {
    expect(served.ask({ name: "api.k8s.example.test" }).edns).toBeUndefined();
    for (const name of [
      "api.k8s.example.test",
      "nothing.k8s.example.test",
      "x.child.k8s.example.test",
      "elsewhere.test",
    ]) {
      expect(served.ask({ name, edns: { udpSize: 4096 } }).edns).toEqual({
        udpSize: 1232,
        version: 0,
        dnssecOk: false,
        options: [],
      });
      expect(served.ask({ name, edns: { dnssecOk: true } }).edns?.dnssecOk).toBe(true);
    }
  });

  test("options and flags that are not known are not echoed", () => {
    const options = [8, 10, 12, 15, 65_001].map((code) => ({ code, data: Buffer.alloc(code === 10 ? 8 : 4) }));
    const message = served.ask({ name: "api.k8s.example.test", edns: { options } });
    expect(message).toMatchObject({ rcode: "NOERROR" });
    expect(message.edns?.options.filter(({ code }) => code !== 10)).toEqual([]);
    const flags = withOpt(Buffer.alloc(0), (opt) => opt.writeUInt16BE(0x7fff, 7));
    const reply = served.askRaw(flags) ?? Buffer.alloc(0);
    expect(reply.readUInt16BE(reply.length - 4)).toBe(0);
  });

  test("other additional and authority records are passed over (TSIG apart, which is refused elsewhere)", () => {
    const bytes = withRecords([0, 1, 2], RR, RR, OPT);
    expect(parseMessage(served.askRaw(bytes) ?? Buffer.alloc(0))).toMatchObject({
      rcode: "NOERROR",
      edns: { version: 0 },
    });
  });
});

test("what is asked and what becomes of it is counted", () => {
  const counters = createQueryCounters();
  const respond = createResponder(served.state, counters);
  const reply = new Uint8Array(65_535);
  const ask = (bytes: Buffer, transport: "udp" | "tcp" = "udp") =>
    respond(bytes, 0, bytes.length, reply, 0, TRANSPORT[transport], clientAt("127.0.0.1"));
  ask(query());
  ask(query(), "tcp");
  ask(query(undefined, { name: "nothing.k8s.example.test", type: "TYPE64000" }));
  ask(query(undefined, { name: "elsewhere.test", type: "AAAA" }));
  ask(query(undefined, { name: "api.k8s.example.test", edns: { version: 1 } }));
  ask(Buffer.alloc(3));
  ask(query((bytes) => bytes.writeUInt8(0x80, 2)));
  const totals = sumCounters([counters.memory]);
  const queries = totals.queries.filter(({ count }) => count > 0);
  expect(queries).toEqual([
    { transport: "udp", type: "A", count: 2 },
    { transport: "udp", type: "AAAA", count: 1 },
    { transport: "udp", type: "other", count: 1 },
    { transport: "tcp", type: "A", count: 1 },
  ]);
  const responses = totals.responses.filter(({ count }) => count > 0);
  expect(responses).toEqual([
    { rcode: 0, count: 2 },
    { rcode: 3, count: 1 },
    { rcode: 5, count: 1 },
    { rcode: 16, count: 1 },
  ]);
  expect(totals.dropped.filter(({ count }) => count > 0)).toEqual([
    { reason: "short", count: 1 },
    { reason: "response", count: 1 },
  ]);
  expect(totals.truncated).toBe(0);
});

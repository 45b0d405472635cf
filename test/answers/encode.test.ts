import { describe, expect, test } from "vitest";
import { ANSWER } from "../../src/answers/codec.js";
import { LookupName } from "../../src/answers/lookup-name.js";
import { nameOctets, parseName } from "../../src/wire/name.js";
import { NO_WORDS } from "../../src/wire/words.js";
import { encodeQuery, parseMessage } from "../support/dns-message.js";
import { serveSketch, type ZoneSketch } from "./serve.js";

const SKETCH: ZoneSketch = {
  records: `
www        60 IN CNAME api
*.wild     60 IN MX    10 mail
*.wild     60 IN TXT   "w"
*.alias    60 IN CNAME api
mail       60 IN A     192.0.2.25
child     300 IN NS    ns1.child
child     300 IN NS    ns2.child
ns1.child 300 IN A     192.0.2.53
ns2.child 300 IN AAAA  2001:db8::53
`,
  endpoints: { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] } },
};

const served = serveSketch(SKETCH);

describe("what only the query can tell", () => {
  test.each([0, 1, 0x1234, 0xffff])("the id %i", (id) => {
    expect(served.ask({ name: "api.k8s.example.test", id }).id).toBe(id);
  });

  test.each([true, false])("RD %s; RA, AD and CD never", (rd) => {
    const bytes = encodeQuery({ name: "api.k8s.example.test", rd });
    bytes.writeUInt8(bytes.readUInt8(3) | 0x30, 3);
    const { flags } = parseMessage(served.askRaw(bytes) ?? Buffer.alloc(0));
    expect(flags).toEqual({ qr: true, aa: true, tc: false, rd, ra: false, ad: false, cd: false });
  });

  test.each([
    ["api.k8s.example.test", "aPi.K8s.eXaMPLE.TesT."],
    ["an alias", "WwW.k8S.ExAmPlE.tEsT."],
    ["a wildcard", "SoMe.WILD.k8s.example.tesT."],
    ["NXDOMAIN", "NoThInG.k8s.EXAMPLE.test."],
    ["a referral", "DeEp.ChIlD.K8s.example.TEST."],
    ["REFUSED", "Out.OF.zone."],
  ])("the spelling of the question, in the question and as an owner: %s", (_, name) => {
    const message = served.ask({ name });
    expect(message.questions[0]?.name).toBe(name);
    const [first] = message.answers;
    if (first !== undefined) expect(first.owner).toBe(name);
  });
});

describe("pointers behind a question longer than the one compiled for", () => {
  test.each(["x", "a.b.c.d", "x".repeat(63), Array(100).fill("y").join(".")])("a wildcard: %s", (prefix) => {
    const message = served.ask({ name: `${prefix}.wild.k8s.example.test`, type: "MX", edns: {} });
    expect(message.answers).toEqual([
      {
        owner: `${prefix}.wild.k8s.example.test.`,
        type: "MX",
        class: "IN",
        ttl: 60,
        rdata: "10 mail.k8s.example.test.",
      },
    ]);
    expect(message.additionals).toMatchObject([{ owner: "mail.k8s.example.test.", rdata: "192.0.2.25" }]);
  });

  test("an alias at a wildcard", () => {
    const message = served.ask({ name: "a.b.c.alias.k8s.example.test", type: "AAAA" });
    expect(message.answers).toEqual([
      { owner: "a.b.c.alias.k8s.example.test.", type: "CNAME", class: "IN", ttl: 60, rdata: "api.k8s.example.test." },
      { owner: "api.k8s.example.test.", type: "AAAA", class: "IN", ttl: 5, rdata: "2001:db8::13" },
    ]);
  });

  test.each(["x", "a.b.c.d", "x".repeat(63)])("NXDOMAIN and NODATA: %s", (prefix) => {
    const soa = {
      owner: "k8s.example.test.",
      ttl: 5,
      rdata: "ns1.k8s.example.test. hostmaster.example.test. 1700000000 7200 900 1209600 5",
    };
    expect(served.ask({ name: `${prefix}.k8s.example.test` })).toMatchObject({ rcode: "NXDOMAIN", authorities: [soa] });
    const nodata = served.ask({ name: `${prefix}.wild.k8s.example.test`, type: "PTR" });
    expect(nodata).toMatchObject({ rcode: "NOERROR", answers: [], authorities: [soa] });
  });

  test.each(["child", "x.child", "a.b.c.d.child", `${"x".repeat(63)}.child`])("a referral for %s", (name) => {
    const message = served.ask({ name: `${name}.k8s.example.test` });
    expect(message).toMatchObject({ rcode: "NOERROR", flags: { aa: false }, answers: [] });
    expect(message.authorities.map(({ owner, rdata }) => `${owner} ${rdata}`)).toEqual([
      "child.k8s.example.test. ns1.child.k8s.example.test.",
      "child.k8s.example.test. ns2.child.k8s.example.test.",
    ]);
    expect(message.additionals.map(({ owner, rdata }) => `${owner} ${rdata}`)).toEqual([
      "ns1.child.k8s.example.test. 192.0.2.53",
      "ns2.child.k8s.example.test. 2001:db8::53",
    ]);
  });
});

describe("the order of addresses", () => {
  test("3,000 answers: each of three first in exactly a third, and the AAAA beside them untouched", () => {
    const first = new Map<string, number>();
    for (let i = 0; i < 3_000; i += 1) {
      const { answers } = served.ask({ name: "api.k8s.example.test" });
      expect(answers).toHaveLength(3);
      const address = answers[0]?.rdata ?? "";
      first.set(address, (first.get(address) ?? 0) + 1);
      if (i % 2 === 0) served.ask({ name: "api.k8s.example.test", type: "AAAA" });
    }
    expect([...first.keys()].sort()).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13"]);
    expect([...first.values()]).toEqual([1_000, 1_000, 1_000]);
  });

  test("behind aliases too, each time with all of them", () => {
    const first = new Set<string>();
    for (let i = 0; i < 6; i += 1) {
      const { answers } = served.ask({ name: "www.k8s.example.test" });
      expect(answers.map(({ type }) => type)).toEqual(["CNAME", "A", "A", "A"]);
      expect(new Set(answers.map(({ rdata }) => rdata)).size).toBe(4);
      first.add(answers[1]?.rdata ?? "");
    }
    expect(first.size).toBe(3);
  });

  test("above 64 records they are rotated", () => {
    const targets = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));
    const crowd = serveSketch({ endpoints: { api: targets } });
    const first = new Map<string, number>();
    for (let i = 0; i < 140; i += 1) {
      const { answers } = crowd.ask({ name: "api.k8s.example.test" }, "tcp");
      expect(new Set(answers.map(({ rdata }) => rdata)).size).toBe(70);
      first.set(answers[0]?.rdata ?? "", (first.get(answers[0]?.rdata ?? "") ?? 0) + 1);
    }
    expect([...first.values()]).toEqual(Array(70).fill(2));
  });

  test("maxAnswers: so many of them, each equally often", () => {
    const targets = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`t${i}`, [`192.0.2.${i + 1}`]]));
    const capped = serveSketch({ endpoints: { api: targets }, maxAnswers: 2, records: "www 60 IN CNAME api" });
    const seen = new Map<string, number>();
    for (let i = 0; i < 100; i += 1) {
      const { answers } = capped.ask({ name: "api.k8s.example.test" });
      expect(answers).toHaveLength(2);
      for (const { rdata } of answers) seen.set(rdata, (seen.get(rdata) ?? 0) + 1);
    }
    expect([...seen.values()]).toEqual(Array(5).fill(40));
    expect(capped.ask({ name: "www.k8s.example.test" }).answers.map(({ type }) => type)).toEqual(["CNAME", "A", "A"]);
    const all = capped.ask({ name: "_https._tcp.api.k8s.example.test", type: "SRV" });
    expect(all.answers).toHaveLength(5);
  });
});

describe("maxAnswers makes windows", () => {
  test.each([
    { count: 5, sent: 2 },
    { count: 5, sent: 3 },
    { count: 4, sent: 1 },
    { count: 70, sent: 66 },
  ])("$sent of $count: as many sets as addresses, each of neighbours, each address first equally often", (sizes) => {
    const { count, sent } = sizes;
    const targets = Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, [`192.0.2.${i + 1}`]]));
    const capped = serveSketch({ endpoints: { api: targets }, maxAnswers: sent });
    const windows = new Map<string, number>();
    const first = new Map<string, number>();
    const rounds = count * sent * 2;
    for (let i = 0; i < rounds; i += 1) {
      const { answers } = capped.ask({ name: "api.k8s.example.test" }, "tcp");
      const hosts = answers.map(({ rdata }) => Number(rdata.split(".")[3]));
      expect(new Set(hosts).size).toBe(sent);
      // One host of the window has no neighbour below it; from there on they follow each other round the circle.
      const start = hosts.filter((host) => !hosts.includes(host === 1 ? count : host - 1));
      expect(start).toHaveLength(1);
      windows.set(String(start[0]), (windows.get(String(start[0])) ?? 0) + 1);
      first.set(String(hosts[0]), (first.get(String(hosts[0])) ?? 0) + 1);
    }
    expect([...windows.values()]).toEqual(Array(count).fill(rounds / count));
    expect([...first.values()]).toEqual(Array(count).fill(rounds / count));
  });
});

/** Three addresses, a record behind them with a name of its own, and one whose owner is a pointer to that name. */
function withRecordsBehind(sent: number) {
  const text = `big IN TXT ${'"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" '.repeat(4)}`;
  const made = serveSketch({
    records: `${text}\n*.wild IN TXT ${'"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy" '.repeat(4)}`,
  });
  const { table } = made;
  for (const owner of ["big.k8s.example.test.", "x.wild.k8s.example.test."]) {
    const name = new LookupName();
    name.read(nameOctets(parseName(owner)), NO_WORDS, 0, owner.length + 1);
    table.find(name, 16);
    const { answers, found, octets } = table;
    const base = answers[found + ANSWER.baseLength] as number;
    const a = (host: number) => [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 192, 0, 2, host];
    const behindAt = 12 + base + 4 + 48;
    const own = [3, 0x73, 0x69, 0x67, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 198, 51, 100, 1];
    const pointing = [0xc0 | (behindAt >> 8), behindAt & 0xff, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 198, 51, 100, 2];
    const body = [...a(1), ...a(2), ...a(3), ...own, ...pointing];
    octets.set([...body, 0, 48 + own.length], answers[found + ANSWER.bodyAt]);
    const words = {
      answerCount: 5,
      bodyLength: body.length,
      requiredLength: body.length,
      pointerCount: 1,
      rotationAt: 0,
      rotationCount: 3,
      rotationStride: 16,
      rotationSent: sent,
    };
    for (const [word, value] of Object.entries(words)) answers[found + ANSWER[word as keyof typeof words]] = value;
  }
  return made;
}

describe("a rotated block with records behind it", () => {
  test.each([1, 2, 3].flatMap((sent) => ["big", "x.wild", "longer.x.wild"].map((name) => ({ sent, name }))))(
    "$sent of 3 are sent for $name, and what follows stands whole behind them",
    ({ sent, name }) => {
      const made = withRecordsBehind(sent);
      const seen = new Set<string>();
      for (let i = 0; i < 12; i += 1) {
        const { answers } = made.ask({ name: `${name}.k8s.example.test`, type: "TXT", edns: {} });
        expect(answers).toHaveLength(sent + 2);
        for (const { rdata } of answers.slice(0, sent)) seen.add(rdata);
        expect(answers.slice(sent)).toMatchObject([
          { owner: `sig.${name}.k8s.example.test.`, rdata: "198.51.100.1" },
          { owner: `sig.${name}.k8s.example.test.`, rdata: "198.51.100.2" },
        ]);
      }
      expect([...seen].sort()).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    },
  );
});

describe("what does not fit", () => {
  test("over TCP is SERVFAIL, never TC: there is nowhere else to ask", () => {
    // A zone with such an answer is refused; here its length is made up.
    const huge = serveSketch({ records: 'big IN TXT "x"' });
    const name = new LookupName();
    name.set(parseName("big.k8s.example.test."));
    huge.table.find(name, 16);
    for (const word of [ANSWER.bodyLength, ANSWER.requiredLength]) huge.table.answers[huge.table.found + word] = 65_500;
    const question = { name: "big.k8s.example.test", type: "TXT", edns: {} };
    expect(huge.ask(question)).toMatchObject({ flags: { tc: true }, answers: [] });
    expect(huge.ask(question, "tcp")).toMatchObject({ rcode: "SERVFAIL", flags: { tc: false }, answers: [] });
  });

  const targets = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));
  // 12 header + 26 question + 16 for each address: 29 fit into 512 octets, 30 do not.
  test.each([
    { count: 29, edns: undefined, isWhole: true },
    { count: 30, edns: undefined, isWhole: false },
    { count: 30, edns: { udpSize: 512 }, isWhole: false },
    { count: 28, edns: { udpSize: 512 }, isWhole: true },
    { count: 29, edns: { udpSize: 100 }, isWhole: false },
    { count: 30, edns: { udpSize: 540 }, isWhole: true },
    { count: 73, edns: { udpSize: 65_535 }, isWhole: true },
    { count: 74, edns: { udpSize: 65_535 }, isWhole: false },
  ])("$count addresses, EDNS $edns: whole $isWhole, else TC and no record", ({ count, edns, isWhole }) => {
    const crowd = serveSketch({ endpoints: { api: targets(count) } });
    const message = crowd.ask({ name: "api.k8s.example.test", ...(edns === undefined ? {} : { edns }) });
    expect(message.flags.tc).toBe(!isWhole);
    expect(message.answers).toHaveLength(isWhole ? count : 0);
    expect(message.bytes.length).toBeLessThanOrEqual(
      edns === undefined ? 512 : Math.min(1232, Math.max(512, edns.udpSize)),
    );
    expect(crowd.ask({ name: "api.k8s.example.test" }, "tcp").answers).toHaveLength(count);
  });

  test("additional addresses are left out without TC, glue is not", () => {
    const many = Array.from({ length: 24 }, (_, i) => `srv 60 IN SRV 0 0 1 h${i}\nh${i} 60 IN AAAA 2001:db8::${i + 1}`);
    const srv = serveSketch({ records: many.join("\n") }).ask({
      name: "srv.k8s.example.test",
      type: "SRV",
      edns: { udpSize: 1232 },
    });
    expect(srv).toMatchObject({ flags: { tc: false }, additionals: [] });
    expect(srv.answers).toHaveLength(24);

    const glue = Array.from(
      { length: 13 },
      (_, i) => `child 60 IN NS n${i}.child\nn${i}.child 60 IN AAAA 2001:db8::${i + 1}`,
    );
    const cut = serveSketch({ records: glue.join("\n") });
    expect(cut.ask({ name: "x.child.k8s.example.test" })).toMatchObject({
      flags: { tc: true },
      authorities: [],
      additionals: [],
    });
    const whole = cut.ask({ name: "x.child.k8s.example.test", edns: { udpSize: 1232 } });
    expect(whole.flags.tc).toBe(false);
    expect(whole.additionals).toHaveLength(13);
  });
});

import { describe, expect, test } from "vitest";
import type { Reply, ReplyRecord } from "../../src/client/reply.js";
import type { Heard, NameserverFacts } from "../../src/doctor/facts.js";
import { isAuthoritative, judgeNameservers, SERIAL_AHEAD_SECONDS } from "../../src/doctor/judge-nameservers.js";
import { addressRecord, heardReply, silence } from "./replies.js";

const ZONE = "k8s.example.com";
const API = `api.${ZONE}`;
const NOW = Date.parse("2026-06-01T00:00:00Z");
const NOW_SECONDS = NOW / 1000;

function record(type: string, data: string): ReplyRecord {
  return { name: ZONE, type, ttl: 5, data };
}

/** An authoritative answer with the zone's SOA. */
function soa(change: Partial<Reply> = {}, serial = NOW_SECONDS - 100, negativeTtl = 5): Heard {
  const data = `ns1.${ZONE}. hostmaster.${ZONE}. ${serial} 7200 900 1209600 ${negativeTtl}`;
  return heardReply({ aa: true, answers: [record("SOA", data)], ...change });
}

function addresses(...literals: readonly string[]): Heard {
  return heardReply({ aa: true, answers: literals.map((address) => addressRecord(API, address)) });
}

/** A nameserver as it should be, with changes. */
function nameserver(last: number, change: Partial<NameserverFacts> = {}): NameserverFacts {
  return {
    name: `ns${last}.${ZONE}`,
    server: { address: `192.0.2.${last}`, port: 53 },
    inParent: true,
    inConfig: true,
    soa: soa(),
    ns: heardReply({ answers: [record("NS", `ns1.${ZONE}.`), record("NS", `ns2.${ZONE}.`)] }),
    soaOverTcp: soa(),
    endpoints: new Map([[API, addresses("192.0.2.11", "192.0.2.12")]]),
    ...change,
  };
}

const judged = (...nameservers: readonly NameserverFacts[]) => judgeNameservers(nameservers, ZONE, NOW);
/** The findings about the first of two, in short. */
const briefly = (change: Partial<NameserverFacts>) =>
  judged(nameserver(1, change), nameserver(2)).map(({ severity, id, evidence }) => `${severity} ${id}: ${evidence}`);

test("two that agree are well", () => {
  expect(judged(nameserver(1), nameserver(2))).toEqual([]);
});

describe("one of them", () => {
  const noEdns: Partial<Reply> = { edns: undefined } as unknown as Partial<Reply>;

  test.each([
    {
      name: "refuses",
      change: { soa: heardReply({ rcode: "REFUSED" }) },
      findings: [`error nameserver-lame: It answers REFUSED when asked for ${ZONE} SOA.`],
    },
    {
      name: "answers without authority",
      change: { soa: soa({ aa: false }) },
      findings: [`error nameserver-lame: It answers without authority (no AA) when asked for ${ZONE} SOA.`],
    },
    {
      name: "answers without an SOA",
      change: { soa: soa({ answers: [] }) },
      findings: [`error nameserver-lame: It answers without an SOA when asked for ${ZONE} SOA.`],
    },
    {
      name: "is silent over TCP",
      change: { soaOverTcp: silence },
      findings: ["error nameserver-tcp-blocked: UDP answers; over TCP: no answer from 192.0.2.1:53 within 1500 ms."],
    },
    {
      name: "answers without EDNS",
      change: { soa: soa(noEdns) },
      findings: ["warning nameserver-edns-stripped: A query with an OPT record came back without one."],
    },
    {
      // What cannot be reached is a finding about the way there.
      name: "is silent",
      change: { soa: silence, ns: silence, soaOverTcp: silence, endpoints: new Map() },
      findings: [],
    },
  ])("$name", ({ change, findings }) => {
    expect(briefly(change)).toEqual(findings);
  });

  test.each([
    { rcode: "REFUSED", remedy: /^Serve k8s\.example\.com there \(livezone check/ },
    { rcode: "NOERROR", remedy: /^Another DNS server answers at that address/ },
  ])("is lame: what to do after $rcode", ({ rcode, remedy }) => {
    const [lame] = judged(nameserver(1, { soa: heardReply({ rcode }) }), nameserver(2));
    expect(lame).toMatchObject({ subject: `ns1.${ZONE} 192.0.2.1:53`, remedy: expect.stringMatching(remedy) });
  });
});

describe("a serial, which is the time of the last change", () => {
  test.each([
    { ahead: -86_400, findings: [] },
    { ahead: SERIAL_AHEAD_SECONDS, findings: [] },
    { ahead: SERIAL_AHEAD_SECONDS + 1, findings: ["clock-skew"] },
  ])("$ahead s ahead of this machine's clock", ({ ahead, findings }) => {
    const found = judged(nameserver(1, { soa: soa({}, NOW_SECONDS + ahead) }), nameserver(2));
    expect(found.map(({ id }) => id)).toEqual(findings);
    for (const { evidence } of found) expect(evidence).toContain(`lies ${ahead} s in the future`);
  });
});

describe("one address alone", () => {
  test.each([
    { name: "in the configuration", nameservers: [nameserver(1)], findings: ["nameserver-single"] },
    {
      name: "that has two names",
      nameservers: [nameserver(1), { ...nameserver(1), name: "other.test" }],
      findings: ["nameserver-single"],
    },
    {
      name: "beside one that only the parent gives",
      nameservers: [nameserver(1), nameserver(2, { inConfig: false })],
      findings: ["nameserver-single"],
    },
    { name: "is not counted where the configuration gives none", nameservers: [], findings: [] },
  ])("$name", ({ nameservers, findings }) => {
    expect(judged(...nameservers).map(({ id }) => id)).toEqual(findings);
  });
});

describe("siblings", () => {
  test("that differ in health: who says what", () => {
    const found = judged(
      nameserver(1, { endpoints: new Map([[API, addresses("192.0.2.12")]]) }),
      nameserver(2),
      nameserver(3, { endpoints: new Map([[API, addresses("192.0.2.12", "192.0.2.11")]]) }),
      nameserver(4, { endpoints: new Map([[API, heardReply({ aa: true })]]) }),
      nameserver(5, { endpoints: new Map([[API, silence]]) }),
      nameserver(6, { endpoints: new Map() }),
    );
    expect(found).toEqual([
      expect.objectContaining({
        id: "siblings-answers-differ",
        severity: "error",
        subject: API,
        evidence: [
          `ns1.${ZONE} 192.0.2.1:53: 192.0.2.12`,
          `ns2.${ZONE} 192.0.2.2:53 and ns3.${ZONE} 192.0.2.3:53: 192.0.2.11 192.0.2.12`,
          `ns4.${ZONE} 192.0.2.4:53: no address (NOERROR)`,
          `ns5.${ZONE} 192.0.2.5:53: no answer from 192.0.2.1:53 within 1500 ms`,
          `ns6.${ZONE} 192.0.2.6:53: not asked`,
        ].join("; "),
      }),
    ]);
  });

  test.each([
    { name: "another serial only", change: { soa: soa({}, NOW_SECONDS - 5) }, findings: [] },
    {
      name: "NS records in another order and letter case",
      change: { ns: heardReply({ answers: [record("NS", `NS2.${ZONE}.`), record("NS", `ns1.${ZONE}.`)] }) },
      findings: [],
    },
    {
      name: "another SOA",
      change: { soa: soa({}, NOW_SECONDS, 60) },
      findings: ["warning siblings-configuration-differs"],
    },
    {
      name: "fewer NS records",
      change: { ns: heardReply({ answers: [record("NS", `ns1.${ZONE}.`)] }) },
      findings: ["warning siblings-configuration-differs"],
    },
    { name: "no answer for NS, which says nothing of the zone", change: { ns: silence }, findings: [] },
  ])("that differ in the zone: $name", ({ change, findings }) => {
    expect(briefly(change).map((text) => text.split(":")[0])).toEqual(findings);
  });

  test("are compared only if they serve the zone", () => {
    const other = new Map([[API, addresses("198.51.100.1")]]);
    const lame = nameserver(1, { soa: soa({ aa: false }), endpoints: other, ns: silence });
    expect(judged(lame, nameserver(2), nameserver(3)).map(({ id }) => id)).toEqual(["nameserver-lame"]);
  });
});

test.each([
  { name: "a whole answer", heard: soa(), expected: true },
  { name: "silence", heard: silence, expected: false },
  { name: "another code", heard: soa({ rcode: "SERVFAIL" }), expected: false },
  { name: "no AA", heard: soa({ aa: false }), expected: false },
  { name: "no SOA", heard: soa({ answers: [] }), expected: false },
])("whether it serves the zone: $name", ({ heard, expected }) => {
  expect(isAuthoritative(nameserver(1, { soa: heard }))).toBe(expected);
});

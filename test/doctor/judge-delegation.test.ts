import { describe, expect, test } from "vitest";
import type { ReplyRecord } from "../../src/client/reply.js";
import type { DelegationFacts, Heard, NameserverFacts } from "../../src/doctor/facts.js";
import { glueOf, judgeDelegation, judgeReachability, referralIn } from "../../src/doctor/judge-delegation.js";
import { addressRecord, heardReply, silence } from "./replies.js";

const ZONE = "k8s.example.com";
const SERVER = { address: "192.0.2.1", port: 53 };

function ns(data: string, name = ZONE): ReplyRecord {
  return { name, type: "NS", ttl: 300, data };
}

/** A parent's referral: `ns1 192.0.2.11 2001:db8::11` is a nameserver of the zone with its glue. */
function referral(...servers: readonly string[]): Heard {
  const named = servers.map((text) => {
    const [name = "", ...glue] = text.split(" ");
    return { fqdn: name.endsWith(".") ? name.slice(0, -1) : `${name}.${ZONE}`, glue };
  });
  return heardReply({
    authorities: named.map(({ fqdn }) => ns(`${fqdn}.`)),
    additionals: named.flatMap(({ fqdn, glue }) => glue.map((address) => addressRecord(fqdn, address))),
  });
}

/** The zone's own nameservers. */
const EXPECTED = {
  zone: ZONE,
  nameservers: new Map([
    [`ns1.${ZONE}`, ["192.0.2.11"]],
    [`ns2.${ZONE}`, ["192.0.2.12", "2001:db8::12"]],
    ["ns.elsewhere.test", []],
  ]),
};
const RIGHT = ["ns1 192.0.2.11", "ns2 192.0.2.12 2001:db8::12", "ns.elsewhere.test."];

function judged(heard: readonly Heard[], change: Partial<DelegationFacts> = {}, resolves = false) {
  const parents = heard.map((one, index) => ({ server: { ...SERVER, port: 53 + index }, heard: one }));
  return judgeDelegation({ parents, ...change }, EXPECTED, resolves);
}

describe("what the parent says, beside what the zone has", () => {
  const cases = [
    { name: "the same", parent: RIGHT, findings: [] },
    { name: "the same in another order", parent: [...RIGHT].reverse(), findings: [] },
    {
      name: "a nameserver that the zone lacks",
      parent: [...RIGHT, "old.elsewhere.test."],
      findings: ["error delegation-ns-mismatch: it names old.elsewhere.test, which the zone does not have."],
    },
    {
      name: "a nameserver less",
      parent: RIGHT.slice(1),
      findings: [`warning delegation-ns-mismatch: it lacks ns1.${ZONE}.`],
    },
    {
      name: "one for another",
      parent: [...RIGHT.slice(1), "old.elsewhere.test."],
      findings: [
        `error delegation-ns-mismatch: it names old.elsewhere.test, which the zone does not have, and it lacks ns1.${ZONE}.`,
      ],
    },
    {
      name: "an address that is not the nameserver's",
      parent: ["ns1 192.0.2.99", ...RIGHT.slice(1)],
      findings: [`error glue-mismatch: gives 192.0.2.99 for ns1.${ZONE}; the zone has 192.0.2.11.`],
    },
    {
      name: "an address less",
      parent: ["ns1 192.0.2.11", "ns2 192.0.2.12", "ns.elsewhere.test."],
      findings: [`warning glue-mismatch: gives 192.0.2.12 for ns2.${ZONE}; the zone has 192.0.2.12 and 2001:db8::12.`],
    },
    {
      name: "no address for a nameserver inside the zone",
      parent: ["ns1", ...RIGHT.slice(1)],
      findings: [`error glue-missing: names ns1.${ZONE} without an address.`],
    },
  ] as const;

  test.each(cases)("$name", ({ parent, findings }) => {
    const told = judged([referral(...parent)]).map(({ severity, id, evidence }) => {
      const seen = evidence.replace(/^the parent's server 192\.0\.2\.1:53:? /, "");
      expect(seen).not.toBe(evidence);
      return `${severity} ${id}: ${seen}`;
    });
    expect(told).toEqual(findings);
  });

  test("each server of the parent is judged by itself", () => {
    const found = judged([referral(...RIGHT), referral(...RIGHT.slice(1))]);
    expect(found.map(({ evidence }) => evidence)).toEqual([expect.stringContaining("192.0.2.1:54")]);
  });

  test.each([
    { lost: "ns1", remedy: `ns1.${ZONE}. A 192.0.2.11` },
    { lost: "ns2", remedy: `ns2.${ZONE}. A 192.0.2.12; ns2.${ZONE}. AAAA 2001:db8::12` },
  ])("the remedy for missing glue is what to write: $lost", ({ lost, remedy }) => {
    const parent = RIGHT.map((text) => (text.startsWith(lost) ? lost : text));
    expect(judged([referral(...parent)])[0]?.remedy).toBe(`Add to the parent zone: ${remedy}`);
  });

  test("the remedy for wrong glue too", () => {
    const [found] = judged([referral("ns1 192.0.2.99", ...RIGHT.slice(1))]);
    expect(found?.remedy).toBe(`In the parent zone, write: ns1.${ZONE}. A 192.0.2.11`);
  });
});

describe("a parent without a delegation", () => {
  test.each([
    { heard: heardReply(), resolves: false, severity: "error", seen: "answers without NS records" },
    { heard: heardReply({ rcode: "NXDOMAIN" }), resolves: false, severity: "error", seen: "answers NXDOMAIN" },
    { heard: heardReply(), resolves: true, severity: "warning", seen: "answers without NS records" },
  ])("$severity: $seen; it resolves all the same: $resolves", ({ heard, resolves, severity, seen }) => {
    expect(judged([heard], {}, resolves)).toEqual([
      expect.objectContaining({
        id: "delegation-missing",
        severity,
        subject: ZONE,
        evidence: `the parent's server 192.0.2.1:53 ${seen} when asked for ${ZONE} NS.`,
        meaning: expect.stringContaining(resolves ? "a rule of their own" : "No resolver can find the zone"),
        remedy: `Paste what "livezone delegation ${ZONE}" prints into the parent zone.`,
      }),
    ]);
  });
});

describe("a parent that could not be asked", () => {
  const refused = heardReply({ rcode: "REFUSED" });
  const failing = heardReply({ rcode: "SERVFAIL" });

  test.each([
    { name: "none was found", heard: [], change: { problem: "The parent zone was looked for in vain: x." } },
    { name: "silent", heard: [silence], evidence: "no answer from 192.0.2.1:53 within 1500 ms" },
    {
      name: "none says anything of use",
      heard: [refused, failing],
      evidence: "192.0.2.1:53 says REFUSED and 192.0.2.1:54 says SERVFAIL",
    },
  ])("$name", ({ heard, change, evidence }) => {
    expect(judged(heard, change)).toEqual([
      expect.objectContaining({
        id: "delegation-unchecked",
        severity: "warning",
        evidence: evidence ?? change?.problem,
        remedy: expect.stringMatching(/--parent ADDRESS\.$/),
      }),
    ]);
  });

  test("is no finding while another of its servers tells", () => {
    expect(judged([refused, silence, referral(...RIGHT)])).toEqual([]);
  });

  test("and was named by the user: the remedy does not say to name one", () => {
    expect(judged([silence], { areNamed: true })[0]?.remedy).toMatch(/^See that what --parent names is authoritative/);
  });
});

describe("referralIn", () => {
  test("takes NS records of the zone from the authority and the answer section, whatever the letter case", () => {
    const heard = heardReply({
      authorities: [ns("NS1.K8S.example.com.")],
      answers: [ns("ns2.k8s.example.com."), ns("ns.example.com.", "example.com")],
      additionals: [addressRecord(`ns1.${ZONE}`, "192.0.2.11"), addressRecord("other.test", "192.0.2.99")],
    });
    expect(referralIn(heard, ZONE)).toEqual(
      new Map([
        [`ns1.${ZONE}`, ["192.0.2.11"]],
        [`ns2.${ZONE}`, []],
      ]),
    );
  });

  test.each([
    { name: "silence", heard: silence },
    { name: "no records", heard: heardReply() },
    { name: "the parent's own", heard: heardReply({ authorities: [ns("ns.example.com.", "example.com")] }) },
  ])("finds none in $name", ({ heard }) => {
    expect(referralIn(heard, ZONE)).toBeUndefined();
  });
});

test("glueOf puts together what all servers of the parent give", () => {
  const heard = [referral("ns1 192.0.2.11"), silence, referral("ns1 192.0.2.99", "ns2 2001:db8::12")];
  const parents = heard.map((one) => ({ server: SERVER, heard: one }));
  expect(glueOf({ parents }, ZONE)).toEqual(
    new Map([
      [`ns1.${ZONE}`, new Set(["192.0.2.11", "192.0.2.99"])],
      [`ns2.${ZONE}`, new Set(["2001:db8::12"])],
    ]),
  );
});

describe("an address of a nameserver where nothing answers", () => {
  function nameserver(inParent: boolean, inConfig: boolean, soa: Heard): NameserverFacts {
    const heard = { soa, ns: soa, soaOverTcp: soa, endpoints: new Map() };
    return { name: `ns1.${ZONE}`, server: { address: "2001:db8::11", port: 53 }, inParent, inConfig, ...heard };
  }

  test.each([
    { inParent: true, inConfig: true, id: "glue-unreachable", remedy: /out of the parent and the zone\.$/ },
    { inParent: true, inConfig: false, id: "glue-unreachable", remedy: /^Take the address out of the parent zone\.$/ },
    { inParent: false, inConfig: true, id: "nameserver-unreachable", remedy: /out of nameservers:\.$/ },
  ])("in the parent: $inParent, in the zone: $inConfig", ({ inParent, inConfig, id, remedy }) => {
    expect(judgeReachability([nameserver(inParent, inConfig, silence)], ZONE)).toEqual([
      expect.objectContaining({
        id,
        severity: "error",
        subject: `ns1.${ZONE} [2001:db8::11]:53`,
        evidence: `Asked for ${ZONE} SOA: no answer from 192.0.2.1:53 within 1500 ms.`,
        remedy: expect.stringMatching(remedy),
      }),
    ]);
  });

  test("one that answers, whatever it says, is reachable", () => {
    expect(judgeReachability([nameserver(true, true, heardReply({ rcode: "REFUSED" }))], ZONE)).toEqual([]);
  });
});

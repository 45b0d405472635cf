import { describe, expect, test } from "vitest";
import type { Reply } from "../../src/client/reply.js";
import type { Heard } from "../../src/doctor/facts.js";
import { judgeStripped, judgeUnresolved } from "../../src/doctor/judge-unresolved.js";

const ZONE = "k8s.example.com";
const NAME = `api.${ZONE}`;

function reply(rcode: string, addresses: readonly string[] = [], change: Partial<Reply> = {}): Heard {
  const answers = addresses.map((address) => ({ name: NAME, type: "A", ttl: 5, data: address, address }));
  return {
    reply: { id: 0, rcode, aa: false, tc: false, ra: true, answers, authorities: [], additionals: [], ...change },
  };
}

const BOGUS = { udpOctets: 1232, version: 0, options: [{ code: 15, data: Uint8Array.of(0, 9, 110, 111) }] };

describe("judgeUnresolved", () => {
  const servfail = reply("SERVFAIL", [], { edns: BOGUS });
  test.each([
    { name: "SERVFAIL, and an answer without validation", unvalidated: reply("NOERROR", ["10.0.0.11"]), bogus: true },
    { name: "SERVFAIL in either case", unvalidated: reply("SERVFAIL"), bogus: false },
    { name: "no address without validation either", unvalidated: reply("NOERROR"), bogus: false },
    { name: "silence without validation", unvalidated: { silence: "no answer" }, bogus: false },
    { name: "not asked", unvalidated: undefined, bogus: false },
  ])("$name", ({ unvalidated, bogus }) => {
    const resolved = {
      first: [servfail, servfail],
      otherFamily: [],
      ...(unvalidated === undefined ? {} : { unvalidated }),
    };
    const finding = judgeUnresolved("resolver", NAME, resolved, ZONE);
    expect(finding.id).toBe(bogus ? "resolver-bogus" : "resolver-fails");
    expect(finding.evidence).toContain('SERVFAIL (extended error 9, DNSKEY Missing: "no")');
  });
});

describe("judgeStripped: what the nameservers answer, and what arrives", () => {
  const soaReply = reply("NOERROR", [], { answers: [{ name: ZONE, type: "SOA", ttl: 5, data: "" }] });
  const all = ["10.0.0.11", "10.0.0.12"];
  test.each([
    { name: "no address, the zone is known", first: reply("NOERROR"), found: true },
    { name: "SERVFAIL, the zone is known", first: reply("SERVFAIL"), found: true },
    { name: "NXDOMAIN", first: reply("NXDOMAIN"), found: false },
    { name: "the zone is not known either", first: reply("SERVFAIL"), soa: reply("SERVFAIL"), found: false },
    { name: "all", first: reply("NOERROR", all), found: false },
    { name: "one of two, as health has it", first: reply("NOERROR", ["10.0.0.11"]), found: false },
    {
      name: "only the public one",
      first: reply("NOERROR", ["8.8.4.4"]),
      answered: ["10.0.0.11", "8.8.4.4"],
      found: true,
    },
    { name: "public ones", first: reply("NOERROR"), answered: ["8.8.4.4"], found: false },
    { name: "the nameservers cannot be asked from here", first: reply("NOERROR"), answered: [], found: true },
  ])("$name", ({ first, soa = soaReply, answered = all, found }) => {
    const known = { possible: new Set(all), answered: new Set(answered) };
    const findings = judgeStripped("resolver", NAME, { first: [first], otherFamily: [] }, soa, known, ZONE);
    expect(findings.map(({ id }) => id)).toEqual(found ? ["resolver-strips-private"] : []);
    if (found) expect(findings[0]?.remedy).toContain(`private-domain: "${ZONE}"`);
  });
});

import { describe, expect, test } from "vitest";
import type { Reply } from "../../src/client/reply.js";
import type { Heard, ResolvedFacts, ResolverFacts } from "../../src/doctor/facts.js";
import { judgeResolver } from "../../src/doctor/judge-resolver.js";
import { addressRecord, heardReply } from "./replies.js";

const NAME = "api.k8s.example.com";

/** An answer with this TTL. */
function answer(ttl: number, change: Partial<Reply> = {}): Heard {
  return heardReply({ answers: [addressRecord(NAME, "192.0.2.11", ttl)], ...change });
}

const NXDOMAIN = answer(0, { rcode: "NXDOMAIN", answers: [] });
const STALE = { udpOctets: 1232, version: 0, options: [{ code: 15, data: Uint8Array.of(0, 3, 65) }] };

const expected = {
  zone: "k8s.example.com",
  endpoints: new Map([[NAME, { ttl: 5, addresses: new Set(["192.0.2.11"]) }]]),
  answered: new Map([[NAME, new Set(["192.0.2.11"])]]),
  negativeTtl: 5,
  nameservers: new Set(["192.0.2.53"]),
};

function idsFor(resolved: Partial<ResolvedFacts>, facts: Partial<ResolverFacts> = {}): string[] {
  const endpoint = { first: [answer(5), answer(5)], otherFamily: [], ...resolved };
  const resolver: ResolverFacts = {
    server: { address: "192.0.2.1", port: 53 },
    source: "--resolver",
    isOwn: false,
    endpoints: new Map([[NAME, endpoint]]),
    overTcp: answer(5),
    negatives: [NXDOMAIN, NXDOMAIN],
    ...facts,
  };
  return judgeResolver(resolver, expected).map(({ id }) => id);
}

describe("TTLs, seconds: at first, and when they have run out", () => {
  const cases = [
    { name: "as the zone has it", first: [5, 5], later: [5, 5], ids: [] },
    { name: "counted down by a cache that others filled", first: [3, 3], later: [4, 4], ids: [] },
    { name: "longer throughout", first: [30, 30], later: [24, 24], ids: ["resolver-ttl-stretched"] },
    { name: "longer from the second answer on", first: [5, 30], later: [24, 24], ids: ["resolver-ttl-stretched"] },
    { name: "one second longer", first: [6, 6], later: [6, 6], ids: ["resolver-ttl-stretched"] },
    { name: "stale, then fresh", first: [5, 5], later: [30, 5], ids: ["resolver-serves-stale"] },
    { name: "stale at once, then fresh", first: [30, 5], later: [5, 5], ids: ["resolver-serves-stale"] },
  ];
  test.each(cases)("$name", ({ first, later, ids }) => {
    expect(idsFor({ first: first.map((ttl) => answer(ttl)), later: later.map((ttl) => answer(ttl)) })).toEqual(ids);
  });

  test("marked as stale, whatever the TTL", () => {
    expect(idsFor({ later: [answer(1, { edns: STALE }), answer(5)] })).toEqual(["resolver-serves-stale"]);
  });

  test.each([
    { ttl: 4, ids: [] },
    { ttl: 3, ids: ["resolver-ttl-clamped"] },
  ])("$ttl s of a name that no cache held", ({ ttl, ids }) => {
    expect(idsFor({ uncached: answer(ttl) })).toEqual(ids);
  });
});

test("answers for names that do not exist are told", () => {
  expect(idsFor({}, { negatives: [answer(60)] })).toEqual(["resolver-invents-answers"]);
});

test("one that recurses for the zone's nameserver too is a resolver like any other", () => {
  const server = { address: "192.0.2.53", port: 53 };
  expect(idsFor({}, { server })).toEqual([]);
  expect(idsFor({ first: [answer(5, { ra: false })] }, { server })).toEqual(["livezone-as-resolver"]);
  expect(idsFor({ first: [answer(5, { aa: true, ra: false })] })).toEqual(["livezone-as-resolver"]);
});

test("a silent one is livezone only where resolv.conf names a nameserver of the zone", () => {
  const first = [{ silence: "cannot ask 192.0.2.53:5353: nothing listens there" }];
  const server = { address: "192.0.2.53", port: 5353 };
  expect(idsFor({ first }, { server })).toEqual(["resolver-unreachable"]);
  expect(idsFor({ first }, { server, isOwn: true })).toEqual(["livezone-as-resolver"]);
});

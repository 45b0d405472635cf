import { describe, expect, test } from "vitest";
import { collectResolver, MAX_WATCHED_TTL, type ResolvedEndpoint } from "../../src/doctor/collect-resolver.js";
import type { Heard, ResolverFacts } from "../../src/doctor/facts.js";
import { createFakeClock } from "../support/fake-clock.js";
import { type Script, scripted, told } from "./asking.js";
import { addressRecord, heardReply, silence } from "./replies.js";

const ZONE = "k8s.test";
const API = "api.k8s.test";
const RESOLVER = { server: { address: "192.0.2.1", port: 53 }, source: "--resolver", isOwn: false };
const NXDOMAIN = heardReply({ rcode: "NXDOMAIN" });

function endpoint(change: Partial<ResolvedEndpoint> = {}): ResolvedEndpoint {
  const targets = [{ name: `cp1.${API}`, addresses: ["192.0.2.11"] }];
  return { fqdn: API, types: ["A"], ttl: 5, targets, ...change };
}

const answer = (address: string, ttl = 5): Heard => heardReply({ answers: [addressRecord(API, address, ttl)] });
const FIRST = answer("192.0.2.11");

/** A resolver that is as it should be. */
const WELL: Script = {
  [`${API} A`]: FIRST,
  [`cp1.${API} A`]: FIRST,
  [`absent-1.${ZONE} A`]: NXDOMAIN,
  [`${ZONE} SOA`]: heardReply({ answers: [] }),
};

/** Collects, letting time pass. */
async function collect(script: Script, endpoints: readonly ResolvedEndpoint[] = [endpoint()]) {
  const clock = createFakeClock();
  const { ask, asked } = scripted(script);
  /** Each question with the second in which it was asked. */
  const timed: string[] = [];
  let facts: ResolverFacts | undefined;
  const collecting = collectResolver(
    (question) => {
      timed.push(`${(clock.monotonicMs() / 1000).toFixed(1)} ${told(question).replace(" @192.0.2.1", "")}`);
      return ask(question);
    },
    clock,
    RESOLVER,
    ZONE,
    endpoints,
    () => "absent-1",
  ).then((collected) => {
    facts = collected;
  });
  for (let second = 0; facts === undefined && second < 60; second += 1) await clock.advance(1_000);
  await collecting;
  return { facts: facts as unknown as ResolverFacts, timed, recursions: asked.map(({ recurse }) => recurse) };
}

describe("an endpoint over time", () => {
  test("is asked for twice, and twice again when a cache must have dropped it", async () => {
    const { facts, timed, recursions } = await collect(WELL);
    expect(timed.filter((text) => !text.includes("absent")).sort()).toEqual([
      ...[`0.0 ${API} A`, `0.0 ${API} A`, `0.0 tcp ${API} A`],
      ...[`6.1 ${API} A`, `6.4 ${API} A`, `6.4 cp1.${API} A`],
    ]);
    expect(facts).toMatchObject(RESOLVER);
    expect(facts.endpoints.get(API)).toEqual({
      first: [FIRST, FIRST],
      otherFamily: [],
      later: [FIRST, FIRST],
      uncached: FIRST,
    });
    expect(recursions.every(Boolean)).toBe(true);
  });

  test("of another target later: the target's own name is that of what is answered then", async () => {
    const later = answer("192.0.2.12");
    const targets = [
      { name: `cp1.${API}`, addresses: ["192.0.2.11"] },
      { name: `cp2.${API}`, addresses: ["192.0.2.12"] },
    ];
    const script = { ...WELL, [`${API} A`]: [FIRST, FIRST, FIRST, later], [`cp2.${API} A`]: later };
    const { facts } = await collect(script, [endpoint({ targets })]);
    expect(facts.endpoints.get(API)).toMatchObject({ later: [later, later], uncached: later });
  });

  test("with an address that no target has, the target's name is not asked for", async () => {
    const { facts } = await collect({ ...WELL, [`${API} A`]: answer("198.51.100.1") });
    expect(facts.endpoints.get(API)).toHaveProperty("later");
    expect(facts.endpoints.get(API)).not.toHaveProperty("uncached");
  });

  test.each([
    { ttl: MAX_WATCHED_TTL, isWatched: true },
    { ttl: MAX_WATCHED_TTL + 1, isWatched: false },
  ])("with a TTL of $ttl s is waited for: $isWatched", async ({ ttl, isWatched }) => {
    const { facts, timed } = await collect(WELL, [endpoint({ ttl })]);
    expect(facts.endpoints.get(API)?.later !== undefined).toBe(isWatched);
    expect(timed.some((text) => !text.startsWith("0.0 "))).toBe(isWatched);
  });

  test("among several, the longest TTL is waited for once, and those that take too long are left out", async () => {
    const names = ["a.k8s.test", "b.k8s.test", "c.k8s.test"];
    const script = Object.fromEntries(names.map((name) => [`${name} A`, FIRST]));
    const endpoints = names.map((fqdn, index) => endpoint({ fqdn, ttl: [2, 10, 300][index] as number }));
    const { facts, timed } = await collect({ ...WELL, ...script }, endpoints);
    expect(names.map((name) => facts.endpoints.get(name)?.later?.length)).toEqual([2, 2, undefined]);
    expect(new Set(timed.map((text) => text.split(" ")[0]))).toEqual(new Set(["0.0", "11.1", "11.4"]));
  });
});

describe("an endpoint with two families", () => {
  const six = heardReply({ answers: [addressRecord(API, "2001:db8::11")] });
  const both = endpoint({ types: ["A", "AAAA"] });

  test("is watched with the first that has addresses, and asked for the other once", async () => {
    const { facts } = await collect({ ...WELL, [`${API} AAAA`]: six }, [both]);
    expect(facts.endpoints.get(API)).toMatchObject({ first: [FIRST, FIRST], otherFamily: [six] });
  });

  test("is watched with the second if the first has none", async () => {
    const { facts } = await collect({ ...WELL, [`${API} A`]: heardReply(), [`${API} AAAA`]: six }, [both]);
    expect(facts.endpoints.get(API)).toMatchObject({
      first: [six, six],
      otherFamily: [heardReply()],
      later: [six, six],
    });
  });
});

describe("an endpoint without addresses", () => {
  test("is not watched; the zone's SOA tells whether the resolver finds the zone at all", async () => {
    const { facts, timed } = await collect({ ...WELL, [`${API} A`]: NXDOMAIN });
    expect(facts.endpoints.get(API)).toEqual({ first: [NXDOMAIN, NXDOMAIN], otherFamily: [] });
    expect(facts.soa).toEqual(heardReply({ answers: [] }));
    expect(timed.every((text) => text.startsWith("0.0 "))).toBe(true);
  });

  test("after SERVFAIL is asked for once more without validation", async () => {
    const failing = heardReply({ rcode: "SERVFAIL" });
    const { facts, timed } = await collect({ ...WELL, [`${API} A`]: [failing, failing, FIRST] });
    expect(facts.endpoints.get(API)).toMatchObject({ first: [failing, failing], unvalidated: FIRST });
    expect(timed.filter((text) => text.includes(" cd "))).toEqual([`0.0 cd ${API} A`]);
  });

  test("is no reason to ask for the SOA where every endpoint has some", async () => {
    expect((await collect(WELL)).facts).not.toHaveProperty("soa");
  });
});

describe("what else is asked", () => {
  test("a name that does not exist, twice, and an endpoint over TCP", async () => {
    const { facts, timed } = await collect(WELL);
    expect(facts.negatives).toEqual([NXDOMAIN, NXDOMAIN]);
    expect(facts.overTcp).toEqual(FIRST);
    expect(timed.filter((text) => text.includes("absent-1"))).toHaveLength(2);
  });

  test("over TCP once more, if a connection is turned away", async () => {
    const { facts } = await collect({ ...WELL, [`tcp ${API} A`]: [silence, FIRST] });
    expect(facts.overTcp).toBe(FIRST);
  });
});

describe("a resolver that is silent", () => {
  test("is asked one question of each family of the first endpoint, and no more", async () => {
    const endpoints = [endpoint({ types: ["A", "AAAA"] }), endpoint({ fqdn: "b.k8s.test" })];
    const { facts, timed } = await collect({}, endpoints);
    expect(timed).toEqual([`0.0 ${API} A`, `0.0 ${API} AAAA`]);
    expect(facts).toEqual({
      ...RESOLVER,
      endpoints: new Map([[API, { first: [silence], otherFamily: [] }]]),
      overTcp: { silence: "not asked" },
      negatives: [],
    });
  });

  test("or that has nothing to be asked for is not asked at all", async () => {
    const { facts, timed } = await collect(WELL, []);
    expect(timed).toEqual([]);
    expect(facts.endpoints.size).toBe(0);
  });
});

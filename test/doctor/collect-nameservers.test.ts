import { describe, expect, test } from "vitest";
import { collectNameservers, type NameserverPlace } from "../../src/doctor/collect-nameservers.js";
import { createFakeClock } from "../support/fake-clock.js";
import { type Script, scripted, told } from "./asking.js";
import { addressRecord, heardReply, silence } from "./replies.js";

const ZONE = "k8s.test";
const API = "api.k8s.test";
const SIX = "six.k8s.test";
const ENDPOINTS = [
  { fqdn: API, types: ["A", "AAAA"] },
  { fqdn: SIX, types: ["AAAA"] },
] as const;

const place = (last: number): NameserverPlace => ({
  name: `ns${last}.k8s.test`,
  server: { address: `192.0.2.${last}`, port: 53 },
  inParent: true,
  inConfig: true,
});
const SOA = heardReply({ aa: true });
const addresses = (...literals: readonly string[]) =>
  heardReply({ aa: true, answers: literals.map((address) => addressRecord(API, address)) });

/** Both nameservers, well and agreed. */
const WELL: Script = {
  [`${ZONE} SOA`]: SOA,
  [`${ZONE} NS`]: heardReply(),
  [`${API} A`]: addresses("192.0.2.11", "192.0.2.12"),
  [`${SIX} AAAA`]: addresses("2001:db8::11"),
};

/** Collects, letting time pass. @returns what was collected, the questions, and the milliseconds that it took */
async function collect(script: Script, endpoints: Parameters<typeof collectNameservers>[3] = ENDPOINTS) {
  const clock = createFakeClock();
  const { ask, asked } = scripted(script);
  let tookMs = -1;
  const collecting = collectNameservers(ask, clock, ZONE, endpoints, [place(1), place(2)]).then((facts) => {
    tookMs = clock.monotonicMs();
    return facts;
  });
  await clock.advance(1_000);
  await clock.advance(1_000);
  return {
    facts: await collecting,
    asked: asked.map(told),
    recursions: asked.filter(({ recurse }) => recurse),
    tookMs,
  };
}

test("each is asked for the zone over UDP and TCP, and for the endpoints, without recursion", async () => {
  const { facts, asked, recursions, tookMs } = await collect(WELL);
  expect(asked.filter((text) => text.endsWith("@192.0.2.1")).sort()).toEqual(
    [`${API} A`, `${ZONE} NS`, `${ZONE} SOA`, `${SIX} AAAA`, `tcp ${ZONE} SOA`].map((text) => `${text} @192.0.2.1`),
  );
  expect(recursions).toEqual([]);
  expect(facts.map(({ name }) => name)).toEqual(["ns1.k8s.test", "ns2.k8s.test"]);
  expect(facts[0]).toMatchObject({ ...place(1), soa: SOA, soaOverTcp: SOA });
  expect([...(facts[0]?.endpoints.keys() ?? [])]).toEqual([API, SIX]);
  expect(tookMs).toBe(0);
});

test("one that is silent is asked one question only", async () => {
  const { facts, asked } = await collect({ ...WELL, [`${ZONE} SOA @192.0.2.2`]: silence });
  expect(asked.filter((text) => text.endsWith("@192.0.2.2"))).toEqual([`${ZONE} SOA @192.0.2.2`]);
  expect(facts[1]).toEqual({ ...place(2), soa: silence, ns: silence, soaOverTcp: silence, endpoints: new Map() });
});

test("a TCP connection that is turned away is made once more", async () => {
  const { facts } = await collect({ ...WELL, [`tcp ${ZONE} SOA @192.0.2.1`]: [silence, SOA] });
  expect(facts[0]?.soaOverTcp).toBe(SOA);
});

describe("answers that differ", () => {
  const differing = (...second: readonly string[]): Script => ({
    ...WELL,
    [`${API} A @192.0.2.1`]: addresses("192.0.2.11"),
    [`${API} A @192.0.2.2`]: [addresses("192.0.2.12"), addresses(...second)],
  });

  test("are asked for once more when a change has had time to reach all, each of them alone", async () => {
    const { facts, asked, tookMs } = await collect(differing("192.0.2.11"));
    expect(facts.map(({ endpoints }) => endpoints.get(API))).toEqual([
      addresses("192.0.2.11"),
      addresses("192.0.2.11"),
    ]);
    expect(tookMs).toBe(1_500);
    expect(asked.slice(-2)).toEqual([`${API} A @192.0.2.1`, `${API} A @192.0.2.2`]);
    expect(asked.filter((text) => text.startsWith(SIX))).toHaveLength(2);
  });

  test("and still do are told as they are", async () => {
    const { facts } = await collect(differing("192.0.2.13"));
    expect(facts[1]?.endpoints.get(API)).toEqual(addresses("192.0.2.13"));
    expect([...(facts[1]?.endpoints.keys() ?? [])]).toEqual([API, SIX]);
  });

  test("are not asked for again of one that was silent", async () => {
    const places = [place(1), place(2), place(3)];
    const clock = createFakeClock();
    const { ask, asked } = scripted({ ...differing("192.0.2.11"), [`${ZONE} SOA @192.0.2.3`]: silence });
    const collecting = collectNameservers(ask, clock, ZONE, ENDPOINTS, places);
    await clock.advance(1_500);
    expect((await collecting)[2]?.endpoints).toEqual(new Map());
    expect(asked.map(told).filter((text) => text.endsWith("@192.0.2.3"))).toHaveLength(1);
  });

  test.each([
    {
      name: "in order only",
      script: { ...WELL, [`${API} A @192.0.2.2`]: addresses("192.0.2.12", "192.0.2.11") },
    },
    {
      name: "from those of a server without authority",
      script: { ...differing("192.0.2.13"), [`${ZONE} SOA @192.0.2.2`]: heardReply({ aa: false }) },
    },
  ])("$name are not asked for again", async ({ script }) => {
    const { asked, tookMs } = await collect(script);
    expect(asked.filter((text) => text.startsWith(API))).toHaveLength(2);
    expect(tookMs).toBe(0);
  });
});

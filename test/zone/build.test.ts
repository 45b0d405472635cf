import { describe, expect, test } from "vitest";
import { formatName, parseName } from "../../src/wire/name.js";
import { buildZone } from "../../src/zone/build.js";
import { LiveZone } from "../../src/zone/live-zone.js";
import { RECORDS_LINE, sketchZone, type ZoneSketch, zoneConfig } from "../answers/serve.js";

const ENDPOINTS = { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"] } };

/** Problems as `line code`; lines of records count from 1, those of nameservers from 10, of endpoints from 50. */
function problemsOf(sketch: ZoneSketch): string[] {
  const { zone, problems } = buildZone(zoneConfig(sketch));
  if (problems.some(({ severity }) => severity !== "warning")) expect(zone).toBeUndefined();
  return problems.map(({ line, code }) => `${line >= RECORDS_LINE ? line - RECORDS_LINE + 1 : line} ${code}`);
}

describe("conflicts", () => {
  const cases: readonly { name: string; sketch: ZoneSketch; problems: readonly string[] }[] = [
    { name: "none", sketch: { records: "a 5 IN A 192.0.2.1\nb 5 IN CNAME a\n", endpoints: ENDPOINTS }, problems: [] },
    {
      name: "an alias beside other data",
      sketch: { records: "a 5 IN A 192.0.2.1\na 5 IN CNAME b\n" },
      problems: ["2 RECORD_CNAME_CONFLICT"],
    },
    {
      name: "an alias beside other data, the alias first and in other letters",
      sketch: { records: "A 5 IN CNAME b\na 5 IN TXT x\n" },
      problems: ["1 RECORD_CNAME_CONFLICT"],
    },
    {
      name: "two aliases of one name",
      sketch: { records: "a 5 IN CNAME b\na 5 IN CNAME c\n" },
      problems: ["1 RECORD_CNAME_MULTIPLE"],
    },
    { name: "an alias at the apex", sketch: { records: "@ 5 IN CNAME a\n" }, problems: ["1 RECORD_CNAME_CONFLICT"] },
    {
      name: "an alias at a name server",
      sketch: { records: "ns1 5 IN CNAME a\n" },
      problems: ["1 RECORD_CNAME_CONFLICT"],
    },
    {
      name: "an alias at an endpoint, a target and a service",
      sketch: {
        records: "api 5 IN CNAME a\ncp1.api 5 IN CNAME a\n_https._tcp.api 5 IN CNAME a\n",
        endpoints: ENDPOINTS,
      },
      problems: ["1 RECORD_CNAME_CONFLICT", "2 RECORD_CNAME_CONFLICT", "3 RECORD_CNAME_CONFLICT"],
    },
    {
      name: "what an endpoint answers by health",
      sketch: {
        records:
          "api 5 IN A 192.0.2.1\nAPI 5 IN AAAA 2001:db8::1\ncp1.api 5 IN A 192.0.2.1\n_https._tcp.api 5 IN SRV 0 0 1 a\n",
        endpoints: ENDPOINTS,
      },
      problems: ["1", "2", "3", "4"].map((line) => `${line} RECORD_ENDPOINT_CONFLICT`),
    },
    {
      name: "other types at an endpoint's names are fine",
      sketch: {
        records: "api 5 IN TXT x\napi 5 IN CAA 0 issue x\ncp1.api 5 IN TXT x\n_https._tcp.api 5 IN TXT x\n",
        endpoints: ENDPOINTS,
      },
      problems: [],
    },
    {
      name: "an address of a name server among the records, whatever its TTL and family",
      sketch: { records: "ns1 300 IN AAAA 2001:db8::1\nNS1 300 IN A 192.0.2.1\nns1 60 IN TXT x\n" },
      problems: ["1 RECORD_NAMESERVER_CONFLICT", "2 RECORD_NAMESERVER_CONFLICT"],
    },
    {
      name: "out of the zone",
      sketch: { records: "a.example.test. 5 IN A 192.0.2.1\n" },
      problems: ["1 RECORD_OUT_OF_ZONE"],
    },
    {
      name: "a duplicate",
      sketch: { records: "a 5 IN A 192.0.2.1\nA 5 IN A 192.0.2.1\n" },
      problems: ["2 RECORD_DUPLICATE"],
    },
    { name: "a DNAME", sketch: { records: "a 5 IN TYPE39 \\# 3 016100\n" }, problems: ["1 RECORD_TYPE_UNSUPPORTED"] },
    {
      name: "data at a cut and below it; glue and DS are fine",
      sketch: {
        records:
          "c 5 IN NS ns.c\nns.c 5 IN A 192.0.2.1\nc 5 IN TYPE43 \\# 4 00010d02\nc 5 IN TXT x\nother.c 5 IN A 192.0.2.1\nns.c 5 IN TXT x\nx.c 5 IN NS y.c\n",
      },
      problems: ["4", "5", "6", "7"].map((line) => `${line} RECORD_BELOW_DELEGATION`),
    },
    {
      name: "an endpoint at a cut and below it",
      sketch: {
        records: "api 5 IN NS ns.elsewhere.test.\nc 5 IN NS ns.elsewhere.test.\n",
        endpoints: { ...ENDPOINTS, "api.c": { cp1: ["192.0.2.1"] } },
      },
      problems: ["50 ENDPOINT_BELOW_DELEGATION", "51 ENDPOINT_BELOW_DELEGATION"],
    },
    {
      name: "a delegated wildcard",
      sketch: { records: "*.w 5 IN NS ns.elsewhere.test.\n" },
      problems: ["1 RECORD_WILDCARD_DELEGATION"],
    },
    {
      name: "a set that no message can hold",
      sketch: {
        records: Array.from({ length: 1_100 }, (_, i) => `big 5 IN TXT "${String(i).padEnd(60, "x")}"`).join("\n"),
      },
      problems: ["1 RECORD_SET_TOO_LARGE"],
    },
    {
      name: "a name server outside the zone with an address",
      sketch: { nameservers: { ns1: ["192.0.2.1"], "ns.elsewhere.test.": ["192.0.2.2"] } },
      problems: ["11 NAMESERVER_OUT_OF_ZONE"],
    },
  ];
  test.each(cases)("$name", ({ sketch, problems }) => {
    expect(problemsOf(sketch)).toEqual(problems);
  });

  test("each says what and why, and what to do", () => {
    for (const { sketch } of cases) {
      for (const { message, remedy, file } of buildZone(zoneConfig(sketch)).problems) {
        expect(file).toBe("zone.yaml");
        expect(message.length).toBeGreaterThan(20);
        expect(remedy).toMatch(/^[A-Z].*\.$/);
      }
    }
  });
});

test("the name servers' records have the TTL that the zone gives them, 300 s by default", () => {
  const config = zoneConfig({});
  for (const [given, ttl] of [
    [{}, 300],
    [{ nameserverTtl: 3600 }, 3600],
  ] as const) {
    const records = buildZone({ ...config, ...given }).zone?.records ?? new Map();
    const ttls = [...records.values()].flatMap((types) => [...types.values()].map((rrset) => rrset.ttl));
    expect(ttls).toEqual([ttl, ttl]);
  }
});

describe("the value", () => {
  const zone = sketchZone({
    nameservers: { ns1: ["192.0.2.1", "2001:db8::1"], "ns.elsewhere.test.": [] },
    records:
      "a.b.c 5 IN A 192.0.2.1\nA.b.c 5 IN A 192.0.2.2\nchild 5 IN NS ns.deep.child\nns.deep.child 5 IN A 192.0.2.3\n*.w 5 IN TXT x\n",
    endpoints: ENDPOINTS,
  });
  const texts = [...new LiveZone(zone, new Map(), 0).names()]
    .map((name) => formatName(name).replace(/\.?k8s\.example\.test\.$/, ""))
    .sort();

  test("names what exists: owners, what follows health, empty non-terminals; nothing below a cut", () => {
    expect(texts).toEqual(
      [
        "",
        "a.b.c",
        "b.c",
        "c",
        "child",
        "*.w",
        "w",
        "ns1",
        "api",
        "cp1.api",
        "cp2.api",
        "_tcp.api",
        "_https._tcp.api",
      ].sort(),
    );
  });

  test("gathers records into sets whatever their letter case, the apex NS and the nameservers' addresses among them", () => {
    const sizes = [...zone.records].flatMap(([name, types]) =>
      [...types.values()].map(({ type, rdatas, ttl }) => `${formatName(name)} ${type} ${rdatas.length} ${ttl}`),
    );
    expect(sizes.sort()).toEqual(
      [
        "k8s.example.test. 2 2 300",
        "ns1.k8s.example.test. 1 1 300",
        "ns1.k8s.example.test. 28 1 300",
        "a.b.c.k8s.example.test. 1 2 5",
        "child.k8s.example.test. 2 1 5",
        "ns.deep.child.k8s.example.test. 1 1 5",
        "\\*.w.k8s.example.test. 16 1 5".replace("\\", ""),
      ].sort(),
    );
    expect(zone.cuts).toEqual(new Set([parseName("child.k8s.example.test.")]));
  });

  test("names its first name server as primary", () => {
    expect(formatName(zone.soa.primary)).toBe("ns1.k8s.example.test.");
    expect(formatName(zone.soa.contact)).toBe("hostmaster.example.test.");
  });

  test("can have an endpoint at the apex", () => {
    const apex = sketchZone({ endpoints: { "@": { cp1: ["192.0.2.1"] } } });
    expect([...new LiveZone(apex, new Map(), 0).names()].map(formatName).sort()).toEqual([
      "_https._tcp.k8s.example.test.",
      "_tcp.k8s.example.test.",
      "cp1.k8s.example.test.",
      "k8s.example.test.",
      "ns1.k8s.example.test.",
    ]);
  });
});

import fc from "fast-check";
import { expect, test } from "vitest";
import type { CompiledNode } from "../../src/answers/answer.js";
import type { EndpointAnswers } from "../../src/answers/live-zone.js";
import { publishZone } from "../../src/answers/zone-compiler.js";
import type { Name } from "../../src/wire/name.js";
import { answering, SERIAL, sketchZone } from "./serve.js";

const TARGETS = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12", "2001:db8::12"], cp3: ["2001:db8::13"] };
const ENDPOINTS = ["api", "other"] as const;

const ZONE = sketchZone({
  endpoints: { api: TARGETS, other: TARGETS },
  records: [
    "@ 60 IN MX 10 api",
    "@ 60 IN MX 20 other",
    "www 60 IN CNAME api",
    "*.w 60 IN CNAME www",
    "api 60 IN TXT fixed",
    "sub 60 IN NS api",
    "sub 60 IN NS other",
  ].join("\n"),
});

const answers = fc.subarray(Object.entries(TARGETS)).map((up): EndpointAnswers => answering(Object.fromEntries(up)));

/** All nodes of the zone as they are compiled where nothing was ever different. */
function compiledAfresh(now: ReadonlyMap<string, EndpointAnswers>): Map<Name, CompiledNode> {
  return new Map(
    publishZone(ZONE, now, 0)
      .compile()
      .nodes.map(({ name, node }) => [name, node]),
  );
}

test("however health comes and goes, what is published is what would be compiled afresh", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...ENDPOINTS), answers), { minLength: 1, maxLength: 60 }),
      (changes) => {
        const now = new Map(ZONE.endpoints.map(({ fqdn }) => [fqdn, answering(TARGETS) as EndpointAnswers]));
        const published = publishZone(ZONE, now, SERIAL * 1000);
        const nodes = new Map(published.compile().nodes.map(({ name, node }) => [name, node]));
        for (const [name, next] of changes) {
          const endpoint = ZONE.endpoints.find(({ fqdn }) => fqdn.startsWith(name));
          if (endpoint === undefined) throw new Error(`no endpoint ${name}`);
          const before = published.serial;
          const isSame = JSON.stringify(now.get(endpoint.fqdn)?.addresses) === JSON.stringify(next.addresses);
          now.set(endpoint.fqdn, next);
          const update = published.update(endpoint, next, SERIAL * 1000);
          expect(update === undefined).toBe(isSame);
          expect(published.serial > before).toBe(!isSame);
          for (const { name, node } of update?.nodes ?? []) nodes.set(name, node);
          expect(nodes).toEqual(compiledAfresh(now));
        }
      },
    ),
    { numRuns: 40 },
  );
});

test("an endpoint in more states than are remembered is still answered for as it is", () => {
  const addresses = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}`);
  const now = new Map(ZONE.endpoints.map(({ fqdn }) => [fqdn, answering(TARGETS) as EndpointAnswers]));
  const published = publishZone(ZONE, now, SERIAL * 1000);
  const nodes = new Map(published.compile().nodes.map(({ name, node }) => [name, node]));
  const [endpoint] = ZONE.endpoints;
  if (endpoint === undefined) throw new Error("no endpoint");
  for (const address of [...addresses, ...addresses]) {
    const next = answering({ cp1: [address] });
    now.set(endpoint.fqdn, next);
    for (const { name, node } of published.update(endpoint, next, SERIAL * 1000)?.nodes ?? []) nodes.set(name, node);
    expect(nodes).toEqual(compiledAfresh(now));
  }
});

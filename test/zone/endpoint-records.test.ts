import { expect, test } from "vitest";
import { TYPE } from "../../src/wire/constants.js";
import { EndpointStates } from "../../src/zone/endpoint-records.js";
import { sameRRsets } from "../../src/zone/rrsets.js";
import { answering, sketchZone } from "../answers/serve.js";

const TARGETS = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12", "2001:db8::12"] };
const ZONE = sketchZone({ endpoints: { api: TARGETS }, maxAnswers: 1 });
const endpoint = ZONE.endpoints[0];
if (endpoint === undefined) throw new Error("no endpoint");
const { name, serviceName } = endpoint;

test("names whose records are the same in two states have the same map, and a state that comes back is the same", () => {
  const states = new EndpointStates();
  const both = states.of(endpoint, answering(TARGETS), () => undefined);
  const one = states.of(endpoint, answering({ cp2: TARGETS.cp2 }), () => undefined);
  const cp2 = endpoint.targets[1]?.name ?? name;
  expect(one.get(cp2)).toBe(both.get(cp2));
  expect(one.get(name)).not.toBe(both.get(name));
  expect(states.of(endpoint, answering(TARGETS), () => undefined)).toBe(both);
});

test("more states than are kept are still right", () => {
  const states = new EndpointStates();
  for (let i = 0; i < 100; i += 1) {
    const state = states.of(endpoint, answering({ cp1: [`192.0.2.${i}`] }), () => undefined);
    expect(state.get(name)?.get(TYPE.A)?.rdatas).toEqual([Uint8Array.of(192, 0, 2, i)]);
  }
});

test("the cap belongs to the endpoint's own name; SRV names targets that are answered", () => {
  const state = new EndpointStates().of(endpoint, answering({ cp1: TARGETS.cp1 }), () => undefined);
  expect(state.get(name)?.get(TYPE.A)?.atMost).toBe(1);
  expect(state.get(endpoint.targets[0]?.name ?? name)?.get(TYPE.A)?.atMost).toBeUndefined();
  expect(state.get(serviceName)?.get(TYPE.SRV)?.rdatas).toHaveLength(1);
});

test("records differ by data, order, TTL and cap, and by nothing else", () => {
  const rrset = { name, type: TYPE.A, ttl: 5, rdatas: [Uint8Array.of(192, 0, 2, 1), Uint8Array.of(192, 0, 2, 2)] };
  const map = (other: object) => new Map([[TYPE.A, { ...rrset, ...other }]]);
  expect(sameRRsets(map({}), map({ rdatas: rrset.rdatas.map((rdata) => Uint8Array.from(rdata)) }))).toBe(true);
  for (const other of [
    { ttl: 6 },
    { atMost: 1 },
    { rdatas: [...rrset.rdatas].reverse() },
    { rdatas: rrset.rdatas.slice(1) },
  ]) {
    expect(sameRRsets(map({}), map(other))).toBe(false);
  }
  expect(sameRRsets(map({}), new Map())).toBe(false);
  expect(sameRRsets(map({}), undefined)).toBe(false);
});

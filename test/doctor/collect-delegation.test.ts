import { describe, expect, test } from "vitest";
import { collectDelegation, findParents, lookUp } from "../../src/doctor/collect-delegation.js";
import { type Script, scripted } from "./asking.js";
import { addressRecord, heardReply, silence } from "./replies.js";

const RESOLVER = { address: "192.0.2.1", port: 53 };
const ZONE = "k8s.eu.example.com";

const soaOf = (name: string) =>
  heardReply({ answers: [{ name, type: "SOA", ttl: 60, data: "ns. contact. 1 2 3 4 5" }] });
const nsOf = (name: string, ...servers: readonly string[]) =>
  heardReply({ answers: servers.map((data) => ({ name, type: "NS", ttl: 60, data })) });

test("each server of the parent is asked for the zone's NS, as a resolver asks: without recursion", async () => {
  const parents = [RESOLVER, { address: "2001:db8::1", port: 53 }];
  const { ask, asked } = scripted({ [`${ZONE} NS @192.0.2.1`]: heardReply() });
  expect(await collectDelegation(ask, ZONE, parents)).toEqual({
    parents: [
      { server: parents[0], heard: heardReply() },
      { server: parents[1], heard: silence },
    ],
  });
  expect(asked.map(({ recurse }) => recurse)).toEqual([false, false]);
});

describe("the servers of the zone above are found through a resolver", () => {
  const found: Script = {
    "eu.example.com SOA": heardReply(),
    "example.com SOA": soaOf("example.com"),
    "example.com NS": nsOf("example.com", "a.ns.test.", "b.ns.test."),
    "a.ns.test A": heardReply({ answers: [addressRecord("a.ns.test", "192.0.2.11")] }),
    "a.ns.test AAAA": heardReply({ answers: [addressRecord("a.ns.test", "2001:db8::11")] }),
    "b.ns.test A": heardReply({ answers: [addressRecord("b.ns.test", "192.0.2.12")] }),
    "b.ns.test AAAA": heardReply(),
  };
  const find = (script: Script) => findParents(scripted(script).ask, ZONE, RESOLVER, 5353);

  test("of the nearest ancestor that is a zone", async () => {
    expect(await find(found)).toEqual({
      servers: ["192.0.2.11", "2001:db8::11", "192.0.2.12"].map((address) => ({ address, port: 5353 })),
      problem: "",
    });
  });

  test("at most four of them, and of no more names", async () => {
    const names = Array.from({ length: 13 }, (_, index) => `n${index}.ns.test`);
    const addresses = names.map((name, index) => [
      `${name} A`,
      heardReply({ answers: [addressRecord(name, `192.0.2.${index}`), addressRecord(name, `198.51.100.${index}`)] }),
    ]);
    const { ask, asked } = scripted({
      ...found,
      "example.com NS": nsOf("example.com", ...names.map((name) => `${name}.`)),
      ...Object.fromEntries(addresses),
    });
    expect((await findParents(ask, ZONE, RESOLVER, 53)).servers).toHaveLength(4);
    expect(new Set(asked.map(({ name }) => name).filter((name) => names.includes(name))).size).toBe(4);
  });

  test("of the root, for a zone of one label", async () => {
    const { ask, asked } = scripted({
      ". SOA": soaOf("."),
      ". NS": nsOf(".", "a.root.test."),
      "a.root.test A": heardReply({ answers: [addressRecord("a.root.test", "192.0.2.13")] }),
    });
    expect((await findParents(ask, "internal", RESOLVER, 53)).servers).toEqual([{ address: "192.0.2.13", port: 53 }]);
    expect(asked[0]).toMatchObject({ name: ".", recurse: true, server: RESOLVER });
  });

  test.each([
    {
      name: "the resolver is silent",
      script: {},
      problem: "The parent zone was looked for in vain: no answer from 192.0.2.1:53 within 1500 ms.",
    },
    {
      name: "it fails up to the root",
      script: Object.fromEntries(
        ["eu.example.com", "example.com", "com", "."].map((name) => [`${name} SOA`, heardReply({ rcode: "REFUSED" })]),
      ),
      problem: "The parent zone was looked for in vain: the resolver says REFUSED.",
    },
    {
      name: "it answers with the SOA of another name",
      script: Object.fromEntries(
        ["eu.example.com", "example.com", "com", "."].map((name) => [`${name} SOA`, soaOf("elsewhere.test")]),
      ),
      problem: "The parent zone was looked for in vain: the resolver says NOERROR.",
    },
    {
      name: "the nameservers cannot be asked for",
      script: { ...found, "example.com NS": silence },
      problem: "The zone example.com has no nameserver whose address could be found.",
    },
    {
      name: "they have no addresses",
      script: { ...found, "a.ns.test A": silence, "a.ns.test AAAA": heardReply(), "b.ns.test A": heardReply() },
      problem: "The zone example.com has no nameserver whose address could be found.",
    },
  ] as const)("or it is said why not: $name", async ({ script, problem }) => {
    expect(await find(script)).toEqual({ servers: [], problem });
  });
});

test("lookUp gives the addresses of both families, and those of one if the other is not answered", async () => {
  const v4 = heardReply({ answers: [addressRecord("a.test", "192.0.2.1")] });
  const v6 = heardReply({ answers: [addressRecord("a.test", "2001:db8::1")] });
  expect(await lookUp(scripted({ "a.test A": v4, "a.test AAAA": v6 }).ask, "a.test", RESOLVER)).toEqual([
    "192.0.2.1",
    "2001:db8::1",
  ]);
  expect(await lookUp(scripted({ "a.test AAAA": v6 }).ask, "a.test", RESOLVER)).toEqual(["2001:db8::1"]);
});

import { describe, expect, test } from "vitest";
import { Reservations } from "../../src/server/reservations.js";
import { recordOf, sharedOverride } from "../../src/server/shared-overrides.js";
import { zoneDigest } from "../../src/server/zone-digest.js";
import { loadRight, ZONE } from "../config/folder.js";
import { endpointOf } from "../health/endpoint.js";
import { createFakeClock } from "../support/fake-clock.js";

const STAMP = { ms: 1, count: 2, by: "ns1" };

describe("an override on its way between siblings", () => {
  const entry = {
    endpoint: "api.k8s.example.com",
    target: "cp1",
    kind: "drained",
    reason: "kernel",
    author: "eve",
    origin: "operator",
    setAtMs: 1_000,
    expiresAtMs: 61_000,
    stamp: STAMP,
  } as const;

  test("says on which server it was set, and its moments come to be by the clock of who keeps it", () => {
    const said = sharedOverride(entry, "ns1");
    expect(said).toMatchObject({ server: "ns1", author: "eve", expiresAtMs: 61_000 });
    // The sender's clock is half a second ahead.
    expect(recordOf(said, "ns2", 500)).toEqual({ ...entry, origin: "sibling:ns1", setAtMs: 500, expiresAtMs: 60_500 });
  });

  test("keeps its origin when a third server passes it on, and is an operator's again where it came from", () => {
    const onNs2 = recordOf(sharedOverride(entry, "ns1"), "ns2", 0);
    const onNs3 = recordOf(sharedOverride(onNs2, "ns2"), "ns3", 0);
    expect(onNs3.origin).toBe("sibling:ns1");
    expect(recordOf(sharedOverride(onNs3, "ns3"), "ns1", 0)).toEqual(entry);
  });

  test("one of Kubernetes stays so, and the note of what has ended stays a note", () => {
    expect(recordOf(sharedOverride({ ...entry, origin: "kubernetes" }, "ns1"), "ns2", 0).origin).toBe("kubernetes");
    const ended = {
      endpoint: "api",
      target: "cp1",
      kind: "ended",
      stamp: STAMP,
      setAtMs: 5,
      origin: "operator",
    } as const;
    expect(recordOf(sharedOverride(ended, "ns1"), "ns2", 0)).toEqual({ ...ended, origin: "sibling:ns1" });
  });
});

describe("targets that are about to be taken out", () => {
  const looked = {
    health: endpointOf("cp1:up cp2:up"),
    policy: { whenAllDown: { kind: "all" }, minHealthy: 1 },
    lastHealthy: [],
  } as const;
  const overrides = (reservations: Reservations, target: string) =>
    reservations.applied(looked, target).health.targets.map(({ override }) => override?.kind);

  test("count as drained for others, not for themselves, until it is done or time has passed", async () => {
    const clock = createFakeClock();
    const reservations = new Reservations(clock);
    const name = { endpoint: looked.health.fqdn, target: "cp1" };
    expect(reservations.applied(looked, "cp2")).toBe(looked);
    reservations.keep(name);
    expect(overrides(reservations, "cp2")).toEqual(["drained", undefined]);
    expect(overrides(reservations, "cp1")).toEqual([undefined, undefined]);
    reservations.release(name);
    expect(overrides(reservations, "cp2")).toEqual([undefined, undefined]);
    reservations.keep(name);
    await clock.advance(4_001);
    expect(overrides(reservations, "cp2")).toEqual([undefined, undefined]);
  });
});

describe("the digest of a zone", () => {
  const digestOf = (zone: string) => zoneDigest(loadRight({ "zone.yaml": zone }).config.zones[0]!);

  test("is the same wherever and however the same is written", () => {
    expect(digestOf(`# a comment\n${ZONE}`)).toBe(digestOf(ZONE));
  });

  test("leaves out what belongs to one server: its serials, and where its files are", () => {
    const of = (serial: string, kubeconfig: string, file: string) =>
      digestOf(
        `${ZONE.replace("endpoints:", `soa: { serialModulo: ${serial} }\nendpoints:`)}    discover: [{ type: kubernetes, kubeconfig: ${kubeconfig} }, { type: file, path: ${file} }]\n`,
      );
    expect(of("0/2", "a.conf", "a/t.json")).toBe(of("1/2", "b.conf", "b/u.json"));
    const probed = (path: string) => digestOf(`${ZONE}    probe: { type: http, path: ${path} }\n`);
    expect(probed("/readyz")).not.toBe(probed("/livez"));
  });

  test("is another one for another meaning", () => {
    expect(digestOf(ZONE.replace("192.0.2.12", "192.0.2.13"))).not.toBe(digestOf(ZONE));
    expect(digestOf(ZONE.replace("cp2", "cp3"))).not.toBe(digestOf(ZONE));
  });
});

import { describe, expect, test } from "vitest";
import type { SharedOverride } from "../../src/siblings/messages.js";
import { waitUntil } from "../support/wait.js";
import { DOUBT, type TestSibling, testSiblings, UP } from "./two-servers.js";

const A = "a".repeat(64);
const B = "b".repeat(64);
const C = "c".repeat(64);

const DRAIN: SharedOverride = {
  endpoint: UP.endpoint,
  target: "cp1",
  stamp: { ms: 1, count: 0, by: "ns1" },
  kind: "drained",
  server: "ns1",
  setAtMs: 1,
};

async function started(secrets: readonly (readonly string[])[], change?: Parameters<typeof testSiblings>[1]) {
  const servers = await testSiblings(secrets, change);
  for (const server of servers) await server.start();
  return servers as [TestSibling, TestSibling];
}

function isHeard({ siblings }: TestSibling): boolean {
  return siblings.peers().every(({ condition, trouble }) => condition === "fresh" && trouble === undefined);
}

async function allHeard(servers: readonly TestSibling[]): Promise<void> {
  await waitUntil(() => servers.every(isHeard), {
    describe: () => JSON.stringify(servers.map(({ siblings }) => siblings.peers())),
  });
}

describe("two servers with the same secret", () => {
  test("hear each other, and what each sees, serves and says", async () => {
    const servers = await started([[A], [A]]);
    await allHeard(servers);
    const [ns1, ns2] = servers;
    const heard = ns1.siblings.peers()[0]?.heard;
    await waitUntil(() => heard?.endpoints.size === 1);
    expect(heard?.endpoints.get(UP.endpoint)).toEqual(UP);
    expect(heard?.zones).toEqual([{ zone: "k8s.example.test", digest: "d", serial: 7 }]);
    expect(await ns1.siblings.spread([DRAIN])).toEqual(new Set(["ns2"]));
    expect(ns2.taken).toEqual([DRAIN]);
  });

  test("a change that one sees is a hint for the other, its first word is none", async () => {
    let seen: typeof UP | typeof DOUBT = UP;
    const servers = await started([[A], [A]], () => ({
      endpoint: (fqdn) => (fqdn === UP.endpoint ? seen : undefined),
    }));
    await allHeard(servers);
    const [ns1, ns2] = servers;
    await waitUntil(() => ns2.siblings.peers()[0]?.heard?.endpoints.size === 1);
    seen = DOUBT;
    ns1.siblings.changed(UP.endpoint);
    await waitUntil(() => ns2.hints.length > 0);
    expect(ns2.hints).toEqual([`ns1 ${UP.endpoint} 192.0.2.1`]);
    expect(ns1.hints).toEqual([]);
  });

  test("a refusal says whose it is; when a target can be stopped is told by each", async () => {
    const servers = await started([[A], [A]]);
    await allHeard(servers);
    const [ns1, ns2] = servers;
    const ask = { endpoint: UP.endpoint, target: "cp1", kind: "drained" } as const;
    expect(await ns1.siblings.ask(ask)).toEqual({ refused: [], silent: [] });
    ns2.refusal = { code: "LAST_ANSWERABLE", message: "it is the last" };
    expect(await ns1.siblings.ask(ask)).toEqual({ refused: [{ peer: "ns2", ...ns2.refusal }], silent: [] });
    expect(ns2.asked).toEqual([ask, ask]);
    expect(await ns1.siblings.safe(ask)).toEqual([{ peer: "ns2", reply: { state: "drained", safeInMs: 1_000 } }]);
  });

  test("one that stops is not heard at once, and heard again when it is back", async () => {
    const servers = await started([[A], [A]]);
    await allHeard(servers);
    const [ns1, ns2] = servers;
    await ns2.siblings.stop();
    await waitUntil(() => ns1.siblings.peers()[0]?.condition === "disconnected");
    expect(ns1.siblings.fresh()).toEqual([]);
    expect(await ns1.siblings.safe(DRAIN)).toEqual([{ peer: "ns2", reply: undefined }]);
  });

  test("overrides that differ for longer than they are on their way are asked for", async () => {
    const servers = await started([[A], [A]], (index) =>
      index === 0
        ? {
            overrides: () => [DRAIN],
            self: () => ({ isolated: false, late: false, starting: false, sight: "reached", overrides: "x" }),
          }
        : {},
    );
    await allHeard(servers);
    const [, ns2] = servers;
    // The first time when it connected.
    await waitUntil(() => ns2.taken.length >= 2);
    expect(ns2.taken.slice(0, 2)).toEqual([DRAIN, DRAIN]);
  });

  test("each is told what it was not told yet, whoever connected meanwhile", async () => {
    let seen: typeof UP | typeof DOUBT = UP;
    const servers = await testSiblings([[A], [A], [A]], (index) =>
      index === 0 ? { endpoint: (fqdn) => (fqdn === UP.endpoint ? seen : undefined), endpoints: () => [seen] } : {},
    );
    const [ns1, ns2, ns3] = servers as [TestSibling, TestSibling, TestSibling];
    await ns1.start();
    await ns2.start();
    await waitUntil(() => ns2.siblings.peers()[0]?.heard?.endpoints.size === 1);
    // The third one is told of the change as it connects, before the change is said to all.
    seen = DOUBT;
    await ns3.start();
    await waitUntil(() => ns3.siblings.peers()[0]?.heard?.endpoints.size === 1);
    ns1.siblings.changed(UP.endpoint);
    await waitUntil(() => ns2.siblings.peers()[0]?.heard?.endpoints.get(UP.endpoint)?.up.length === 0);
  });

  test("overrides that cannot be kept are told of once on both sides, and once when they can be", async () => {
    let isFull = true;
    const servers = await started([[A], [A]], (index) =>
      index === 1
        ? {
            async take() {
              if (isFull) throw new Error("no space");
            },
          }
        : {},
    );
    await allHeard(servers);
    const [ns1, ns2] = servers;
    expect(await ns1.siblings.spread([DRAIN])).toEqual(new Set());
    expect(await ns1.siblings.spread([DRAIN])).toEqual(new Set());
    expect(ns1.siblings.peers()[0]?.keepsNothing).toBe(true);
    expect(ns2.siblings.peers()[0]?.isNotKept).toBe(true);
    isFull = false;
    expect(await ns1.siblings.spread([DRAIN])).toEqual(new Set(["ns2"]));
    expect(ns1.siblings.peers()[0]?.keepsNothing).toBeUndefined();
    expect(ns2.siblings.peers()[0]?.isNotKept).toBe(false);
    expect(ns2.kept).toEqual([false, true]);
  });

  test("a server that is cut off does not count", async () => {
    const servers = await started([[A], [A]], (index) => ({
      self: () => ({ isolated: index === 0, late: false, starting: false, sight: "network", overrides: "" }),
    }));
    const [ns1, ns2] = servers;
    await waitUntil(() => ns2.siblings.peers()[0]?.condition === "isolated");
    await waitUntil(() => isHeard(ns1));
  });
});

describe("secrets", () => {
  test("another one is not let in, and why is told", async () => {
    const [ns1, ns2] = await started([[A], [B]]);
    await waitUntil(() => [ns1, ns2].every(({ siblings }) => siblings.peers()[0]?.trouble === "it has another secret"));
    expect(ns1.siblings.peers()[0]?.condition).toBe("unheard");
  });

  test("the one that a server tries first may be unknown to the other: it tries its second", async () => {
    const servers = await started([[B, A], [A]]);
    await allHeard(servers);
  });

  test("one that is withdrawn closes what was opened with it", async () => {
    const servers = await started([[A], [A]]);
    await allHeard(servers);
    const [ns1, ns2] = servers;
    const hears = () => ns1.siblings.peers()[0]?.condition === "fresh";
    ns1.configure([B]);
    expect(hears()).toBe(true);
    await waitUntil(() => !hears() && ns1.siblings.peers()[0]?.trouble === "it has another secret");
    ns2.configure([B, A]);
    await allHeard(servers);
  });

  test("a rollover, by a second one that is accepted meanwhile, closes nothing before the old one goes", async () => {
    const servers = await started([[A], [A]]);
    await allHeard(servers);
    const boots = servers.map(({ conditions }) => conditions.length);
    for (const server of servers) server.configure([A, B]);
    for (const server of servers) server.configure([B, A]);
    await Promise.all(servers.map(({ siblings }) => siblings.spread([DRAIN])));
    expect(servers.map(({ conditions }) => conditions.length)).toEqual(boots);
    for (const server of servers) server.configure([B]);
    await waitUntil(() => servers.every(({ conditions }, index) => conditions.length > (boots[index] ?? 0)));
    await allHeard(servers);
  });

  test("none in common", async () => {
    const [ns1] = await started([[A, B], [C]]);
    await waitUntil(() => ns1.siblings.peers()[0]?.trouble === "it has another secret");
  });
});

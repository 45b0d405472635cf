import { describe, expect, test } from "vitest";
import type { EndpointConfig } from "../../../src/config/config.js";
import type { KubernetesSourceConfig } from "../../../src/config/discovery.js";
import { type Credential, CredentialError } from "../../../src/discovery/kubernetes/credential.js";
import { KubernetesSource } from "../../../src/discovery/kubernetes/kubernetes-source.js";
import { afterThisTest } from "../../support/cleanup.js";
import { createFakeClock } from "../../support/fake-clock.js";
import { type ApiServer, nodeObject, startApiServer } from "../api-server.js";

const config: KubernetesSourceConfig = {
  ...{ type: "kubernetes", name: "kubernetes:nodes", position: { file: "z", line: 1, column: 1 } },
  ...{ resource: "nodes", addressType: "InternalIP", honorCordon: false },
};

const ADDRESS = "127.0.88.1";
/** Nothing listens there. */
const DEAD = "127.0.88.99";

async function setUp(more: Partial<KubernetesSourceConfig> = {}, api?: ApiServer) {
  const server = api ?? (await startApiServer(ADDRESS));
  const clock = createFakeClock();
  const heard: string[] = [];
  const told: string[] = [];
  const credential: { current: Credential | Error } = {
    current: { host: server.address, port: server.port, ca: server.caPem, token: "secret" },
  };
  const endpoint = { fqdn: "api.k8s.example.test", probe: { type: "tcp" } } as unknown as EndpointConfig;
  const source = new KubernetesSource({
    ...{ config: { ...config, ...more }, clock, random: () => 0.5 },
    surroundings: () => ({ endpoint, zone: "k8s.example.test", servers: [{ address: DEAD, port: server.port }] }),
    async readCredential() {
      if (credential.current instanceof Error) throw credential.current;
      return credential.current;
    },
  });
  const state = { confirmed: 0 };
  source.start({
    proposed(candidates, notices) {
      heard.push(candidates.map(({ id, drain }) => (drain === undefined ? id : `${id}!`)).join(" "));
      for (const { text } of notices) told.push(text);
    },
    confirmed: () => {
      state.confirmed += 1;
    },
    failed: ({ problem, needsOperator }) => heard.push(`${needsOperator ? "!!" : "!"} ${problem}`),
    credentialRead: () => {},
  });
  afterThisTest(() => source.stop());
  /** Lets fake time pass, and the sockets' events with it, until a condition holds. */
  const until = async (condition: () => boolean, stepMs = 50): Promise<number> => {
    const begunMs = clock.monotonicMs();
    for (let step = 0; !condition(); step += 1) {
      if (step > 4_000) throw new Error(`in vain: ${condition}; heard ${heard.join(" | ")}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
      await clock.advance(stepMs);
    }
    return clock.monotonicMs() - begunMs;
  };
  return { server, clock, heard, told, until, credential, state };
}

describe("a cluster that is listed and watched", () => {
  test("reports what there is, and every change", async () => {
    const { server, heard, until } = await setUp();
    await until(() => server.watchers === 1);
    server.set(nodeObject("cp1", "192.0.2.1"));
    await until(() => heard.at(-1) === "cp1");
    server.set(nodeObject("cp2", "192.0.2.2"));
    await until(() => heard.at(-1) === "cp1 cp2");
    server.delete("cp1");
    await until(() => heard.at(-1) === "cp2");
    expect(server.lists).toBe(1);
    expect(server.asked[0]).toBe("/api/v1/nodes?labelSelector=node-role.kubernetes.io%2Fcontrol-plane&limit=100");
    expect(server.asked[1]).toMatch(/watch=1&allowWatchBookmarks=true&.*timeoutSeconds=\d+&resourceVersion=100$/);
  });

  test("reads a list page by page, and streams in small pieces", async () => {
    const server = await startApiServer(ADDRESS);
    server.pieceOctets = 7;
    for (let index = 0; index < 250; index += 1) server.set(nodeObject(`n${index}`, "192.0.2.1"));
    const { heard, until } = await setUp({}, server);
    await until(() => heard.length > 0);
    expect(heard[0]?.split(" ")).toHaveLength(250);
    expect(server.asked.filter((path) => path.includes("limit="))).toHaveLength(3);
    await until(() => server.watchers === 1);
    server.set(nodeObject("n-ü", "192.0.2.2"));
    await until(() => heard.at(-1)?.endsWith(" n-ü") === true);
  });

  test("goes on from where it was when a watch ends or breaks, without a list", async () => {
    const { server, heard, until } = await setUp();
    await until(() => server.watchers === 1);
    server.disconnect();
    server.set(nodeObject("cp1", "192.0.2.1"));
    await until(() => heard.at(-1) === "cp1");
    await until(() => server.watchers === 1);
    server.endWatches();
    server.set(nodeObject("cp2", "192.0.2.2"));
    await until(() => heard.at(-1) === "cp1 cp2");
    expect(server.lists).toBe(1);
    expect(heard.filter((line) => line.startsWith("!"))).toEqual([]);
  });

  test("lists anew after 410, within a watch and in place of one, and not in a storm", async () => {
    const { server, clock, heard, until } = await setUp();
    await until(() => server.watchers === 1);
    await until(() => clock.monotonicMs() > 2_000);
    server.expireWatches();
    await until(() => server.lists === 2 && server.watchers === 1);
    server.compact();
    server.disconnect();
    server.set(nodeObject("cp1", "192.0.2.1"));
    await until(() => heard.at(-1) === "cp1");
    expect(server.lists).toBe(3);
    // A server that takes no version for new enough.
    server.disconnect();
    const before = server.lists;
    const until410 = clock.monotonicMs() + 30_000;
    await until(() => {
      server.compact();
      return clock.monotonicMs() > until410;
    });
    expect(server.lists - before).toBeLessThanOrEqual(30);
  });

  test("notices a black hole in the middle of a watch within 100 s", async () => {
    const { server, heard, until, clock } = await setUp();
    await until(() => server.watchers === 1);
    server.isBlackHole = true;
    const atMs = clock.monotonicMs();
    await until(() => server.requests > 2 && heard.some((line) => line.startsWith("!")), 250);
    expect(clock.monotonicMs() - atMs).toBeLessThanOrEqual(100_000);
    server.isBlackHole = false;
    server.set(nodeObject("cp1", "192.0.2.1"));
    await until(() => heard.at(-1) === "cp1", 250);
  });

  test("bookmarks keep a quiet watch alive", async () => {
    const { server, clock, until, state } = await setUp();
    await until(() => server.watchers === 1);
    const endMs = clock.monotonicMs() + 280_000;
    let nextMs = 0;
    await until(() => {
      if (clock.monotonicMs() >= nextMs) {
        server.bookmark();
        nextMs = clock.monotonicMs() + 60_000;
      }
      return clock.monotonicMs() > endMs;
    }, 250);
    expect(server.lists).toBe(1);
    expect(state.confirmed).toBeGreaterThanOrEqual(4);
  });
});

describe("a server that refuses", () => {
  test("429 is obeyed", async () => {
    const server = await startApiServer(ADDRESS);
    server.fault = { status: 429, retryAfter: 20 };
    const { heard, until, clock } = await setUp({}, server);
    await until(() => heard.length === 1);
    server.fault = undefined;
    server.set(nodeObject("cp1", "192.0.2.1"));
    const atMs = clock.monotonicMs();
    await until(() => heard.at(-1) === "cp1");
    expect(clock.monotonicMs() - atMs).toBeGreaterThanOrEqual(19_000);
    expect(server.requests).toBeLessThanOrEqual(3);
  });

  test("401 is an alarm; the credential is read again, and tried less and less often", async () => {
    const { server, heard, until, credential, clock } = await setUp();
    await until(() => server.watchers === 1);
    server.token = "other";
    server.disconnect();
    await until(() => heard.at(-1)?.startsWith("!!") === true);
    const [before, atMs] = [server.requests, clock.monotonicMs()];
    await until(() => clock.monotonicMs() > atMs + 900_000, 1_000);
    expect(server.requests - before).toBeLessThanOrEqual(14);
    expect(server.requests - before).toBeGreaterThanOrEqual(3);
    credential.current = { ...(credential.current as Credential), token: "other" };
    server.set(nodeObject("cp1", "192.0.2.1"));
    expect(await until(() => heard.at(-1) === "cp1", 1_000)).toBeLessThanOrEqual(301_000);
    expect(server.lists).toBe(1);
  });

  test("403, and a credential that cannot be read, need an operator", async () => {
    const server = await startApiServer(ADDRESS);
    server.fault = { status: 403 };
    const { heard, until, credential } = await setUp({}, server);
    await until(() => heard.length === 1);
    expect(heard[0]).toMatch(/^!! .*403/);
    credential.current = new CredentialError("there is none");
    await until(() => heard.at(-1) === "!! there is none");
  });

  test("an outage ends with one list at most", async () => {
    const { server, heard, until, clock } = await setUp();
    await until(() => server.watchers === 1);
    await server.close();
    const endMs = clock.monotonicMs() + 120_000;
    await until(() => clock.monotonicMs() > endMs, 250);
    expect(heard.at(-1)).toMatch(/^! .*refused|ECONNREFUSED/i);
    const before = server.lists;
    server.compact();
    server.set(nodeObject("cp1", "192.0.2.1"));
    await server.listen();
    expect(await until(() => heard.at(-1) === "cp1", 250)).toBeLessThanOrEqual(31_000);
    expect(server.lists - before).toBe(1);
  });

  test("another authority's certificate is not talked to", async () => {
    const { server, heard, until, credential } = await setUp();
    await until(() => server.watchers === 1);
    credential.current = { ...(credential.current as Credential), serverName: "other.example.com" };
    server.disconnect();
    await until(() => heard.some((line) => /altnames|ERR_TLS|does not match/i.test(line)));
  });
});

describe("bad input", () => {
  test("objects that make no sense are skipped and told, and nothing else is lost", async () => {
    const server = await startApiServer(ADDRESS);
    server.set(nodeObject("cp1", "192.0.2.1"));
    server.set({ metadata: { name: "no-address", labels: 7 }, status: { addresses: "x" } });
    server.set({ metadata: { name: "" } });
    const { heard, told, until } = await setUp({}, server);
    await until(() => heard.length === 1 && server.watchers === 1);
    expect(heard).toEqual(["cp1"]);
    expect(told).toHaveLength(2);
    server.raw('{"type":"MODIFIED","object":null}\n{"type":"WHAT"}\n{"type":"ADDED","object":{"metadata":[]}}\n');
    server.set(nodeObject("cp2", "192.0.2.2"));
    await until(() => heard.at(-1) === "cp1 cp2");
    expect(server.lists).toBe(1);
  });

  test("a line that is no JSON makes it list anew", async () => {
    const { server, until, clock } = await setUp();
    await until(() => server.watchers === 1);
    server.raw("<html>\n");
    await until(() => server.lists === 2);
    expect(clock.monotonicMs()).toBeGreaterThan(0);
  });

  test("a line without end is cut, and told once", async () => {
    const { server, told, heard, until } = await setUp();
    await until(() => server.watchers === 1);
    const piece = "x".repeat(1024 * 1024);
    for (let index = 0; index < 12; index += 1) server.raw(piece);
    await until(() => told.length === 1);
    server.raw("\n");
    server.set(nodeObject("cp1", "192.0.2.1"));
    await until(() => heard.at(-1) === "cp1");
  });

  test("a list of 100 MB is read in smaller pages", async () => {
    const server = await startApiServer(ADDRESS);
    server.padding = 1024 * 1024;
    for (let index = 0; index < 100; index += 1) server.set(nodeObject(`n${index}`, "192.0.2.1"));
    const { heard, until } = await setUp({}, server);
    await until(() => heard.length === 1);
    expect(heard[0]?.split(" ")).toHaveLength(100);
  });

  test("10,000 nodes are taken", async () => {
    const server = await startApiServer(ADDRESS);
    for (let index = 0; index < 10_000; index += 1) server.set(nodeObject(`n${index}`, "192.0.2.1"));
    const { heard, until } = await setUp({}, server);
    await until(() => heard.length === 1);
    expect(heard[0]?.split(" ")).toHaveLength(10_000);
  });
});

describe("drains", () => {
  test("follow the label, and the cordon where it is honoured", async () => {
    const { server, heard, until } = await setUp({ honorCordon: true });
    await until(() => server.watchers === 1);
    const label = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };
    server.set(nodeObject("cp1", "192.0.2.1", { labels: label }));
    server.set(nodeObject("cp2", "192.0.2.2", { unschedulable: true }));
    await until(() => heard.at(-1) === "cp1! cp2!");
    server.set(nodeObject("cp1", "192.0.2.1"));
    server.set(nodeObject("cp2", "192.0.2.2"));
    await until(() => heard.at(-1) === "cp1 cp2");
  });
});

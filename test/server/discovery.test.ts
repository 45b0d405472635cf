import { describe, expect, test } from "vitest";
import { nodeObject, startApiServer } from "../discovery/api-server.js";
import { FQDN, startDiscovery } from "./discovery-harness.js";

const address = (index: number): string => `127.0.90.${10 + index}`;

async function setUp(endpoint = "") {
  const api = await startApiServer("127.0.90.1");
  const server = await startDiscovery({ api, endpoint });
  const join = (index: number): void => {
    api.set(nodeObject(`cp${index}`, address(index)));
    server.ready.add(address(index));
  };
  return { api, ...server, join };
}

describe("targets that a cluster proposes", () => {
  test("are answered within 1 s and rise, and not before they pass", async () => {
    const { api, join, answers, until, ready, pass } = await setUp();
    await until(() => api.watchers === 1);
    join(1);
    // Two passes, half a second apart, with the pauses of probes in between.
    expect(await until(() => answers().length === 1)).toBeLessThanOrEqual(1_000 + 2 * 1_100);
    api.set(nodeObject("cp2", address(2)));
    await pass(10_000);
    expect(answers()).toEqual([address(1)]);
    ready.add(address(2));
    await until(() => answers().length === 2);
  });

  test("that are deleted while they are down are not answered; while they are up, until they fail", async () => {
    const { api, join, answers, until, ready, pass, happened } = await setUp("    forgetAfter: 1m\n");
    for (const index of [1, 2, 3]) join(index);
    await until(() => answers().length === 3);
    ready.delete(address(1));
    await until(() => answers().length === 2);
    api.delete("cp1");
    api.delete("cp2");
    await pass(300_000, { stepMs: 500 });
    // The first is forgotten, the second passes still.
    expect(answers()).toEqual([address(2), address(3)]);
    expect(happened).toContainEqual(expect.objectContaining({ type: "targets-changed", left: ["cp1"] }));
    ready.delete(address(2));
    await until(() => answers().length === 1);
  });

  test("follow the probes while the API is gone for an hour, and agree after one list", async () => {
    const { api, join, answers, until, ready, pass, happened } = await setUp();
    for (const index of [1, 2, 3]) join(index);
    await until(() => answers().length === 3 && api.watchers === 1);
    await api.close();
    ready.delete(address(1));
    await until(() => answers().length === 2);
    await pass(3_600_000, { stepMs: 5_000 });
    expect(answers()).toEqual([address(2), address(3)]);
    const before = api.lists;
    api.compact();
    api.delete("cp1");
    join(4);
    await api.listen();
    await until(() => String(answers()) === String([address(2), address(3), address(4)]), { stepMs: 250 });
    expect(api.lists - before).toBe(1);
    expect(happened.filter(({ type }) => type === "source-recovered")).toHaveLength(1);
  }, 60_000);

  test("are asked for the API: all are replaced one by one until none of the first is left", async () => {
    const at = (index: number): string => `127.0.92.${index}`;
    const api = await startApiServer(at(1));
    const server = await startDiscovery({ api, endpoint: `    targets: { first: ${at(1)} }\n    forgetAfter: 1m\n` });
    const { ready, answers, until, pass } = server;
    ready.add(at(1));
    api.set(nodeObject("cp1", at(1)));
    await until(() => answers().length === 1 && api.watchers === 1);
    let now = api;
    for (const index of [2, 3, 4]) {
      // The next node joins, and has an API of its own; the one before it is removed.
      const next = await startApiServer(at(index), { port: api.port });
      for (const one of [index - 1, index]) next.set(nodeObject(`cp${one}`, at(one)));
      // Its versions are later than what the others have told.
      for (let version = 0; version < 100 * index; version += 1) next.compact();
      now.set(nodeObject(`cp${index}`, at(index)));
      ready.add(at(index));
      await until(() => answers().includes(at(index)));
      await now.close();
      ready.delete(at(index - 1));
      next.delete(`cp${index - 1}`);
      await until(() => next.watchers === 1 && String(answers()) === at(index), { stepMs: 250 });
      now = next;
    }
    await pass(120_000, { stepMs: 1_000 });
    expect(answers()).toEqual([at(4)]);
    expect(server.served.endpoints.get(FQDN)?.config.targets.map(({ id }) => id)).toEqual(["first", "cp4"]);
  });

  test("are drained by kubernetes, unless it is the last", async () => {
    const { api, join, answers, until, overrides, pass } = await setUp();
    const labels = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };
    join(1);
    await until(() => answers().length === 1);
    api.set(nodeObject("cp1", address(1), { labels }));
    await pass(5_000);
    expect(answers()).toEqual([address(1)]);
    join(2);
    await until(() => String(answers()) === address(2));
    expect(overrides.list()).toMatchObject([
      { target: "cp1", kind: "drained", author: "kubernetes", origin: "kubernetes" },
    ]);
    api.set(nodeObject("cp1", address(1)));
    await until(() => answers().length === 2);
    expect(overrides.list()).toEqual([]);
  });

  test("that an operator has drained are so when they are forgotten and come back", async () => {
    const { api, join, answers, until, ready, pass, overrides, happened } = await setUp("    forgetAfter: 1m\n");
    for (const index of [1, 2]) join(index);
    await until(() => answers().length === 2);
    await overrides.set({ endpoint: FQDN, target: "cp1", kind: "drained", author: "eve", origin: "operator" });
    expect(answers()).toEqual([address(2)]);
    ready.delete(address(1));
    api.delete("cp1");
    await pass(120_000, { stepMs: 500 });
    expect(happened).toContainEqual(expect.objectContaining({ type: "targets-changed", left: ["cp1"] }));
    // It comes back at another address.
    api.set(nodeObject("cp1", address(7)));
    ready.add(address(7));
    await pass(10_000);
    expect(answers()).toEqual([address(2)]);
    await overrides.clear({ endpoint: FQDN, target: "cp1" }, { author: "eve", origin: "operator" });
    await until(() => answers().length === 2);
    expect(answers()).toEqual([address(2), address(7)].sort());
  });

  test("are 64 at most, and that is told", async () => {
    const { api, until, served, happened } = await setUp();
    for (let index = 0; index < 100; index += 1) api.set(nodeObject(`cp${index}`, address(index)));
    await until(() => served.endpoints.get("api.k8s.example.test")?.config.targets.length === 64);
    expect(happened).toContainEqual(
      expect.objectContaining({
        notice: expect.objectContaining({ text: expect.stringContaining("maxTargets is 64") }),
      }),
    );
  });
});

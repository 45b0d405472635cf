import { execFile } from "node:child_process";
import { describe, expect, test } from "vitest";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { waitUntil } from "../support/wait.js";
import { ENDPOINT, type SiblingServer, startSiblings } from "./sibling-servers.js";
import { startTargets } from "./targets.js";

/** Waits until every one of these servers answers exactly these targets. */
async function untilAll(servers: readonly SiblingServer[], ids: readonly string[]): Promise<void> {
  for (const server of servers) {
    let got: readonly string[] = [];
    await waitUntil(
      async () => {
        got = await server.answered();
        return got.join() === ids.join();
      },
      { describe: () => `${server.name} to answer ${ids}; it was ${got}; ${server.livezone.stdout()}` },
    );
  }
}

describe.concurrent("a drain given to one of three servers", () => {
  test("holds on all, is undone on any, and says whose it is", async () => {
    const { servers, allHeard } = await startSiblings(3, await startTargets(["ready", "ready", "ready"]));
    const [ns1, ns2, ns3] = servers as [SiblingServer, SiblingServer, SiblingServer];
    await allHeard();
    const drained = await ns1.post("drain", "cp1", { author: "eve", reason: "kernel", for: "1h" });
    expect(drained).toMatchObject({ status: 200 });
    expect(drained.body.siblings).toMatchObject([
      { name: "ns2", heard: true, drained: true, safeAtMs: expect.any(Number) },
      { name: "ns3", heard: true, drained: true, safeAtMs: expect.any(Number) },
    ]);
    await untilAll(servers, ["cp2", "cp3"]);
    const shown = (await ns3.status()).zones[0]?.endpoints[0]?.targets[0]?.override;
    expect(shown).toMatchObject({ kind: "drained", author: "eve", reason: "kernel", origin: "sibling:ns1" });
    expect(ns2.livezone.logs("override set")).toMatchObject([{ target: "cp1", author: "eve", origin: "sibling:ns1" }]);
    expect(await ns2.post("undrain", "cp1", { author: "bob" })).toMatchObject({ status: 200, body: { changed: true } });
    await untilAll(servers, ["cp1", "cp2", "cp3"]);
    expect(ns1.livezone.logs("override cleared")).toMatchObject([{ author: "bob", origin: "sibling:ns2" }]);
  });

  test("is learned by one that was killed, and one that was cut off, once they are back", async () => {
    const { servers, link, allHeard } = await startSiblings(3, await startTargets(["ready", "ready", "ready"]));
    const [ns1, ns2, ns3] = servers as [SiblingServer, SiblingServer, SiblingServer];
    await allHeard();
    for (const one of [link(0, 1), link(1, 0), link(1, 2), link(2, 1)]) one.cut(true);
    ns3.livezone.signal("SIGKILL");
    await ns3.livezone.ended;
    await waitUntil(
      async () => (await ns1.status()).siblings?.peers.every(({ condition }) => condition !== "fresh") === true,
    );
    const drained = await ns1.post("drain", "cp1");
    expect(drained.body.siblings).toMatchObject([
      { name: "ns2", heard: false },
      { name: "ns3", heard: false },
    ]);
    await ns3.restart();
    await untilAll([ns1, ns3], ["cp2", "cp3"]);
    expect(await ns2.answered()).toEqual(["cp1", "cp2", "cp3"]);
    // ns1 and ns2 stay apart: ns3 passes it on.
    link(1, 2).cut(false);
    link(2, 1).cut(false);
    await untilAll(servers, ["cp2", "cp3"]);
  });

  test("is refused if it would take the last one of a sibling, which is named; --local and --force do not ask", async () => {
    const probed = await startTargets(["ready", "ready"]);
    const { servers, allHeard } = await startSiblings(2, probed);
    const [ns1, ns2] = servers as [SiblingServer, SiblingServer];
    await allHeard();
    expect(await ns2.post("drain", "cp2", { local: true })).toMatchObject({ status: 200 });
    await untilAll([ns2], ["cp1"]);
    expect(await ns1.answered()).toEqual(["cp1", "cp2"]);
    const refused = await ns1.post("drain", "cp1");
    expect(refused).toMatchObject({ status: 409, body: { error: { code: "LAST_ANSWERABLE" } } });
    expect(JSON.stringify(refused.body)).toContain("ns2 refuses");
    expect(await ns1.post("drain", "cp1", { force: true })).toMatchObject({ status: 200 });
    await untilAll([ns1], ["cp2"]);
  });

  test("at the same moment on both servers never takes both of two targets", async () => {
    const { servers, allHeard } = await startSiblings(2, await startTargets(["ready", "ready"]));
    const [ns1, ns2] = servers as [SiblingServer, SiblingServer];
    await allHeard();
    const replies = await Promise.all([ns1.post("drain", "cp1"), ns2.post("drain", "cp2")]);
    expect(replies.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  test("drain --wait tells of each sibling, and ends with 1 if one was not heard", async () => {
    const { servers, link, allHeard } = await startSiblings(2, await startTargets(["ready", "ready", "ready"]));
    const [ns1, ns2] = servers as [SiblingServer, SiblingServer];
    await allHeard();
    // Not synchronous: the links between the servers are kept by this process.
    const drain = (target: string) =>
      new Promise<{ status: unknown; stdout: string }>((resolve) => {
        const args = [LIVEZONE_MAIN, "drain", ENDPOINT, target, "--wait", "--admin", ns1.socket];
        execFile(process.execPath, args, (error, stdout) => resolve({ status: error?.code ?? 0, stdout }));
      });
    const heard = await drain("cp1");
    expect(heard.stdout).toContain("ns2 has it drained");
    expect(heard).toMatchObject({ status: 0, stdout: expect.stringContaining("cp1 can be stopped now") });
    link(0, 1).cut(true);
    link(1, 0).cut(true);
    await waitUntil(async () => (await ns2.status()).siblings?.peers[0]?.condition !== "fresh");
    await waitUntil(async () => (await ns1.status()).siblings?.peers[0]?.condition !== "fresh");
    const unheard = await drain("cp2");
    expect(unheard).toMatchObject({ status: 1, stdout: expect.stringContaining("! ns2 was not heard") });
  });
});

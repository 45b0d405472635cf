import { describe, expect, test } from "vitest";
import { connectTcp, type ProbedTargets, startTargets, zoneOf } from "./app/targets.js";
import { askForAddresses, askRaw } from "./support/dns-client.js";
import { encodeQuery, parseMessage } from "./support/dns-message.js";
import { type LivezoneOptions, startLivezone } from "./support/livezone.js";
import { freePort } from "./support/ports.js";
import { waitUntil } from "./support/wait.js";

const ENDPOINT = "api.k8s.example.test";

/** What a stop may take, by the promise that service managers rely on. */
const STOP_WITHIN_MS = 5_000;

function filesFor(listenPort: number, { port, targets }: ProbedTargets): LivezoneOptions["files"] {
  return {
    "livezone.yaml": `listen: ["127.0.0.1:${listenPort}"]\nadmin: { http: "127.0.0.1:0" }\nzones: [zones/*.yaml]\n`,
    "zones/k8s.yaml": zoneOf({ port, targets }, "interval: 20s, timeout: 20s"),
  };
}

/** A query with the length that TCP puts in front of it. */
function framedQuery(): Buffer {
  const query = encodeQuery({ name: ENDPOINT });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);
  return Buffer.concat([length, query]);
}

describe.concurrent("a start", () => {
  test("is silent while probes have no result, and then answers with all targets", async () => {
    const port = await freePort();
    const probed = await startTargets(["hold", "hold"]);
    const livezone = await startLivezone({ files: filesFor(port, probed), awaitReady: false });
    const { http } = await livezone.waitForLog("server started");
    const status = async () => (await fetch(`http://${http}/readyz`)).status;
    expect(await status()).toBe(503);
    const at = { server: "127.0.0.1", port };
    const bytes = encodeQuery({ name: ENDPOINT });
    expect(await askRaw({ ...at, bytes, timeoutMs: 300 })).toBeUndefined();
    expect(await askRaw({ ...at, bytes, timeoutMs: 300, transport: "tcp" })).toBeUndefined();
    expect(livezone.logs("ready")).toEqual([]);

    expect(await livezone.waitForLog("ready")).toMatchObject({ isComplete: false });
    expect(await status()).toBe(200);
    expect(await askForAddresses({ ...at, name: ENDPOINT })).toEqual(probed.targets.map(({ address }) => address));
    expect(await livezone.waitForLog("endpoint failed open")).toMatchObject({ endpoint: "api", upTargets: 0 });
  });

  test("ends its silence with the last first result", async () => {
    const port = await freePort();
    const probed = await startTargets(["ready", "unready"]);
    const livezone = await startLivezone({ files: filesFor(port, probed), awaitReady: false });
    expect(await livezone.waitForLog("ready")).toMatchObject({ isComplete: true });
    expect(await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT })).toEqual([probed.targets[0]?.address]);
  });
});

describe.concurrent("a stop", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("by %s closes idle connections and ends with code 0", async (signal) => {
    const port = await freePort();
    const livezone = await startLivezone({ files: filesFor(port, await startTargets(["ready"])) });
    const idle = await Promise.all([connectTcp(port), connectTcp(port), connectTcp(port)]);
    const [used] = idle;
    used?.socket.write(framedQuery());
    await waitUntil(() => used !== undefined && used.received().length > 0);

    livezone.signal(signal);
    const late = setTimeout(() => livezone.signal("SIGKILL"), STOP_WITHIN_MS);
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
    clearTimeout(late);
    await Promise.all(idle.map(({ closed }) => closed));
    expect(livezone.logs("stopping")).toEqual([expect.objectContaining({ signal })]);
    expect(livezone.logs().at(-1)).toMatchObject({ msg: "server stopped" });
  });

  test("answers TCP queries that have arrived", async () => {
    const port = await freePort();
    const livezone = await startLivezone({ files: filesFor(port, await startTargets(["ready"])) });
    const connections = await Promise.all(Array.from({ length: 5 }, () => connectTcp(port)));
    // While the process is stopped, queries and signal both wait for it: neither is first by chance.
    livezone.signal("SIGSTOP");
    for (const { socket } of connections) socket.write(framedQuery());
    livezone.signal("SIGTERM");
    livezone.signal("SIGCONT");
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
    await Promise.all(connections.map(({ closed }) => closed));
    for (const { received } of connections) {
      expect(received().length).toBeGreaterThan(2);
      expect(parseMessage(received().subarray(2)).answers).toHaveLength(1);
    }
  });

  test("answers a TCP query of which a part has arrived", async () => {
    const port = await freePort();
    const livezone = await startLivezone({ files: filesFor(port, await startTargets(["ready"])) });
    const { socket, received, closed } = await connectTcp(port);
    const query = framedQuery();
    // A whole query first, so that the part after it has been read once the first reply is here.
    socket.write(Buffer.concat([query, query.subarray(0, 12)]));
    await waitUntil(() => received().length > 2);
    const first = received().length;
    livezone.signal("SIGTERM");
    await livezone.waitForLog("stopping");
    socket.write(query.subarray(12));
    await closed;
    expect(received()).toHaveLength(2 * first);
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
  });

  test("leaves the port free for the next start at once", async () => {
    const port = await freePort();
    const probed = await startTargets(["ready"]);
    const files = filesFor(port, probed);
    const first = await startLivezone({ files });
    const { socket, received, closed } = await connectTcp(port);
    socket.write(framedQuery());
    await waitUntil(() => received().length > 2);
    // The server closes this connection, so its side of it lingers in TIME_WAIT.
    await first.stop();
    await closed;
    await startLivezone({ files });
    const answer = await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT, transport: "tcp" });
    expect(answer).toEqual([probed.targets[0]?.address]);
  });
});

describe.concurrent("SIGHUP", () => {
  test("before the first round is over reloads, and ends nothing", async () => {
    const port = await freePort();
    const livezone = await startLivezone({ files: filesFor(port, await startTargets(["hold"])), awaitReady: false });
    await livezone.waitForLog("server started");
    livezone.signal("SIGHUP");
    await livezone.waitForLog("configuration reloaded");
    await livezone.waitForLog("ready");
    expect(await livezone.stop()).toEqual({ code: 0, signal: null });
  });

  test("during a stop changes nothing", async () => {
    const port = await freePort();
    const livezone = await startLivezone({ files: filesFor(port, await startTargets(["ready"])) });
    // A query that has begun keeps the stop waiting for a while.
    const begun = await connectTcp(port);
    begun.socket.write(framedQuery().subarray(0, 1));
    livezone.signal("SIGTERM");
    await livezone.waitForLog("stopping");
    livezone.signal("SIGHUP");
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
    expect(livezone.logs("server stopped")).toHaveLength(1);
  });

  test("a hundred times is a few reloads", async () => {
    const port = await freePort();
    const livezone = await startLivezone({ files: filesFor(port, await startTargets(["ready"])) });
    for (let i = 0; i < 100; i += 1) livezone.signal("SIGHUP");
    await livezone.waitForLog("configuration reloaded");
    expect(await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT })).toHaveLength(1);
    expect(await livezone.stop()).toEqual({ code: 0, signal: null });
    expect(livezone.logs("configuration reloaded").length).toBeLessThan(50);
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ProbeConfig } from "../../../src/config/config.js";
import { runAttempt } from "../../../src/health/probes/attempt.js";
import { probeKey } from "../../../src/health/probes/probe.js";
import { placeOfProbe } from "../../../src/health/probes/target.js";
import { systemClock } from "../../../src/lib/clock.js";
import { waitUntil } from "../../support/wait.js";
import { answering, response, startPeer } from "./peers.js";
import { closedPort, HEAD, http, probingSetUp, SCHEDULE, SHORT, said } from "./probing.js";

const probing = probingSetUp();
const { folder, https, probe } = probing;

describe("a tcp probe", () => {
  const tcp = (port: number): ProbeConfig => ({ ...SCHEDULE, type: "tcp", port });

  test("passes when the port accepts, and closes without a word", async () => {
    const peer = await startPeer(() => {});
    expect(said(await probe(tcp(peer.port)))).toBe(`ok: port ${peer.port} accepts connections`);
    await waitUntil(() => peer.accepted === 1 && peer.open === 0, { describe: "the connection to be released" });
    expect(peer.received).toBe("");
  });

  test("fails when nothing listens", async () => {
    expect((await probe(tcp(await closedPort()))).class).toBe("refused");
  });
});

describe("a timeout tells the step", () => {
  test.each([
    ["response", (port: number) => http(port, SHORT)],
    ["tls", (port: number) => https(port, SHORT)],
  ] as const)("%s", async (phase, config) => {
    const peer = await startPeer(() => {});
    expect(await probe(config(peer.port))).toMatchObject({ class: "timeout", phase });
  });

  test("connect", async () => {
    // Loopback always connects or refuses: a probe that opens nothing stands for a network that swallows everything.
    expect(await runAttempt(systemClock, { timeoutMs: 20 }, undefined, () => {})).toMatchObject({
      class: "timeout",
      phase: "connect",
      reason: "no connection within 20 ms",
    });
  });

  test("a connection has its own time, and what comes after it has the rest", async () => {
    const times = { timeoutMs: 60, connectMs: 20 };
    expect(await runAttempt(systemClock, times, undefined, () => {})).toMatchObject({
      phase: "connect",
      reason: "no connection within 20 ms",
    });
    expect(await runAttempt(systemClock, times, undefined, (one) => one.waitFor("tls", "TLS handshake"))).toMatchObject(
      {
        phase: "tls",
        reason: "no TLS handshake within 60 ms",
      },
    );
  });

  test("and nothing else does", async () => {
    expect(await probe(http(await closedPort()))).not.toHaveProperty("phase");
  });
});

describe("where a target is probed", () => {
  test.each([
    [undefined, "192.0.2.1", 6443],
    [{ address: "10.0.0.1" }, "10.0.0.1", 6443],
    [{ port: 8443 }, "192.0.2.1", 8443],
    [{ address: "10.0.0.1", port: 8443 }, "10.0.0.1", 8443],
  ])("%j: %s, %i", (place, address, port) => {
    expect(placeOfProbe("192.0.2.1", http(6443), place)).toEqual({ address, config: http(port) });
  });
});

describe("any probe", () => {
  test("ends at once when it is stopped, and releases what it held", async () => {
    const peer = await startPeer(() => {});
    const controller = new AbortController();
    const started = probe(http(peer.port), controller.signal);
    await waitUntil(() => peer.received.includes("\r\n\r\n"), { describe: "the request" });
    controller.abort();
    await started;
    await waitUntil(() => peer.open === 0, { describe: "the connection to be released" });
  });

  test("does not begin when it is stopped before", async () => {
    const peer = await startPeer(() => {});
    await probe(https(peer.port), AbortSignal.abort());
    expect(peer.accepted).toBe(0);
  });

  test("needs nothing for `none`", async () => {
    expect(said(await probe({ ...SCHEDULE, type: "none" }))).toBe("ok: not probed");
  });

  test("never rejects, whatever the configuration let through", async () => {
    const peer = await startPeer(answering(response("200 OK", "ok")));
    expect((await probe(http(peer.port, { path: "/a b\r\nX: y" }))).class).toBe("unreachable");
    const token = join(folder, "broken-token");
    writeFileSync(token, "s3\r\ncret");
    const found = await probe(http(peer.port, { bearerTokenFile: token }));
    expect(said(found)).toMatch(/^unreachable: the probe could not be made: /);
    expect(found.reason).not.toContain("cret");
  });

  test("leaves neither sockets nor timers after a hundred of every kind", async () => {
    const peers = [
      await startPeer(answering(response("200 OK", "ok"))),
      await startPeer((socket) => socket.resetAndDestroy()),
      await startPeer(answering(`${HEAD}Content-Length: 100\r\n\r\nok`)),
    ];
    const secure = await startPeer(answering(response("200 OK", "ok")), {
      cert: probing.good.certPem,
      key: probing.good.keyPem,
    });
    const refused = await closedPort();
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 10 }, () => [
          ...peers.map(({ port }) => probe(http(port))),
          ...peers.map(({ port }) => probe(https(port))),
          probe(https(secure.port)),
          probe(https(secure.port, { serverName: "other.example.com" })),
          probe(http(refused)),
        ]).flat(),
      );
    }
    await waitUntil(() => [...peers, secure].every(({ open }) => open === 0), { describe: "the connections to close" });
    await waitUntil(
      () =>
        process.getActiveResourcesInfo().filter((what) => /TCPSocketWrap|TCPConnectWrap|TLSWrap/.test(what)).length ===
        0,
      { describe: () => `no sockets in ${process.getActiveResourcesInfo().join(" ")}` },
    );
  });
});

describe("probeKey", () => {
  test("is equal for the same request whatever the schedule", () => {
    expect(probeKey({ address: "192.0.2.1" }, http(1))).toBe(
      probeKey({ address: "192.0.2.1" }, http(1, { intervalMs: 9, rise: 1, fall: 9, recheckMs: 7 })),
    );
    expect(probeKey({ address: "192.0.2.1" }, { ...http(1) })).toBe(
      probeKey(
        { address: "192.0.2.1" },
        Object.fromEntries(Object.entries(http(1)).reverse()) as unknown as ProbeConfig,
      ),
    );
  });

  test.each([
    ["address", "192.0.2.2", {}],
    ["port", "192.0.2.1", { port: 2 }],
    ["path", "192.0.2.1", { path: "/livez" }],
    ["timeout", "192.0.2.1", { timeoutMs: 9 }],
    ["name", "192.0.2.1", { serverName: "x" }],
    ["type", "192.0.2.1", { type: "https" }],
    ["token", "192.0.2.1", { bearerTokenFile: "/t" }],
  ])("differs by %s", (_what, address, more) => {
    expect(probeKey({ address }, http(1, more))).not.toBe(probeKey({ address: "192.0.2.1" }, http(1)));
  });
});

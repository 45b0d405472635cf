import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import type { SingleProbeConfig } from "../../../src/config/config.js";
import { createAuthority, type IssuedCertificate } from "../../../src/demo/certificates.js";
import { createProbeFiles } from "../../../src/health/probes/files.js";
import { createOpenTripwire } from "../../../src/health/probes/tripwire.js";
import { temporaryFolder } from "../../support/temp.js";
import { waitUntil } from "../../support/wait.js";
import { type Behaviour, response, startPeer } from "./peers.js";

const SCHEDULE = { intervalMs: 2000, timeoutMs: 2000, recheckMs: 1000, rise: 2, fall: 3 };
const REQUEST = { path: "/readyz", expectStatus: [200], serverName: "api.k8s.example.com" };
const openTripwire = createOpenTripwire(createProbeFiles());

let good: IssuedCertificate;
let caPem = "";
beforeAll(async () => {
  const authority = await createAuthority();
  caPem = authority.caPem;
  good = await authority.issue({ names: [REQUEST.serverName] });
});

/** Keeps every connection, answers each request, and remembers what becomes of the connections. */
function keeper() {
  const sockets: Socket[] = [];
  const ends: string[] = [];
  const behave: Behaviour = (socket) => {
    sockets.push(socket);
    socket.on("data", () => socket.write(response("200 OK", "ok", ["Connection: keep-alive"])));
    socket.on("end", () => ends.push("end"));
    socket.on("error", (error) => ends.push(error.message));
  };
  return { behave, sockets, ends };
}

function setTripwire(config: SingleProbeConfig) {
  const ends: string[] = [];
  const close = openTripwire("127.0.0.1", config, (how) => ends.push(how));
  return { ends, close };
}

function https(port: number, more: Partial<SingleProbeConfig> = {}): SingleProbeConfig {
  const ca = `${temporaryFolder()}/ca.crt`;
  writeFileSync(ca, caPem);
  return { ...SCHEDULE, type: "https", ...REQUEST, port, ca, insecureSkipVerify: false, ...more } as SingleProbeConfig;
}

const tlsOptions = () => ({ cert: good.certPem, key: good.keyPem });

describe("a tripwire over https", () => {
  test("sends one GET, is kept alive, and trips when the server closes it", async () => {
    const { behave, sockets } = keeper();
    const peer = await startPeer(behave, tlsOptions());
    const { ends } = setTripwire(https(peer.port));
    await waitUntil(() => peer.received.endsWith("\r\n\r\n"));
    expect(peer.received).toMatch(/^GET \/readyz HTTP\/1\.1\r\n/);
    expect(peer.received).toMatch(/\r\nHost: api\.k8s\.example\.com:\d+\r\n/);
    expect(peer.received).toContain("\r\nConnection: keep-alive\r\n");
    expect(peer.accepted).toBe(1);
    expect(ends).toEqual([]);
    sockets[0]?.end();
    await waitUntil(() => ends.length > 0);
    expect(ends).toEqual(["tripped"]);
    await waitUntil(() => peer.open === 0);
    expect(peer.received.match(/GET/g)).toHaveLength(1);
  });

  test("trips when the connection is reset", async () => {
    const { behave } = keeper();
    const peer = await startPeer(behave, tlsOptions());
    const { ends } = setTripwire(https(peer.port));
    await waitUntil(() => peer.received.endsWith("\r\n\r\n"));
    peer.resetAll();
    await waitUntil(() => ends.length > 0);
    expect(ends).toEqual(["tripped"]);
  });

  test("is closed in an orderly way, after which nothing is heard of it", async () => {
    const { behave, ends: serverSaw } = keeper();
    const peer = await startPeer(behave, tlsOptions());
    const { ends, close } = setTripwire(https(peer.port));
    await waitUntil(() => peer.received.endsWith("\r\n\r\n"));
    close();
    close();
    await waitUntil(() => peer.open === 0);
    expect(serverSaw).toEqual(["end"]);
    expect(ends).toEqual([]);
  });

  test("sends nothing to a server that it does not trust", async () => {
    const other = await createAuthority();
    const { certPem, keyPem } = await other.issue({ names: [REQUEST.serverName] });
    const { behave } = keeper();
    const token = `${temporaryFolder()}/token`;
    writeFileSync(token, "secret");
    const peer = await startPeer(behave, { cert: certPem, key: keyPem });
    const { ends } = setTripwire(https(peer.port, { bearerTokenFile: token } as Partial<SingleProbeConfig>));
    await waitUntil(() => ends.length > 0);
    expect(ends).toEqual(["failed"]);
    expect(peer.received).toBe("");
  });

  test("sends the token to one that it trusts", async () => {
    const token = `${temporaryFolder()}/token`;
    writeFileSync(token, "secret\n");
    const peer = await startPeer(keeper().behave, tlsOptions());
    const { close } = setTripwire(https(peer.port, { bearerTokenFile: token } as Partial<SingleProbeConfig>));
    await waitUntil(() => peer.received.includes("\r\nAuthorization: Bearer secret\r\n"));
    close();
  });

  test.each([
    { name: "refuses", behave: undefined },
    { name: "closes after its answer", behave: (socket: Socket) => socket.once("data", () => socket.end()) },
    { name: "never speaks TLS", behave: (socket: Socket) => socket.end("SSH-2.0-OpenSSH\r\n") },
  ])("fails where the server $name", async ({ name, behave }) => {
    const peer = await startPeer(behave ?? (() => {}), name === "closes after its answer" ? tlsOptions() : undefined);
    const { ends } = setTripwire(https(behave === undefined ? 1 : peer.port));
    await waitUntil(() => ends.length > 0);
    expect(ends).toEqual(["failed"]);
    await waitUntil(() => peer.open === 0);
  });

  test("fails where a file cannot be read", async () => {
    const { ends } = setTripwire(https(1, { ca: "/nowhere/ca.crt" } as Partial<SingleProbeConfig>));
    await waitUntil(() => ends.length > 0);
    expect(ends).toEqual(["failed"]);
  });
});

describe("a tripwire over http", () => {
  test("is kept alive after one GET", async () => {
    const { behave, sockets } = keeper();
    const peer = await startPeer(behave);
    const { ends } = setTripwire({ ...SCHEDULE, type: "http", ...REQUEST, port: peer.port });
    await waitUntil(() => peer.received.endsWith("\r\n\r\n"));
    sockets[0]?.destroy();
    await waitUntil(() => ends.length > 0);
    expect(ends).toEqual(["tripped"]);
  });
});

describe("a tripwire over tcp", () => {
  test("says nothing, reads what comes, and trips at the end", async () => {
    const sockets: Socket[] = [];
    const peer = await startPeer((socket) => {
      sockets.push(socket);
      socket.write("220 welcome\r\n");
      socket.resume();
    });
    const { ends } = setTripwire({ ...SCHEDULE, type: "tcp", port: peer.port });
    await waitUntil(() => sockets.length === 1);
    expect(peer.received).toBe("");
    const [socket] = sockets;
    socket?.end();
    await once(socket as Socket, "close");
    expect(ends).toEqual(["tripped"]);
  });
});

test.each([
  ["none", { ...SCHEDULE, type: "none" }],
  ["exec", { ...SCHEDULE, type: "exec", command: ["true"], port: 1 }],
] as const)("there is no tripwire for a probe of type %s", async (_name, config) => {
  const { ends, close } = setTripwire(config);
  await waitUntil(() => ends.length > 0);
  expect(ends).toEqual(["failed"]);
  close();
});

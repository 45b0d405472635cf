import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { ProbeConfig, SingleProbeConfig } from "../../../src/config/config.js";
import { type Authority, createAuthority, type IssuedCertificate } from "../../../src/demo/certificates.js";
import type { ProbeResult } from "../../../src/health/health.js";
import { runAttempt } from "../../../src/health/probes/attempt.js";
import { createProbeFiles } from "../../../src/health/probes/files.js";
import { createRunProbe, probeKey } from "../../../src/health/probes/probe.js";
import { placeOfProbe } from "../../../src/health/probes/target.js";
import { systemClock } from "../../../src/lib/clock.js";
import { afterAllTests } from "../../support/cleanup.js";
import { temporaryFolder } from "../../support/temp.js";
import { waitUntil } from "../../support/wait.js";
import { answering, answeringThenSilent, type Behaviour, pouring, response, startPeer } from "./peers.js";
import { selfSigned } from "./self-signed.js";

const NAME = "api.k8s.example.com";
const SCHEDULE = { intervalMs: 2000, timeoutMs: 10_000, recheckMs: 1000, rise: 2, fall: 3 };
/** For what is bound to time out: long enough for a handshake on a busy machine. */
const SHORT = { timeoutMs: 700 };
const DAY_MS = 86_400_000;

const folder = temporaryFolder(afterAllTests());
const files = { ca: join(folder, "ca.crt"), cert: join(folder, "probe.crt"), key: join(folder, "probe.key") };
const run = createRunProbe(systemClock, createProbeFiles());
let authority: Authority;
let good: IssuedCertificate;

beforeAll(async () => {
  authority = await createAuthority();
  good = await authority.issue({ names: [NAME, "127.0.0.1"] });
  const client = await authority.issue({ names: ["livezone"], clientAuth: true });
  writeFileSync(files.ca, authority.caPem);
  writeFileSync(files.cert, client.certPem);
  writeFileSync(files.key, client.keyPem);
});

function http(port: number, more: object = {}): ProbeConfig {
  return { ...SCHEDULE, type: "http", path: "/readyz", expectStatus: [200], serverName: NAME, port, ...more };
}

function https(port: number, more: object = {}): ProbeConfig {
  return {
    ...SCHEDULE,
    type: "https",
    path: "/readyz",
    expectStatus: [200],
    serverName: NAME,
    port,
    ca: files.ca,
    insecureSkipVerify: false,
    ...more,
  };
}

const probe = (config: ProbeConfig, signal?: AbortSignal) => run({ address: "127.0.0.1" }, config, signal);

/** `class: reason`. */
const said = ({ class: resultClass, reason }: ProbeResult) => `${resultClass}: ${reason}`;

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

const KUBE_NOT_READY = [
  "[+]ping ok",
  "[-]etcd failed: reason withheld",
  "[+]poststarthook/start-apiextensions-informers ok",
  "[-]shutdown failed: reason withheld",
  "readyz check failed",
  "",
].join("\n");

const HEAD = "HTTP/1.1 200 OK\r\n";

// One row for each thing a server may do with a request, over plain HTTP; TLS changes nothing of it.
const responses: readonly { name: string; behave: Behaviour; more?: object; result: string }[] = [
  { name: "200", behave: answering(response("200 OK", "ok")), result: "ok: status 200" },
  {
    name: "200 in chunks",
    behave: answering(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`),
    result: "ok: status 200",
  },
  { name: "HTTP/1.0 without a length", behave: answering("HTTP/1.0 200 OK\r\n\r\nok"), result: "ok: status 200" },
  {
    name: "a status that is expected by configuration",
    behave: answering(response("429 Too Many Requests", "")),
    more: { expectStatus: [200, 429] },
    result: "ok: status 429",
  },
  {
    name: "500 with the list of checks",
    behave: answering(response("500 Internal Server Error", KUBE_NOT_READY)),
    result: "not-ready: not ready: etcd, shutdown",
  },
  {
    name: "503 without a word",
    behave: answering(response("503 Service Unavailable", "")),
    result: "not-ready: not ready: status 503",
  },
  {
    name: "401 to an anonymous probe",
    behave: answering(response("401 Unauthorized", "{}")),
    result:
      "auth-required: status 401: anonymous requests are not allowed: the probe needs a client certificate or bearer token",
  },
  {
    name: "403",
    behave: answering(response("403 Forbidden", "{}")),
    result: "auth-required: status 403: the probe may not read /readyz",
  },
  {
    name: "a redirect",
    behave: answering(response("301 Moved Permanently", "", ["Location: https://elsewhere.example/login"])),
    result: "unexpected-status: status 301: redirected to https://elsewhere.example/login, which is not followed",
  },
  {
    name: "404",
    behave: answering(response("404 Not Found", "no")),
    result: "unexpected-status: status 404, expected 200",
  },
  {
    name: "404 whose body never ends, judged by the status",
    behave: answeringThenSilent("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n"),
    result: "unexpected-status: status 404, expected 200",
  },
  {
    name: "another protocol",
    behave: answering("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    result: "unexpected-status: status 101: the server wants another protocol",
  },
  {
    name: "200 whose body never ends",
    behave: answeringThenSilent(`${HEAD}Content-Length: 5\r\n\r\nok`),
    more: SHORT,
    result: "timeout: no complete response within 700 ms",
  },
  {
    name: "a body that drips",
    behave: pouring(`${HEAD}Content-Length: 1000\r\n\r\n`, "x", 50),
    more: SHORT,
    result: "timeout: no complete response within 700 ms",
  },
  {
    name: "an endless body, judged by the status after 64 KiB",
    behave: pouring(`${HEAD}\r\n`, "x".repeat(4096)),
    result: "ok: status 200",
  },
  {
    name: "500 with an endless body",
    behave: pouring("HTTP/1.1 500 Internal Server Error\r\n\r\n[-]etcd failed: reason withheld\n", "x".repeat(4096)),
    result: "not-ready: not ready: etcd",
  },
  {
    name: "headers that drip",
    behave: pouring(HEAD, "X-Drip: 1\r\n", 50),
    more: SHORT,
    result: "timeout: no response within 700 ms",
  },
  {
    name: "endless headers",
    behave: pouring(HEAD, `X-Flood: ${"x".repeat(1000)}\r\n`),
    result: "malformed-response: the response's header is larger than 16 KiB",
  },
  {
    name: "one endless header",
    behave: pouring(`${HEAD}X-Flood: `, "x".repeat(4096)),
    result: "malformed-response: the response's header is larger than 16 KiB",
  },
  {
    name: "endless interim responses",
    behave: pouring("", "HTTP/1.1 100 Continue\r\n\r\n", 20),
    more: SHORT,
    result: "timeout: no response within 700 ms",
  },
  {
    name: "no answer at all",
    behave: () => {},
    more: SHORT,
    result: "timeout: no response within 700 ms",
  },
  {
    name: "something that is not HTTP",
    behave: answering("SSH-2.0-OpenSSH_9.9\r\n"),
    result: "malformed-response: the response is not HTTP",
  },
  {
    name: "chunks of garbage",
    behave: answering(`${HEAD}Transfer-Encoding: chunked\r\n\r\nhello\r\n`),
    result: "malformed-response: the response's chunks are malformed",
  },
  {
    name: "a connection closed without a response",
    behave: answering(""),
    result: "reset: connection closed by the server before the response",
  },
  {
    name: "a connection closed in the middle of the head",
    behave: answering(`${HEAD}X-Half:`),
    result: "reset: connection closed by the server before the response",
  },
  {
    name: "a connection closed in the middle of the body",
    behave: answering(`${HEAD}Content-Length: 100\r\n\r\nok`),
    result: "reset: connection closed by the server before the complete response",
  },
  {
    name: "a connection reset at the request",
    behave: (socket) => socket.once("data", () => socket.resetAndDestroy()),
    result: "reset: connection reset by the server before the response",
  },
];

describe("an http probe finds", () => {
  test.each(responses)("$name", async ({ behave, more, result }) => {
    const peer = await startPeer(behave);
    const found = await probe(http(peer.port, more));
    expect(said(found)).toBe(result);
    expect(peer.accepted).toBe(1);
    expect(found.durationMs).toBeGreaterThan(0);
    expect(found).not.toHaveProperty("certificateExpiryMs");
    await waitUntil(() => peer.open === 0, { describe: "the connection to be released" });
  });

  test.each([1, 9, 20, 40, 60, 75])("the same in two pieces, cut after %i octets", async (at) => {
    const whole = response("500 Internal Server Error", "[-]etcd failed: reason withheld\n");
    const peer = await startPeer((socket) => {
      socket.setNoDelay(true);
      socket.once("data", () => {
        socket.write(whole.slice(0, at), () => setTimeout(() => socket.end(whole.slice(at)), 20));
      });
    });
    expect(said(await probe(http(peer.port)))).toBe("not-ready: not ready: etcd");
  });

  test("a connection reset as soon as it is made", async () => {
    const peer = await startPeer((socket) => socket.resetAndDestroy());
    // The reset may overtake the news that the connection stands.
    expect(said(await probe(http(peer.port)))).toMatch(/^reset: .* by the server before the (?:connection|response)$/);
  });

  test("nothing on the port", async () => {
    const found = await probe(http(await closedPort()));
    expect(said(found)).toBe("refused: connection refused: nothing listens on the port");
  });
});

test("the request is one GET of the path, with the name as Host, a token, and nothing kept open", async () => {
  const token = join(folder, "token");
  writeFileSync(token, "s3cret\n");
  const peer = await startPeer(answering(response("200 OK", "ok")));
  await probe(http(peer.port, { path: "/readyz?verbose=1", bearerTokenFile: token }));
  expect(peer.received.split("\r\n")).toEqual([
    "GET /readyz?verbose=1 HTTP/1.1",
    `Host: ${NAME}:${peer.port}`,
    "User-Agent: livezone-probe",
    "Accept: */*",
    "Connection: close",
    "Authorization: Bearer s3cret",
    "",
    "",
  ]);
});

test("what came from the network is one printable line of at most 200 characters", async () => {
  const location = `Location: \u00e9\t\u007f${"x".repeat(5000)}`;
  const peer = await startPeer((socket) =>
    socket.once("data", () => socket.end(Buffer.from(response("302 Found", "", [location]), "latin1"))),
  );
  const { reason } = await probe(http(peer.port));
  expect(reason).toMatch(/^[\x20-\x7e]{1,200}$/);
});

describe("an https probe", () => {
  const ok = answering(response("200 OK", "ok"));
  const tls = (certificate: IssuedCertificate) => ({ cert: certificate.certPem, key: certificate.keyPem });

  test.each(["ec", "rsa", "ed25519"] as const)(
    "passes with a certificate of type %s, and reads its end",
    async (keyType) => {
      const notAfter = new Date(Math.floor(Date.now() / 1000) * 1000 + 10 * DAY_MS);
      const peer = await startPeer(ok, tls(await authority.issue({ names: [NAME], keyType, notAfter })));
      const found = await probe(https(peer.port));
      expect(said(found)).toBe("ok: status 200");
      expect(found.certificateExpiryMs).toBe(notAfter.getTime());
      await waitUntil(() => peer.open === 0, { describe: "the connection to be released" });
    },
  );

  test("sends the name as SNI and asks for HTTP/1.1", async () => {
    const seen: unknown[] = [];
    const peer = await startPeer(
      (socket) => {
        if ("servername" in socket && "alpnProtocol" in socket) seen.push(socket.servername, socket.alpnProtocol);
        ok(socket);
      },
      { ...tls(good), ALPNProtocols: ["h2", "http/1.1"] },
    );
    expect((await probe(https(peer.port))).class).toBe("ok");
    expect(seen).toEqual([NAME, "http/1.1"]);
  });

  test("may be given an address as the name, which is no SNI but is verified", async () => {
    const peer = await startPeer(ok, tls(good));
    expect((await probe(https(peer.port, { serverName: "127.0.0.1" }))).class).toBe("ok");
    expect(said(await probe(https(peer.port, { serverName: "192.0.2.1" })))).toBe(
      `tls-name-mismatch: the certificate is not for 192.0.2.1 but for ${NAME}, 127.0.0.1`,
    );
  });

  const bad: readonly { name: string; issue: () => Promise<IssuedCertificate>; result: RegExp }[] = [
    {
      name: "another name",
      issue: () => authority.issue({ names: ["kubernetes", "10.96.0.1"] }),
      result: /^tls-name-mismatch: the certificate is not for api\.k8s\.example\.com but for kubernetes, 10\.96\.0\.1$/,
    },
    {
      name: "an end in the past",
      issue: () => authority.issue({ names: [NAME], notAfter: new Date("2025-03-04T05:06:07Z") }),
      result: /^tls-expired: the certificate expired on 2025-03-04$/,
    },
    {
      name: "a beginning in the future",
      issue: () =>
        authority.issue({
          names: [NAME],
          notBefore: new Date("2090-01-01T00:00:00Z"),
          notAfter: new Date("2090-02-01T00:00:00Z"),
        }),
      result: /^tls-expired: the certificate is not valid before 2090-01-01$/,
    },
    {
      name: "another authority",
      issue: async () => (await createAuthority()).issue({ names: [NAME] }),
      result: /^tls-untrusted: the certificate is signed by an authority that is not trusted$/,
    },
    {
      name: "the purpose of a client",
      issue: () => authority.issue({ names: [NAME], clientAuth: true }),
      result: /^tls-untrusted: the certificate is not meant for servers: its extended key usage lacks serverAuth$/,
    },
  ];

  describe.each(bad)("given a certificate with $name", ({ issue, result }) => {
    test("tells, before a request or a token is sent", async () => {
      const peer = await startPeer(ok, tls(await issue()));
      const found = await probe(https(peer.port));
      expect(said(found)).toMatch(result);
      expect(found.certificateExpiryMs).toBeTypeOf("number");
      await waitUntil(() => peer.accepted === 1 && peer.open === 0, { describe: "the connection to be released" });
      expect(peer.received).toBe("");
    });

    test("passes with insecureSkipVerify", async () => {
      const peer = await startPeer(ok, tls(await issue()));
      expect((await probe(https(peer.port, { insecureSkipVerify: true }))).class).toBe("ok");
    });
  });

  test("tells when a certificate is self-signed", async () => {
    const { certPem, keyPem } = await selfSigned(NAME);
    const peer = await startPeer(ok, { cert: certPem, key: keyPem });
    expect(said(await probe(https(peer.port)))).toBe("tls-untrusted: the certificate is self-signed");
  });

  test("tells when the handshake stalls, and lets go of the connection", async () => {
    const peer = await startPeer(() => {});
    const found = await probe(https(peer.port, SHORT));
    expect(said(found)).toBe("timeout: no TLS handshake within 700 ms");
    await waitUntil(() => peer.open === 0, { describe: "the connection to be released" });
  });

  test("tells when the response stalls, with the certificate's end all the same", async () => {
    const peer = await startPeer(() => {}, tls(good));
    const found = await probe(https(peer.port, SHORT));
    expect(said(found)).toBe("timeout: no response within 700 ms");
    expect(found.certificateExpiryMs).toBeTypeOf("number");
  });

  test("tells a reset and an early end during the handshake", async () => {
    const reset = await startPeer((socket) => socket.once("data", () => socket.resetAndDestroy()));
    expect(said(await probe(https(reset.port)))).toBe("reset: connection reset by the server before the TLS handshake");
    const end = await startPeer((socket) => socket.once("data", () => socket.end()));
    expect(said(await probe(https(end.port)))).toBe("reset: connection closed by the server before the TLS handshake");
  });

  test("tells when nothing listens", async () => {
    expect((await probe(https(await closedPort()))).class).toBe("refused");
  });

  test.each([
    ["HTTP", "HTTP/1.0 400 Bad Request\r\n\r\n"],
    ["SSH", "SSH-2.0-OpenSSH_9.9\r\n"],
  ])("tells when the port speaks %s", async (_name, text) => {
    const peer = await startPeer(answering(text));
    expect(said(await probe(https(peer.port)))).toBe("tls-protocol: the server does not speak TLS on this port");
  });

  test("tells when the server knows only old versions of TLS", async () => {
    const peer = await startPeer(ok, {
      ...tls(good),
      minVersion: "TLSv1.1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    expect(said(await probe(https(peer.port)))).toMatch(/^tls-protocol: the server .*no TLS version of 1\.2 or newer$/);
  });

  test("tells when there are no common ciphers", async () => {
    const peer = await startPeer(ok, { ...tls(good), maxVersion: "TLSv1.2", ciphers: "AES128-SHA" });
    expect((await probe(https(peer.port))).class).toBe("tls-protocol");
  });

  describe.each(["TLSv1.2", "TLSv1.3"] as const)(
    "with a server that demands a client certificate over %s",
    (version) => {
      const strict = () => ({
        ...tls(good),
        ca: authority.caPem,
        requestCert: true,
        rejectUnauthorized: true,
        minVersion: version,
        maxVersion: version,
      });

      test("passes with one", async () => {
        const peer = await startPeer(ok, strict());
        const clientCertificate = { cert: files.cert, key: files.key };
        expect(said(await probe(https(peer.port, { clientCertificate })))).toBe("ok: status 200");
      });

      test("fails without", async () => {
        const peer = await startPeer(ok, strict());
        const found = await probe(https(peer.port));
        if (version === "TLSv1.2") {
          // OpenSSL's alert says no more than that the handshake failed.
          expect(said(found)).toMatch(/^tls-protocol: .* or it demands a client certificate$/);
        } else {
          // The alert comes after the handshake, and may lose against the reset that follows it.
          expect(said(found)).toMatch(/^(?:auth-required: the server demands a client certificate|reset: .*)$/);
        }
      });
    },
  );

  test("says whose fault a missing file is", async () => {
    const peer = await startPeer(ok, tls(good));
    const found = await probe(https(peer.port, { ca: join(folder, "missing.crt") }));
    expect(said(found)).toMatch(/^unreachable: the probe could not be made: cannot read .*missing\.crt: ENOENT/);
    expect(peer.accepted).toBe(0);
  });

  test.each([1, 3, 10, 30])("survives a connection cut at any point: %i octets", async (octets) => {
    const peer = await startPeer((socket) =>
      socket.once("data", () => socket.end(Buffer.from("16030300310200002d0303", "hex").subarray(0, octets))),
    );
    expect((await probe(https(peer.port))).class).toMatch(/^(?:reset|tls-protocol)$/);
  });
});

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

describe("a list of probes", () => {
  const ok = answering(response("200 OK", "ok"));
  const all = (...probes: readonly ProbeConfig[]): ProbeConfig => ({
    ...SCHEDULE,
    type: "all",
    probes: probes as readonly SingleProbeConfig[],
  });

  test("passes when all pass, and names each", async () => {
    const [plain, secure] = [await startPeer(ok), await startPeer(ok, { cert: good.certPem, key: good.keyPem })];
    const found = await probe(all(http(plain.port), https(secure.port)));
    expect(said(found)).toBe(`ok: http ${plain.port}: status 200; https ${secure.port}: status 200`);
    expect(found.certificateNames).toContain(NAME);
  });

  test("fails with the first that fails, names it, and ends the others", async () => {
    const [silent, passes] = [await startPeer(() => {}), await startPeer(ok)];
    const refused = await closedPort();
    expect(said(await probe(all(http(passes.port), http(silent.port), http(refused))))).toBe(
      `refused: http ${refused}: connection refused: nothing listens on the port`,
    );
    await waitUntil(() => silent.open === 0, { describe: "the connection to be released" });
  });

  test("says in which step one of them ran out of time", async () => {
    const [silent, passes] = [await startPeer(() => {}), await startPeer(ok)];
    const found = await probe({ ...all(http(passes.port), https(silent.port, SHORT)) });
    expect(said(found)).toBe(`timeout: https ${silent.port}: no TLS handshake within 700 ms`);
    expect(found.phase).toBe("tls");
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
    expect(await runAttempt(systemClock, 20, undefined, () => {})).toMatchObject({
      class: "timeout",
      phase: "connect",
      reason: "no connection within 20 ms",
    });
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
    const secure = await startPeer(answering(response("200 OK", "ok")), { cert: good.certPem, key: good.keyPem });
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

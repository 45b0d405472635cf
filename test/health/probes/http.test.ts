import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { waitUntil } from "../../support/wait.js";
import { answering, answeringThenSilent, type Behaviour, pouring, response, startPeer } from "./peers.js";
import { closedPort, HEAD, http, NAME, probingSetUp, SHORT, said } from "./probing.js";

const probing = probingSetUp();
const { folder, probe } = probing;

const KUBE_NOT_READY = [
  "[+]ping ok",
  "[-]etcd failed: reason withheld",
  "[+]poststarthook/start-apiextensions-informers ok",
  "[-]shutdown failed: reason withheld",
  "readyz check failed",
  "",
].join("\n");

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

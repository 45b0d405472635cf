import { Agent, request } from "node:http";
import { connect } from "node:net";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { statusSchema } from "../../src/admin/schemas.js";
import { afterAllTests } from "../support/cleanup.js";
import { type AdminServer, askAt, startAdminServer, TOKEN, type Way } from "./server.js";

const REQUESTS = 10_000;

/** Requests under way at once. */
const AT_ONCE = 16;

interface Fuzzed {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Text that a request line or a header can carry. */
const visible = (maxLength: number) =>
  fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength });

const segment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("api.k8s.example.test", "solo.k8s.example.test", "cp1", "cp2", "CP1.") },
  { weight: 4, arbitrary: fc.constantFrom("api", "v1", "status", "endpoints", "targets", "drain", "force", "events") },
  {
    weight: 2,
    arbitrary: fc.constantFrom("", ".", "..", "%2e%2e", "%00", "%ff", "%zz", "%", "*", "__proto__", "constructor"),
  },
  { weight: 2, arbitrary: visible(30) },
  { weight: 1, arbitrary: fc.constant("a".repeat(300)) },
);

const action = fc.constantFrom("drain", "undrain", "force", "unforce", "");
const path = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(segment, segment, action)
      .map(([endpoint, target, last]) => `/api/v1/endpoints/${endpoint}/targets/${target}/${last}`),
  },
  { weight: 2, arbitrary: fc.constantFrom("/api/v1/status", "/api/v1/reload", "/", "/livez", "/openapi.json") },
  { weight: 3, arbitrary: fc.array(segment, { maxLength: 7 }).map((parts) => `/${parts.join("/")}`) },
  { weight: 1, arbitrary: visible(40).map((query) => `/api/v1/status?${query}`) },
);

const body = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record(
        {
          reason: fc.oneof(fc.string(), fc.anything()),
          for: fc.oneof(fc.constantFrom("30m", "1s", "0", "-1s", "99999h", "1e9s"), fc.anything()),
          force: fc.oneof(fc.boolean(), fc.anything()),
          health: fc.constantFrom("up", "down", "sideways"),
          author: fc.string(),
        },
        { requiredKeys: [] },
      )
      .map((value) => JSON.stringify(value) ?? ""),
  },
  { weight: 2, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 100 }) },
  { weight: 1, arbitrary: fc.constantFrom("", "{}", "[]", "null", '{"__proto__":{}}', "[".repeat(3_000)) },
);

/** @param authorization what may stand there */
const requests = (authorization: fc.Arbitrary<string | undefined>): fc.Arbitrary<Fuzzed> =>
  fc.record({
    method: fc.constantFrom("POST", "POST", "POST", "GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"),
    path,
    headers: fc
      .record({
        type: fc.oneof(
          { weight: 5, arbitrary: fc.constant("application/json") },
          { weight: 1, arbitrary: visible(30) },
        ),
        lastId: fc.option(visible(30), { nil: undefined }),
        authorization,
      })
      .map(({ type, lastId, authorization }) => ({
        ...(type === "" ? {} : { "content-type": type }),
        ...(lastId === undefined ? {} : { "last-event-id": lastId }),
        ...(authorization === undefined ? {} : { authorization }),
      })),
    body,
  });

/** Sends one, and returns the status; a stream is not read to its end, for it has none. */
function send(way: Way, agent: Agent, { method, path, headers, body }: Fuzzed): Promise<number> {
  return new Promise((resolve, reject) => {
    const octets = Buffer.from(method === "GET" || method === "HEAD" ? "" : body);
    // Said for every method: without it Node.js sends the body of a DELETE as if another request followed.
    const framed = { ...headers, "content-length": String(octets.length) };
    const asked = request({ ...way, host: "127.0.0.1", agent, method, path, headers: framed }, (response) => {
      const status = response.statusCode ?? 0;
      if (response.headers["content-type"] === "text/event-stream") {
        asked.destroy();
        resolve(status);
      } else {
        response.resume();
        response.on("end", () => resolve(status));
        response.on("error", reject);
      }
    });
    asked.on("error", (error: NodeJS.ErrnoException) => {
      // A refused body may be cut off while it is written.
      if (error.code === "EPIPE" || error.code === "ECONNRESET") resolve(0);
      else reject(error);
    });
    asked.end(octets);
  });
}

/** Sends many, and returns how often each status came. */
async function sendAll(way: Way, all: readonly Fuzzed[]): Promise<Map<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const counts = new Map<number, number>();
  const queue = all.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const one of queue) {
        const status = await send(way, agent, one).catch((error) => {
          throw new Error(`${one.method} ${one.path}`, { cause: error });
        });
        counts.set(status, (counts.get(status) ?? 0) + 1);
        if (status >= 500 && status !== 503) throw new Error(`${status} for ${JSON.stringify(one)}`);
      }
    }),
  );
  agent.destroy();
  return counts;
}

describe("ten thousand requests at random", () => {
  const cleanup = afterAllTests();
  let server: AdminServer;
  beforeAll(async () => {
    server = await startAdminServer({ cleanup });
  });
  const state = async () => {
    const status = statusSchema.parse((await askAt(server.socket, "GET", "/api/v1/status")).json);
    return { ...status, nowMs: 0 };
  };

  test("change nothing without authority, and are no defect", async () => {
    const before = await state();
    const wrong = fc.oneof(
      fc.constant(undefined),
      fc.constantFrom("Bearer", "Bearer x", `Basic ${TOKEN}`, `Bearer ${TOKEN.slice(1)}`, TOKEN),
      visible(60),
    );
    const counts = await sendAll(server.http, fc.sample(requests(wrong), REQUESTS / 2));
    expect(await state()).toEqual(before);
    // They came as far as they were meant to.
    expect(counts.get(401) ?? 0).toBeGreaterThan(REQUESTS / 10);
    expect(counts.get(200) ?? 0).toBeGreaterThan(10);
  });

  test("with authority are granted or refused, and are no defect", async () => {
    const counts = await sendAll(server.socket, fc.sample(requests(fc.constant(undefined)), REQUESTS / 2));
    for (const status of [200, 400, 404]) expect(counts.get(status) ?? 0).toBeGreaterThan(10);
    expect(server.livezone.logs("admin request failed")).toEqual([]);
    expect((await askAt(server.socket, "GET", "/readyz")).status).toBe(200);
  });

  test("may be no HTTP at all", async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((octets) => Buffer.from(octets)),
      fc
        .tuple(fc.constantFrom("GET / HTTP/1.1\r\n", "POST /api/v1/reload HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n"), body)
        .map(([line, rest]) => Buffer.from(`${line}Host: localhost\r\n${rest}\r\n\r\n`)),
      fc.constantFrom(
        Buffer.from(`GET /${"x".repeat(70_000)} HTTP/1.1\r\n\r\n`),
        Buffer.from(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"y".repeat(20_000)}\r\n\r\n`),
        Buffer.from(
          "POST /api/v1/reload HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        ),
        Buffer.from(
          "POST /api/v1/reload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nzz\r\n",
        ),
      ),
    );
    const replies = await Promise.all(
      fc.sample(bytes, 300).map(
        (octets) =>
          new Promise<string>((resolve) => {
            const socket = connect(server.http.port, "127.0.0.1");
            let text = "";
            socket.on("data", (chunk) => {
              text += chunk.toString("latin1");
            });
            socket.on("error", () => {});
            socket.on("close", () => resolve(text));
            socket.end(octets);
          }),
      ),
    );
    expect(replies.filter((text) => /^HTTP\/1\.1 5/m.test(text))).toEqual([]);
    expect((await askAt(server.http, "GET", "/readyz")).status).toBe(200);
  });
});

import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { pino } from "pino";
import { Registry } from "prom-client";
import { beforeAll, describe, expect, test } from "vitest";
import { createEventLog } from "../../src/admin/event-ring.js";
import { createEventStreams, MAX_SUBSCRIBERS } from "../../src/admin/event-stream.js";
import { eventSchema } from "../../src/admin/schemas.js";
import { type AdminSource, createAdminServer } from "../../src/admin/server.js";
import type { AdminService } from "../../src/admin/service.js";
import { systemClock } from "../../src/lib/clock.js";
import { afterAllTests, afterThisTest, type Cleanup } from "../support/cleanup.js";
import { waitUntil } from "../support/wait.js";
import { type AdminServer, askAt, codeOf, ENDPOINT, startAdminServer, targetRoute, type Way } from "./server.js";

interface Frame {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

interface Stream {
  readonly status: number;
  frames(): Frame[];
  /** The frames, once there are as many. */
  atLeast(count: number): Promise<Frame[]>;
  readonly ended: Promise<void>;
  readonly headers: IncomingMessage["headers"];
}

/** Reads the stream of events as it comes. */
async function listen(way: Way, options: { path?: string; lastId?: string; cleanup?: Cleanup } = {}): Promise<Stream> {
  const { path = "/api/v1/events", lastId, cleanup = afterThisTest } = options;
  const headers = lastId === undefined ? {} : { "last-event-id": lastId };
  let asked: ClientRequest | undefined;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked = request({ ...way, host: "127.0.0.1", path, headers, agent: false }, resolve);
    asked.on("error", reject);
    asked.end();
  });
  cleanup(() => asked?.destroy());
  let text = "";
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    text += chunk;
  });
  const ended = new Promise<void>((resolve) => {
    response.on("close", resolve);
    response.on("error", () => resolve());
  });
  const frames = () =>
    text
      .split("\n\n")
      .filter((part) => part.includes("event: "))
      .map((part) => {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1] ?? "";
        return { id: field("id"), event: field("event"), data: field("data") };
      });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    ended,
    frames,
    async atLeast(count) {
      await waitUntil(() => frames().length >= count, { describe: `${count} events` });
      return frames();
    },
  };
}

describe("the stream of events", () => {
  const cleanup = afterAllTests();
  let server: AdminServer;
  beforeAll(async () => {
    server = await startAdminServer({ cleanup });
  });
  const change = async (action: string) => {
    const reply = await askAt(server.socket, "POST", targetRoute("cp1", action));
    expect(reply.status).toBe(200);
  };

  test.each(["socket", "http"] as const)("tells by %s what happens, as the schema says", async (way) => {
    const stream = await listen(server[way]);
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    await change("drain");
    await change("undrain");
    const frames = await stream.atLeast(4);
    const events = frames.map(({ data }) => eventSchema.parse(JSON.parse(data)));
    expect(events.map(({ type }) => type)).toEqual(["answers", "override", "answers", "override"]);
    expect(frames.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(events[0]).toMatchObject({ endpoint: ENDPOINT, mode: "healthy", answers: ["127.0.0.12", "::12"] });
    expect(events[1]).toMatchObject({ target: "cp1", override: { kind: "drained" } });
    expect(events[3]).not.toHaveProperty("override");
  });

  test("goes on where a reader left, by header or by query", async () => {
    const first = await listen(server.http);
    await change("drain");
    const [answers] = await first.atLeast(2);
    await change("undrain");
    const lastId = answers?.id ?? "";
    for (const options of [{ lastId }, { path: `/api/v1/events?since=${lastId}` }]) {
      const second = await listen(server.http, options);
      const frames = await second.atLeast(3);
      expect(frames.map(({ event }) => event)).toEqual(["override", "answers", "override"]);
    }
  });

  test.each(["nonsense", "abc-1", "%00"])("begins with a reset after the id %s", async (lastId) => {
    const stream = await listen(server.http, { lastId });
    const [reset] = await stream.atLeast(1);
    expect(reset).toMatchObject({ event: "reset", data: "{}" });
  });

  test("ends when the server stops", async () => {
    const other = await startAdminServer();
    const stream = await listen(other.http);
    await other.livezone.stop();
    await stream.ended;
  });
});

/** A server in this process that has events only. */
async function startEvents(limits: { readonly subscribers?: number; readonly patienceMs?: number } = {}) {
  const log = createEventLog({ wallMs: () => 0 }, 1);
  const streams = createEventStreams(log, systemClock, limits.subscribers);
  const source: AdminSource = {
    registry: new Registry(),
    service: { version: "0", isReady: () => true } as AdminService,
    events: log,
    streams,
    log: pino({ level: "silent" }),
    requestServed: () => {},
  };
  const server = await createAdminServer(source, { entry: "http", ...limits });
  await server.listen({ host: "127.0.0.1", port: 0 });
  afterThisTest(() => server.close());
  const address = server.server.address();
  return { log, streams, port: typeof address === "object" ? (address?.port ?? 0) : 0 };
}

/** A connection that asks for the events, once the reply has begun. */
async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  afterThisTest(() => socket.destroy());
  socket.write("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await new Promise((resolve) => socket.once("data", resolve));
  return socket;
}

describe("readers of events", () => {
  test("outlive the patience with idle connections", async () => {
    const { log, port } = await startEvents({ patienceMs: 200 });
    const stream = await listen({ port });
    const idle = connect(port, "127.0.0.1");
    // Opened after the stream, and closed for being idle: the stream was idle for longer.
    await new Promise<void>((resolve) => {
      idle.on("error", () => {});
      idle.on("close", () => resolve());
    });
    log.publish({ type: "ready" });
    await waitUntil(() => stream.frames().length === 1);
  });

  test("are no more than 1,000", async () => {
    const { streams, port } = await startEvents();
    expect(MAX_SUBSCRIBERS).toBe(1_000);
    const sockets = await Promise.all(Array.from({ length: MAX_SUBSCRIBERS }, () => connectTo(port)));
    const reply = await askAt({ port }, "GET", "/api/v1/events");
    expect({ status: reply.status, code: codeOf(reply) }).toEqual({ status: 503, code: "TOO_MANY_SUBSCRIBERS" });
    for (const socket of sockets) socket.destroy();
    await waitUntil(() => streams.subscribers === 0);
    expect((await listen({ port })).status).toBe(200);
  });

  test("that do not read are dropped, and the others kept", async () => {
    const { log, streams, port } = await startEvents();
    const quick = await listen({ port });
    const slow = await connectTo(port);
    slow.pause();
    let published = 0;
    // What the kernel buffers, some MB, comes before what we do.
    while (streams.dropped === 0 && published < 2_000) {
      log.publish({ type: "answers", endpoint: "x".repeat(20_000), mode: "healthy", answers: [] });
      published += 1;
      await waitUntil(() => quick.frames().length === published, { everyMs: 1 });
    }
    expect({ dropped: streams.dropped, subscribers: streams.subscribers }).toEqual({ dropped: 1, subscribers: 1 });
    log.publish({ type: "ready" });
    await waitUntil(() => quick.frames().length === published + 1);
  });
});

test("a ring of 1,000 events is what a reader may miss", () => {
  const log = createEventLog({ wallMs: () => 0 }, 1);
  const start = log.lastId;
  for (let i = 0; i < 1_000; i++) log.publish({ type: "ready" });
  expect(log.since(start)).toHaveLength(1_000);
  log.publish({ type: "ready" });
  expect(log.since(start)).toBeUndefined();
});

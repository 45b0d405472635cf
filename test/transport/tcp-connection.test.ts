import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { clientAt } from "../../src/query/client.js";
import type { Respond } from "../../src/query/respond.js";
import { DEFAULT_TCP_LIMITS, serveConnection, type TcpConnection } from "../../src/transport/tcp-connection.js";
import { afterThisTest } from "../support/cleanup.js";
import { waitUntil } from "../support/wait.js";
import { connectTcp, frame, type TcpClient } from "./harness.js";

const LIMITS = { ...DEFAULT_TCP_LIMITS, queryMs: 5_000, replyMs: 7_000 };
const IDLE_MS = 10_000;

/** Replies with the query, cut to 100 octets. */
const echo: Respond = (request, at, length, reply, replyAt) => {
  reply.set(request.subarray(at, at + Math.min(length, 100)), replyAt);
  return Math.min(length, 100);
};

interface Served {
  readonly client: TcpClient;
  readonly connection: TcpConnection;
  /** Pieces that have arrived. */
  readonly arrivals: () => number;
  /** Lets the clock of the connection stand at another moment from now on. */
  setNow(ms: number): void;
}

/** One connection on loopback that is served by itself, with a clock that stands at 1,000 ms. */
async function serveOne(respond: Respond = echo): Promise<Served> {
  let now = 1_000;
  let arrivals = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }).listen(0, "127.0.0.1");
  afterThisTest(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const client = await connectTcp({ server: "127.0.0.1", port });
  const [socket] = await accepted;
  afterThisTest(() => void socket.destroy());
  const onArrival = () => (arrivals += 1);
  const connection = serveConnection(socket, clientAt("127.0.0.1"), respond, () => now, onArrival);
  const setNow = (ms: number) => {
    now = ms;
  };
  return { client, connection, arrivals: () => arrivals, setNow };
}

type End = "open" | "ended" | "cut";

/** What has become of the server's side. */
function endOf({ socket }: TcpConnection): End {
  if (socket.destroyed) return "cut";
  return socket.writableEnded ? "ended" : "open";
}

/** A reply too large for what the kernel takes of a client that does not read. */
const flood: Respond = (_request, _at, _length, reply, replyAt) => {
  reply.fill(0, replyAt, replyAt + 60_000);
  return 60_000;
};

/** What a client has sent at 1,000 ms, and what becomes of the connection at a later moment. */
const JUDGED: readonly { name: string; sends: Buffer; respond?: Respond; at: number; end: End }[] = [
  { name: "nothing sent, in time", sends: Buffer.alloc(0), at: 1_000 + IDLE_MS, end: "open" },
  { name: "nothing sent, idle too long", sends: Buffer.alloc(0), at: 1_001 + IDLE_MS, end: "ended" },
  { name: "nothing sent, and not closed after that", sends: Buffer.alloc(0), at: 6_001 + IDLE_MS, end: "cut" },
  { name: "a whole query, idle too long", sends: frame(Buffer.alloc(20)), at: 1_001 + IDLE_MS, end: "ended" },
  { name: "half a query, in time", sends: frame(Buffer.alloc(20)).subarray(0, 9), at: 6_000, end: "open" },
  { name: "half a query, too long", sends: frame(Buffer.alloc(20)).subarray(0, 9), at: 6_001, end: "cut" },
  { name: "half a length, too long", sends: Buffer.alloc(1), at: 6_001, end: "cut" },
  {
    name: "the beginning of a query of 65,535 octets, answered, the rest too long",
    sends: frame(Buffer.alloc(65_535)).subarray(0, 10_000),
    at: 6_001,
    end: "cut",
  },
  {
    name: "replies that it does not take, in time",
    sends: frame(...Array(200).fill(Buffer.alloc(20))),
    respond: flood,
    at: 8_000,
    end: "open",
  },
  {
    name: "replies that it does not take, too long",
    sends: frame(...Array(200).fill(Buffer.alloc(20))),
    respond: flood,
    at: 8_001,
    end: "cut",
  },
];

test.each(JUDGED)("judged at $at ms: $name: $end", async ({ sends, respond, at, end }) => {
  const { client, connection, arrivals, setNow } = await serveOne(respond);
  if (respond !== undefined) client.socket.pause();
  if (sends.length > 0) client.socket.write(sends);
  await waitUntil(() => connection.socket.bytesRead === sends.length || connection.socket.isPaused());
  expect(arrivals() > 0).toBe(sends.length > 0);
  // Written replies have left, or the client does not take them.
  await waitUntil(() => connection.socket.writableLength > 0 === (respond !== undefined));
  setNow(at);
  connection.judge(at, LIMITS, IDLE_MS);
  expect(endOf(connection)).toBe(end);
});

describe("a query longer than any that makes sense", () => {
  test("is answered by its beginning, the rest is skipped, and the next one is answered", async () => {
    const { client } = await serveOne();
    const long = Buffer.alloc(60_000, 7);
    client.send(long, Buffer.alloc(30, 8));
    await waitUntil(() => client.messages.length === 2);
    expect(client.messages.map((message) => [message.length, message[0]])).toEqual([
      [100, 7],
      [30, 8],
    ]);
  });
});

describe("finish", () => {
  test("ends a connection at once that has asked nothing", async () => {
    const { client, connection } = await serveOne();
    connection.finish();
    await client.closed;
    expect(endOf(connection)).toBe("ended");
  });

  test("waits for the rest of a query, answers it, and ends", async () => {
    const { client, connection } = await serveOne();
    const octets = frame(Buffer.alloc(20, 5));
    client.socket.write(octets.subarray(0, 7));
    await waitUntil(() => connection.socket.bytesRead === 7);
    connection.finish();
    expect(endOf(connection)).toBe("open");
    client.socket.write(octets.subarray(7));
    await client.closed;
    expect(client.messages).toEqual([Buffer.alloc(20, 5)]);
  });
});

test("no reply ends the connection: what follows is not answered", async () => {
  const { client } = await serveOne((request, at, ...rest) => (request[at] === 9 ? 0 : echo(request, at, ...rest)));
  client.send(Buffer.alloc(20, 1));
  await waitUntil(() => client.messages.length === 1);
  client.send(Buffer.alloc(20, 9), Buffer.alloc(20, 2));
  await client.closed;
  expect(client.messages).toEqual([Buffer.alloc(20, 1)]);
});

test("no reply ends the connection behind the replies that are due in the same piece", async () => {
  const { client } = await serveOne((request, at, ...rest) => (request[at] === 9 ? 0 : echo(request, at, ...rest)));
  client.send(Buffer.alloc(20, 1), Buffer.alloc(20, 3), Buffer.alloc(20, 9), Buffer.alloc(20, 2));
  await client.closed;
  expect(client.messages).toEqual([Buffer.alloc(20, 1), Buffer.alloc(20, 3)]);
});

test("a client that closes its side behind many queries, and reads late, gets all replies", async () => {
  const large: Respond = (_request, _at, _length, reply, replyAt) => {
    reply.fill(1, replyAt, replyAt + 60_000);
    return 60_000;
  };
  const { client, connection } = await serveOne(large);
  client.socket.pause();
  client.socket.end(frame(...Array(300).fill(Buffer.alloc(20))));
  await waitUntil(() => connection.socket.writableLength > 0);
  client.socket.resume();
  await client.closed;
  expect(client.messages).toHaveLength(300);
});

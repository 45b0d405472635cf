import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { UserError } from "../../src/lib/errors.js";
import { openTcp } from "../../src/transport/tcp.js";
import { ask } from "../support/dns-client.js";
import { encodeQuery, parseMessage } from "../support/dns-message.js";
import { createFakeClock } from "../support/fake-clock.js";
import { waitUntil } from "../support/wait.js";
import { connectTcp, frame, serveSockets } from "./harness.js";

const query = (id: number, name = "api.k8s.example.test") => encodeQuery({ id, name });
const idOf = (message: Buffer) => message.readUInt16BE(0);

describe.each(["127.0.0.1", "::1"])("TCP on %s", (address) => {
  test("answers several queries on one connection, one after the other", async () => {
    const client = await connectTcp(await serveSockets(address));
    for (let id = 1; id <= 5; id += 1) {
      client.send(query(id));
      await waitUntil(() => client.messages.length === id);
    }
    expect(client.messages.map(idOf)).toEqual([1, 2, 3, 4, 5]);
    expect(parseMessage(client.messages[4] ?? Buffer.alloc(0)).answers).toHaveLength(3);
  });

  test("answers all of a pipeline (RFC 7766 §6.2.1.1): 10,000 queries", async () => {
    const client = await connectTcp(await serveSockets(address));
    client.send(...Array.from({ length: 10_000 }, (_, id) => query(id)));
    await waitUntil(() => client.messages.length === 10_000);
    expect(new Set(client.messages.map(idOf)).size).toBe(10_000);
  });

  test("answers what came before the client closed its side", async () => {
    const client = await connectTcp(await serveSockets(address));
    client.socket.end(frame(query(1), query(2), query(3, "crowd.k8s.example.test")));
    await client.closed;
    expect(client.messages.map(idOf)).toEqual([1, 2, 3]);
    expect(parseMessage(client.messages[2] ?? Buffer.alloc(0)).answers).toHaveLength(90);
  });
});

test("takes a message that comes octet by octet, and two that share a segment", async () => {
  const client = await connectTcp(await serveSockets());
  const octets = frame(query(1), query(2));
  for (const octet of octets.subarray(0, 60)) {
    client.socket.write(Buffer.from([octet]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  client.socket.write(octets.subarray(60));
  await waitUntil(() => client.messages.length === 2);
  expect(client.messages.map(idOf)).toEqual([1, 2]);
});

test("a client that does not read is not read from either, and gets everything once it does", async () => {
  const client = await connectTcp(await serveSockets());
  client.socket.pause();
  const rounds = 12_000;
  client.send(...Array.from({ length: rounds }, (_, id) => query(id, "crowd.k8s.example.test")));
  // 12,000 answers of 1.4 kB are 17 MB: more than all buffers in between hold.
  const other = await connectTcp({ server: "127.0.0.1", port: client.socket.remotePort ?? 0 });
  other.send(query(1));
  await waitUntil(() => other.messages.length === 1);
  expect(client.messages.length).toBe(0);
  client.socket.resume();
  await waitUntil(() => client.messages.length === rounds, { timeoutMs: 20_000 });
});

test.each([
  { name: "a response", bytes: Buffer.from("000080000001000000000000", "hex") },
  { name: "a message of no octets", bytes: Buffer.alloc(0) },
  { name: "a message shorter than a header", bytes: Buffer.alloc(11) },
])("$name ends the connection, since over TCP silence would be waited for", async ({ bytes }) => {
  const client = await connectTcp(await serveSockets());
  client.send(query(1));
  await waitUntil(() => client.messages.length === 1);
  client.send(bytes);
  await client.closed;
  expect(client.messages).toHaveLength(1);
});

test("malformed messages are answered, and the connection goes on", async () => {
  const client = await connectTcp(await serveSockets());
  client.send(Buffer.alloc(12), query(7).subarray(0, 20), Buffer.alloc(65_535), query(9));
  await waitUntil(() => client.messages.length === 4);
  expect(client.messages.map((message) => parseMessage(message).rcode)).toEqual([
    "FORMERR",
    "FORMERR",
    "FORMERR",
    "NOERROR",
  ]);
});

test("a client that resets takes nobody along", async () => {
  const served = await serveSockets();
  for (let i = 0; i < 20; i += 1) {
    const client = await connectTcp(served);
    client.send(...Array.from({ length: 100 }, (_, id) => query(id, "crowd.k8s.example.test")));
    client.socket.resetAndDestroy();
  }
  expect((await ask({ ...served, transport: "tcp", name: "api.k8s.example.test" })).answers).toHaveLength(3);
});

describe("limits", () => {
  const generous = { maxConnections: 1_000, maxPerClient: 1_000, idleMs: 60_000, queryMs: 60_000, replyMs: 60_000 };

  /** Whether a new connection from there is answered, or closed without a word. */
  async function isServed(to: Parameters<typeof connectTcp>[0]): Promise<boolean> {
    const client = await connectTcp(to);
    client.send(query(1));
    await Promise.race([client.closed, waitUntil(() => client.messages.length === 1)]);
    return client.messages.length === 1;
  }

  test("an idle connection is ended, before its first query and after", async () => {
    const served = await serveSockets("127.0.0.1", { limits: () => ({ ...generous, idleMs: 50 }) });
    const mute = await connectTcp(served);
    const client = await connectTcp(served);
    client.send(query(1));
    await Promise.all([mute.closed, client.closed]);
    expect(client.messages).toHaveLength(1);
  });

  test("and cut if its client does not end its side either", async () => {
    const served = await serveSockets("127.0.0.1", { limits: () => ({ ...generous, idleMs: 50, queryMs: 50 }) });
    const { socket } = await connectTcp(served);
    const gone = once(socket, "error");
    const drip = setInterval(() => socket.write(Buffer.from([0])), 20);
    await gone;
    clearInterval(drip);
  });

  test.each([
    { name: "of a query", head: Buffer.from([0, 200]) },
    { name: "of a query too long to be kept", head: Buffer.concat([Buffer.from([0xff, 0xff]), Buffer.alloc(9_000)]) },
    { name: "of a length", head: Buffer.alloc(0) },
  ])("one octet at a time $name: cut, however steadily they come", async ({ head }) => {
    const served = await serveSockets("127.0.0.1", { limits: () => ({ ...generous, queryMs: 100 }) });
    const { socket, closed } = await connectTcp(served);
    socket.write(head);
    const drip = head.length > 0 ? setInterval(() => socket.write(Buffer.from([0])), 10) : undefined;
    if (head.length === 0) socket.write(Buffer.from([0]));
    await closed;
    clearInterval(drip);
  });

  test("queries that overlap the pieces they come in are each in time, however long that goes on", async () => {
    const clock = createFakeClock();
    const served = await serveSockets("127.0.0.1", { clock, limits: () => ({ ...generous, queryMs: 600 }) });
    const client = await connectTcp(served);
    const octets = frame(query(1));
    const half = octets.length >> 1;
    client.socket.write(octets.subarray(0, half));
    // There is never a moment without half a query, for three times as long as one may take.
    for (let i = 1; i <= 4; i += 1) {
      client.socket.write(Buffer.concat([octets.subarray(half), octets.subarray(0, half)]));
      await waitUntil(() => client.messages.length === i);
      await clock.advance(500);
    }
    expect(client.socket.readyState).toBe("open");
    await clock.advance(1_000);
    await client.closed;
  });

  test("a client that takes no replies is cut", async () => {
    const served = await serveSockets("127.0.0.1", { limits: () => ({ ...generous, replyMs: 100, maxPerClient: 1 }) });
    const client = await connectTcp(served);
    client.socket.pause();
    client.send(...Array.from({ length: 12_000 }, (_, id) => query(id, "crowd.k8s.example.test")));
    // Its place becomes free; it learns of that only once it reads.
    await waitUntil(() => isServed(served));
    client.socket.resume();
    await client.closed;
    expect(client.messages.length).toBeLessThan(12_000);
  });

  test("of one address: further connections are turned away, others' are not, and places become free", async () => {
    let turnedAway = 0;
    const options = { limits: () => ({ ...generous, maxPerClient: 3 }), onTurnedAway: () => (turnedAway += 1) };
    const served = await serveSockets("127.0.0.1", options);
    const open = await Promise.all([1, 2, 3].map(() => connectTcp(served)));
    expect(await isServed(served)).toBe(false);
    expect(turnedAway).toBe(1);
    expect(await isServed({ ...served, from: "127.0.0.2" })).toBe(true);
    open[0]?.send(query(5));
    await waitUntil(() => open[0]?.messages.length === 1);
    open[0]?.socket.destroy();
    await waitUntil(() => isServed(served));
  });

  test("of all: new connections suffer, established ones do not", async () => {
    let turnedAway = 0;
    const options = { limits: () => ({ ...generous, maxConnections: 3 }), onTurnedAway: () => (turnedAway += 1) };
    const served = await serveSockets("127.0.0.1", options);
    const open = await Promise.all([1, 2, 3].map(() => connectTcp(served)));
    for (const client of open) client.send(query(1));
    await waitUntil(() => open.every(({ messages }) => messages.length === 1));
    for (let i = 0; i < 5; i += 1) expect(await isServed({ ...served, from: "127.0.0.2" })).toBe(false);
    expect(turnedAway).toBe(5);
    for (const client of open) client.send(query(2));
    await waitUntil(() => open.every(({ messages }) => messages.length === 2));
    open[1]?.socket.destroy();
    await waitUntil(() => isServed({ ...served, from: "127.0.0.2" }));
  });

  test("idle connections are ended sooner while there are many: after a fifth of the time", async () => {
    const clock = createFakeClock();
    const limits = () => ({ ...generous, maxConnections: 4, idleMs: 20_000 });
    const served = await serveSockets("127.0.0.1", { clock, limits });
    const open: Awaited<ReturnType<typeof connectTcp>>[] = [];
    for (let i = 1; i <= 3; i += 1) {
      const client = await connectTcp(served);
      client.send(query(1));
      await waitUntil(() => client.messages.length === 1);
      open.push(client);
    }
    await clock.advance(4_000);
    expect(open.map(({ socket }) => socket.readyState)).toEqual(["open", "open", "open"]);
    await clock.advance(500);
    await Promise.all(open.map(({ closed }) => closed));
  });
});

describe("stop", () => {
  const respond = () => 0;

  test("ends idle connections at once", async () => {
    const listening = await openTcp({ address: "127.0.0.1", port: 0 }, respond);
    const client = await connectTcp({ server: "127.0.0.1", port: listening.address.port });
    client.socket.on("end", () => client.socket.end());
    await listening.stop(60_000);
    await client.closed;
  });

  test("cuts those that will not end after the grace", async () => {
    const listening = await openTcp({ address: "127.0.0.1", port: 0 }, respond);
    // Half a message, and its own side never closed.
    const client = await connectTcp({ server: "127.0.0.1", port: listening.address.port });
    client.socket.write(Buffer.from([0, 100, 1, 2, 3]));
    const closed = once(client.socket, "close");
    await listening.stop(100);
    client.socket.end();
    await closed;
  });

  test("takes no new ones", async () => {
    const listening = await openTcp({ address: "127.0.0.1", port: 0 }, respond);
    await listening.stop(0);
    await expect(connectTcp({ server: "127.0.0.1", port: listening.address.port })).rejects.toThrow("ECONNREFUSED");
  });
});

test("an address in use is an error that says so", async () => {
  const served = await serveSockets();
  const second = openTcp({ address: served.server, port: served.port }, () => 0);
  await expect(second).rejects.toThrow(UserError);
  await expect(second).rejects.toMatchObject({ code: "LISTEN_ADDRESS_IN_USE" });
});

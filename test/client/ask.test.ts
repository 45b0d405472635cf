import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { ask } from "../../src/client/ask.js";
import { afterThisTest } from "../support/cleanup.js";
import { parseMessage } from "../support/dns-message.js";
import { freePort } from "../support/ports.js";

const LOOPBACK = "127.0.0.1";

/** The query turned into an answer without records. */
function answerTo(query: Buffer, change: (reply: Buffer) => void = () => {}): Buffer {
  const reply = Buffer.from(query);
  reply.writeUInt16BE(0x8400 | (query.readUInt16BE(2) & 0x0100), 2);
  change(reply);
  return reply;
}

/** A UDP server that answers each query with these messages. */
async function udpServer(answers: (query: Buffer) => readonly Buffer[]) {
  const socket = createSocket("udp4");
  const queries: Buffer[] = [];
  socket.on("message", (query, client) => {
    queries.push(query);
    for (const reply of answers(query)) socket.send(reply, client.port, client.address);
  });
  socket.bind(0, LOOPBACK);
  await once(socket, "listening");
  afterThisTest(() => socket.close());
  return { server: { address: LOOPBACK, port: socket.address().port }, queries };
}

/** A TCP server. */
async function tcpServer(serve: (socket: Socket) => void) {
  const listener = createServer((socket) => {
    socket.on("error", () => {});
    serve(socket);
  });
  listener.listen(0, LOOPBACK);
  await once(listener, "listening");
  afterThisTest(() => listener.close());
  const address = listener.address();
  if (address === null || typeof address === "string") throw new TypeError("a server on a port has an address");
  return { server: { address: LOOPBACK, port: address.port } };
}

const framed = (message: Buffer) => Buffer.concat([Buffer.from([message.length >> 8, message.length & 0xff]), message]);

describe("ask over UDP", () => {
  test("asks for recursion with EDNS, unless told otherwise", async () => {
    const { server, queries } = await udpServer((query) => [answerTo(query)]);
    const reply = await ask({ server, name: "api.example.com", type: "A" });
    expect(reply).toMatchObject({ rcode: "NOERROR", aa: true });
    await ask({ server, name: "api.example.com.", type: "SOA", recurse: false, edns: false });
    await ask({
      server,
      name: "a.example",
      type: "A",
      edns: { udpOctets: 4096, options: [{ code: 3, data: Uint8Array.of(7, 8) }] },
    });
    const [usual, plain, special] = queries.map((query) => parseMessage(query));
    expect(usual?.flags.rd).toBe(true);
    expect(usual?.edns?.udpSize).toBe(1232);
    expect(plain?.flags.rd).toBe(false);
    expect(plain?.edns).toBeUndefined();
    expect(plain?.questions).toEqual([{ name: "api.example.com.", type: "SOA", class: "IN" }]);
    expect(special?.edns).toMatchObject({ udpSize: 4096, options: [{ code: 3, data: Buffer.from([7, 8]) }] });
  });

  test("takes no answer to another question", async () => {
    const { server } = await udpServer((query) => [
      answerTo(query, (reply) => reply.writeUInt16BE(query.readUInt16BE(0) ^ 1, 0)),
      answerTo(query, (reply) => reply.writeUInt8(0x62, 13)),
      answerTo(query, (reply) => reply.writeUInt8(0x83, 3)),
    ]);
    expect((await ask({ server, name: "a.example", type: "A" })).rcode).toBe("NXDOMAIN");
  });

  test.each([
    { name: "is silent", answers: () => [], code: "ASK_TIMEOUT" },
    { name: "sends no message", answers: (query: Buffer) => [query.subarray(0, 2)], code: "ASK_MALFORMED" },
  ])("says so when the server $name", async ({ answers, code }) => {
    const { server } = await udpServer(answers);
    await expect(ask({ server, name: "a.example", type: "A", timeoutMs: 100 })).rejects.toMatchObject({ code });
  });

  test("says so when nothing listens", async () => {
    const server = { address: LOOPBACK, port: await freePort() };
    const refused = ask({ server, name: "a.example", type: "A" });
    await expect(refused).rejects.toMatchObject({
      code: "ASK_UNREACHABLE",
      message: expect.stringContaining("nothing listens"),
    });
  });

  test("says so when there is no way to the server", async () => {
    // A broadcast address: the system refuses before anything is sent, as it does without a route.
    const server = { address: "255.255.255.255", port: 53 };
    await expect(ask({ server, name: "a.example", type: "A" })).rejects.toMatchObject({ code: "ASK_UNREACHABLE" });
  });

  test("does not ask for a type that there is not", async () => {
    const server = { address: LOOPBACK, port: 1 };
    await expect(ask({ server, name: "a.example", type: "AB" })).rejects.toMatchObject({ code: "ASK_TYPE_UNKNOWN" });
  });
});

describe("ask over TCP", () => {
  test("puts together an answer that comes in pieces", async () => {
    const { server } = await tcpServer((socket) => {
      socket.once("data", (data: Buffer) => {
        const reply = framed(answerTo(data.subarray(2)));
        socket.write(reply.subarray(0, 1));
        setImmediate(() => socket.write(reply.subarray(1, 20)));
        setImmediate(() => setImmediate(() => socket.end(reply.subarray(20))));
      });
    });
    expect((await ask({ server, name: "a.example", type: "A", transport: "tcp" })).rcode).toBe("NOERROR");
  });

  test("says so when the server closes without an answer", async () => {
    const { server } = await tcpServer((socket) => socket.end());
    const closed = ask({ server, name: "a.example", type: "A", transport: "tcp" });
    await expect(closed).rejects.toMatchObject({ code: "ASK_UNREACHABLE" });
  });
});

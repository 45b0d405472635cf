import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { DatagramExchange, sourceFor } from "../../src/transfer/datagrams.js";
import { afterThisTest } from "../support/cleanup.js";
import { createFakeClock } from "../support/fake-clock.js";

const at = (address: string) => ({ address, port: 53 });

test.each([
  { name: "the address that is listened on", peer: "10.0.0.9", listen: ["10.0.0.1"], is: "10.0.0.1" },
  {
    name: "the first of the family",
    peer: "2001:db8::9",
    listen: ["10.0.0.1", "2001:db8::1", "2001:db8::2"],
    is: "2001:db8::1",
  },
  { name: "any, for a wildcard", peer: "10.0.0.9", listen: ["0.0.0.0"], is: undefined },
  { name: "any, if none of the family", peer: "10.0.0.9", listen: ["::1"], is: undefined },
  {
    name: "no loopback address to another machine",
    peer: "10.0.0.9",
    listen: ["127.0.0.1", "10.0.0.1"],
    is: "10.0.0.1",
  },
  { name: "a loopback address to this machine", peer: "127.0.0.9", listen: ["10.0.0.1", "127.0.0.1"], is: "127.0.0.1" },
])("sends from $name", ({ peer, listen, is }) => {
  expect(sourceFor(peer, listen.map(at))).toBe(is);
});

/** A peer on loopback that answers as told. */
async function startPeer(answer: (message: Buffer) => Buffer | undefined) {
  const socket = createSocket("udp4");
  const sources: string[] = [];
  socket.on("message", (message, from) => {
    sources.push(from.address);
    const reply = answer(message);
    if (reply !== undefined) socket.send(reply, from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  afterThisTest(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  return { address: { address: "127.0.0.1", port: socket.address().port }, sources };
}

describe("an exchange of datagrams", () => {
  test("gives each message the reply with its id, and sends from the address that is listened on", async () => {
    const clock = createFakeClock();
    const exchange = new DatagramExchange(clock);
    afterThisTest(() => exchange.close());
    exchange.setSource([{ address: "127.0.0.2", port: 53 }]);
    const peer = await startPeer((message) => message);
    const send = (id: number) =>
      new Promise<Uint8Array | undefined>((resolve) => exchange.send(peer.address, Uint8Array.of(0, id, 9), resolve));
    const replies = await Promise.all([send(1), send(2)]);
    expect(replies.map((reply) => reply?.[1])).toEqual([1, 2]);
    expect(peer.sources).toEqual(["127.0.0.2", "127.0.0.2"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("gives up after a while, and takes no reply with another id", async () => {
    const clock = createFakeClock();
    const exchange = new DatagramExchange(clock);
    afterThisTest(() => exchange.close());
    const peer = await startPeer((message) => Buffer.from([7, 7, ...message]));
    const taken: unknown[] = [];
    exchange.send(peer.address, Uint8Array.of(0, 1), (octets) => taken.push(octets));
    await clock.advance(599);
    expect(taken).toEqual([]);
    await clock.advance(1);
    expect(taken).toEqual([undefined]);
  });

  test("an address that this machine does not have is no answer, and no error", async () => {
    const exchange = new DatagramExchange(createFakeClock());
    afterThisTest(() => exchange.close());
    exchange.setSource([{ address: "192.0.2.1", port: 53 }]);
    const reply = await new Promise<unknown>((resolve) => {
      exchange.send({ address: "203.0.113.1", port: 9 }, Uint8Array.of(0, 1), resolve);
    });
    expect(reply).toBeUndefined();
  });
});

import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, test } from "vitest";
import {
  type BatchBuffers,
  createBuffers,
  createCounters,
  PEER_ADDRESS_OFFSET,
  PEER_OCTETS,
  PEER_PORT_OFFSET,
  readCounters,
} from "../../../src/transport/batch/buffers.js";
import {
  ADDON_PATH,
  type BatchTransport,
  type BoundSocket,
  loadBatch,
  type Receiver,
} from "../../../src/transport/batch/load.js";
import { leaveSteps, orderAfterLeaving } from "../../../src/transport/batch/steering.js";

const loaded = loadBatch();
const native = describe.skipIf(!loaded.transport);

/** What each test opened, closed again in reverse order. */
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function transport(): BatchTransport {
  if (!loaded.transport) throw new Error(loaded.reason);
  return loaded.transport;
}

/** Binds and, by the end of the test, closes a socket. */
function bound(options: Parameters<BatchTransport["bind"]>[0]): BoundSocket & { closeFd(): void } {
  const socket = transport().bind(options);
  let open = true;
  const closeFd = () => {
    if (open) closeSync(socket.fd);
    open = false;
  };
  cleanups.push(closeFd);
  return { ...socket, closeFd };
}

/** Answers every message of the batch with itself, its first octet replaced by `mark`. */
function echo(buffers: BatchBuffers, mark: number) {
  return (count: number) => {
    for (let i = 0; i < count; i += 1) {
      const length = buffers.receiveLengths[i] ?? 0;
      const start = i * buffers.receiveSlot;
      buffers.send.set(buffers.receive.subarray(start, start + length), i * buffers.sendSlot);
      buffers.send[i * buffers.sendSlot] = mark;
      buffers.sendLengths[i] = length;
    }
  };
}

/** Receivers that this thread serves, in turns with its event loop. */
const served = new Set<Receiver>();
let isServing = false;

function serveInTurns(): void {
  if (isServing) return;
  isServing = true;
  const alarm = transport().alarm();
  const turn = () => {
    if (served.size === 0) {
      isServing = false;
      closeSync(alarm);
      return;
    }
    setImmediate(turn);
    transport().serve([...served], alarm, 1);
  };
  setImmediate(turn);
}

/** A receiver on `fd` that answers with `answer`, or as {@link echo} with mark 1. */
function serve(fd: number, answer?: (buffers: BatchBuffers) => (count: number) => void, buffers = createBuffers()) {
  const counters = createCounters();
  const receiver = transport().receive({ fd, buffers, counters, onBatch: answer?.(buffers) ?? echo(buffers, 1) });
  served.add(receiver);
  serveInTurns();
  cleanups.push(() => {
    receiver.close();
    served.delete(receiver);
  });
  return { receiver, counters, buffers };
}

async function client(type: "udp4" | "udp6" = "udp4"): Promise<Socket> {
  const socket = createSocket(type);
  cleanups.push(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  socket.bind(0, type === "udp4" ? "127.0.0.1" : "::1");
  await once(socket, "listening");
  return socket;
}

/** Sends and waits for one reply. */
async function ask(socket: Socket, message: Uint8Array, port: number, address: string) {
  const reply = once(socket, "message");
  socket.send(message, port, address);
  const [octets, from] = (await reply) as [Buffer, RemoteInfo];
  return { octets, from };
}

/** Lets the event loop turn until `condition` holds; fails after 20 s. */
async function until(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`waited in vain for ${condition}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

if (!loaded.transport) console.warn(`batch transport tests skipped: ${loaded.reason}`);

test("a missing addon is a reason, not an exception", () => {
  const { transport: none, reason } = loadBatch("/nonexistent/batch.node");
  expect(none).toBeUndefined();
  expect(reason).toMatch(/not built/);
});

native("a socket", () => {
  test("bound to port 0 tells its port, address and receive buffer", () => {
    const socket = bound({ address: "127.0.0.1", port: 0, receiveBufferBytes: 65_536 });
    expect(socket).toMatchObject({ kind: "udp", family: 4, address: "127.0.0.1", receiveBufferBytes: 65_536 });
    expect(socket.port).toBeGreaterThan(0);
    expect(transport().describe(socket.fd)).toMatchObject({ port: socket.port, fd: socket.fd });
  });

  test("of IPv6 leaves the IPv4 port to others", () => {
    const six = bound({ address: "::", port: 0 });
    const four = bound({ address: "0.0.0.0", port: six.port });
    expect([six.family, four.family, four.port]).toEqual([6, 4, six.port]);
  });

  test("of TCP can be given to net.Server, beside another on the same port", async () => {
    const first = bound({ address: "127.0.0.1", port: 0, kind: "tcp", reusePort: true });
    const second = bound({ address: "127.0.0.1", port: first.port, kind: "tcp", reusePort: true });
    expect(second.kind).toBe("tcp");
    const copy = transport().bind({ address: "127.0.0.1", port: first.port, kind: "tcp", reusePort: true });
    const server = createServer().listen({ fd: copy.fd });
    await once(server, "listening");
    expect(server.address()).toMatchObject({ port: first.port });
    server.close();
    await once(server, "close");
  });

  test("that cannot be had says why, as Node's own errors do", () => {
    const taken = bound({ address: "127.0.0.1", port: 0 });
    const bind = (address: string, port: number) => () => transport().bind({ address, port });
    expect(bind("127.0.0.1", taken.port)).toThrow(
      expect.objectContaining({
        code: "EADDRINUSE",
        syscall: "bind",
        errno: -98,
        message: expect.stringContaining("127.0.0.1"),
      }),
    );
    expect(bind("192.0.2.200", 0)).toThrow(expect.objectContaining({ code: "EADDRNOTAVAIL", syscall: "bind" }));
    expect(bind("not-an-address", 0)).toThrow(expect.objectContaining({ code: "EINVAL" }));
    expect(bind("127.0.0.1", 65_536)).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARG_VALUE" }));
    expect(() => transport().describe(1_000_000)).toThrow(expect.objectContaining({ code: "EBADF" }));
    const file = openSync("/dev/null", "r");
    cleanups.push(() => closeSync(file));
    expect(() => transport().describe(file)).toThrow(expect.objectContaining({ code: "ENOTSOCK" }));
  });
});

native("a receiver", () => {
  test.each([
    ["udp4", "127.0.0.1"],
    ["udp6", "::1"],
  ] as const)("answers over %s and shows who asked", async (type, address) => {
    const socket = bound({ address, port: 0 });
    const { buffers, counters } = serve(socket.fd);
    const from = await client(type);
    const { octets } = await ask(from, Uint8Array.of(0, 7, 8, 9), socket.port, address);
    expect([...octets]).toEqual([1, 7, 8, 9]);
    expect(new DataView(buffers.peers.buffer).getUint16(PEER_PORT_OFFSET)).toBe(from.address().port);
    const family = type === "udp4" ? 4 : 6;
    const start = PEER_ADDRESS_OFFSET[family];
    const expected = family === 4 ? [127, 0, 0, 1] : [...new Uint8Array(15), 1];
    expect([...buffers.peers.subarray(start, start + expected.length)]).toEqual(expected);
    expect(readCounters(counters)).toMatchObject({ received: 1, sent: 1, batches: 1, sendErrors: 0 });
  });

  test.each([
    ["0.0.0.0", "udp4", ["127.0.0.2", "127.9.8.7", "127.0.0.1"]],
    ["::", "udp6", ["::1"]],
  ] as const)("on the wildcard %s answers from the address asked", async (address, type, asked) => {
    const socket = bound({ address, port: 0 });
    serve(socket.fd);
    const from = await client(type);
    for (const target of asked) {
      const reply = await ask(from, Uint8Array.of(0, 1), socket.port, target);
      expect(reply.from).toMatchObject({ address: target, port: socket.port });
    }
  });

  test("takes over what was queued before it was there", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const from = await client();
    const sent = Array.from({ length: 100 }, (_, i) => i);
    await Promise.all(
      sent.map((i) => new Promise((resolve) => from.send(Uint8Array.of(0, i), socket.port, "127.0.0.1", resolve))),
    );
    const { counters, receiver } = serve(socket.fd);
    expect(receiver.drain()).toBe(100);
    expect(receiver.drain()).toBe(0);
    expect(readCounters(counters)).toMatchObject({ received: 100, sent: 100, batches: 2 });
  });

  test("answers a burst without waiting for the socket, then waits again", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const from = await client();
    for (let i = 0; i < 500; i += 1) {
      await new Promise((resolve) => from.send(Uint8Array.of(0, i & 255), socket.port, "127.0.0.1", resolve));
    }
    const { counters } = serve(socket.fd);
    await until(() => readCounters(counters).sent === 500);
    const { octets } = await ask(from, Uint8Array.of(0, 9), socket.port, "127.0.0.1");
    expect(octets[0]).toBe(1);
  });

  test("stays silent where the handler wrote no length, and refuses lengths that cannot be", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const { counters } = serve(socket.fd, (buffers) => (count) => {
      const answer = echo(buffers, 1);
      answer(count);
      for (let i = 0; i < count; i += 1) {
        const wish = buffers.receive[i * buffers.receiveSlot + 1];
        if (wish === 0) buffers.sendLengths[i] = 0;
        if (wish === 1) buffers.sendLengths[i] = buffers.sendSlot + 1;
        if (wish === 2) buffers.sendLengths[i] = -1;
      }
    });
    const from = await client();
    for (const wish of [0, 1, 2]) from.send(Uint8Array.of(0, wish), socket.port, "127.0.0.1");
    const { octets } = await ask(from, Uint8Array.of(0, 3), socket.port, "127.0.0.1");
    expect(octets[1]).toBe(3);
    expect(readCounters(counters)).toMatchObject({ received: 4, sent: 1, badReplies: 2 });
  });

  test("shows a datagram that does not fit as empty and counts it", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const lengths: number[] = [];
    const { counters } = serve(socket.fd, (buffers) => (count) => {
      for (let i = 0; i < count; i += 1) lengths.push(buffers.receiveLengths[i] ?? -1);
    });
    const from = await client();
    from.send(new Uint8Array(4000), socket.port, "127.0.0.1");
    from.send(new Uint8Array(2112), socket.port, "127.0.0.1");
    from.send(new Uint8Array(0), socket.port, "127.0.0.1");
    await until(() => lengths.length === 3);
    expect(lengths).toEqual([0, 2112, 0]);
    expect(readCounters(counters)).toMatchObject({ received: 3, truncated: 1, sent: 0 });
  });

  test("sends the other replies when one cannot be sent", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const from = await client();
    const replies: number[] = [];
    from.on("message", (octets) => replies.push(octets[1] ?? -1));
    for (let i = 0; i < 10; i += 1) {
      await new Promise((resolve) => from.send(Uint8Array.of(0, i), socket.port, "127.0.0.1", resolve));
    }
    const { counters, receiver } = serve(socket.fd, (buffers) => (count) => {
      echo(buffers, 1)(count);
      // As a forged query from port 0 would have it: the kernel refuses to send there.
      for (const i of [0, 3, 4, 9]) buffers.peers.fill(0, i * PEER_OCTETS + 2, i * PEER_OCTETS + 4);
    });
    receiver.drain();
    await until(() => replies.length === 6);
    expect(replies).toEqual([1, 2, 5, 6, 7, 8]);
    expect(readCounters(counters)).toMatchObject({ received: 10, sent: 6, sendErrors: 4 });
  });

  test("survives clients that are gone before the reply (ICMP port unreachable)", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const { counters } = serve(socket.fd);
    for (let i = 0; i < 20; i += 1) {
      const gone = createSocket("udp4");
      await new Promise<void>((resolve) =>
        gone.send(Uint8Array.of(0, 0), socket.port, "127.0.0.1", () => gone.close(() => resolve())),
      );
    }
    await until(() => readCounters(counters).received === 20);
    const { octets } = await ask(await client(), Uint8Array.of(0, 5), socket.port, "127.0.0.1");
    expect(octets[1]).toBe(5);
  });

  test("counts what the kernel had no room for", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0, receiveBufferBytes: 4096 });
    const from = await client();
    const sends = Array.from(
      { length: 300 },
      () => new Promise((resolve) => from.send(new Uint8Array(100), socket.port, "127.0.0.1", resolve)),
    );
    await Promise.all(sends);
    const { counters, receiver } = serve(socket.fd);
    receiver.drain();
    receiver.close();
    const { received, kernelDrops } = readCounters(counters);
    expect(kernelDrops).toBeGreaterThan(0);
    expect(received + kernelDrops).toBe(300);
  });

  test("may be closed by its own handler, and twice", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    let calls = 0;
    const { receiver } = serve(socket.fd, () => () => {
      calls += 1;
      receiver.close();
    });
    (await client()).send(Uint8Array.of(0), socket.port, "127.0.0.1");
    await until(() => calls === 1);
    receiver.close();
    expect(receiver.drain()).toBe(0);
  });

  test("runs the promises its handler made", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const done = new Promise<void>((resolve) => {
      serve(socket.fd, () => () => void Promise.resolve().then(resolve));
    });
    (await client()).send(Uint8Array.of(0), socket.port, "127.0.0.1");
    await done;
  });

  test("hands an exception of drain()'s handler to the caller and goes on", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const from = await client();
    await new Promise((resolve) => from.send(Uint8Array.of(0), socket.port, "127.0.0.1", resolve));
    let fail = true;
    const { receiver } = serve(socket.fd, (buffers) => (count) => {
      if (fail) throw new Error("a defect");
      echo(buffers, 1)(count);
    });
    expect(() => receiver.drain()).toThrow("a defect");
    fail = false;
    await ask(from, Uint8Array.of(0), socket.port, "127.0.0.1");
  });

  test("serve() ends when the alarm is rung, before or while it waits, and when its time is up", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const counters = createCounters();
    const buffers = createBuffers();
    const receiver = transport().receive({ fd: socket.fd, buffers, counters, onBatch: echo(buffers, 1) });
    const alarm = transport().alarm();
    cleanups.push(() => receiver.close());
    cleanups.push(() => closeSync(alarm));
    const from = await client();
    const reply = once(from, "message");
    await new Promise((resolve) => from.send(Uint8Array.of(0, 7), socket.port, "127.0.0.1", resolve));
    // What is queued is answered although no time is given.
    transport().serve([receiver], alarm, 0);
    expect([...((await reply) as [Buffer])[0]]).toEqual([1, 7]);
    transport().ring(alarm);
    // An hour: the alarm that was rung before ends it.
    transport().serve([receiver], alarm, 3_600_000);
    const ringer = new Worker(
      `const { workerData } = require("node:worker_threads"); require(workerData.addon).ring(workerData.alarm);`,
      { eval: true, workerData: { addon: ADDON_PATH, alarm } },
    );
    const ended = once(ringer, "exit");
    await once(ringer, "online");
    transport().serve([receiver], alarm, 3_600_000);
    await ended;
  });

  test("serve() hands on what a handler throws, and serves again", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const buffers = createBuffers();
    let fail = true;
    const onBatch = (count: number) => {
      if (fail) throw new Error("a defect");
      echo(buffers, 1)(count);
    };
    const receiver = transport().receive({ fd: socket.fd, buffers, counters: createCounters(), onBatch });
    const alarm = transport().alarm();
    cleanups.push(() => receiver.close());
    cleanups.push(() => closeSync(alarm));
    const from = await client();
    const send = () => new Promise((resolve) => from.send(Uint8Array.of(0), socket.port, "127.0.0.1", resolve));
    await send();
    expect(() => transport().serve([receiver], alarm, 0)).toThrow("a defect");
    fail = false;
    await send();
    const reply = once(from, "message");
    transport().serve([receiver], alarm, 0);
    await reply;
  });

  test.each(["192.0.2.200", "2001:db8::200"])("binds %s, which is not here, only if told", (address) => {
    expect(() => transport().bind({ address, port: 0 })).toThrow(expect.objectContaining({ code: "EADDRNOTAVAIL" }));
    expect(bound({ address, port: 0, freeBind: true }).address).toBe(address);
  });

  test("refuses what is no UDP socket, and arrays that are too short", () => {
    const tcp = bound({ address: "127.0.0.1", port: 0, kind: "tcp" });
    expect(() => serve(tcp.fd)).toThrow(expect.objectContaining({ code: "EPROTOTYPE" }));
    const udp = bound({ address: "127.0.0.1", port: 0 });
    const buffers = createBuffers();
    for (const name of ["receive", "send", "peers"] as const) {
      const short = { ...buffers, [name]: buffers[name].subarray(1) };
      expect(() => serve(udp.fd, undefined, short)).toThrow(/typed array/);
    }
    const counters = new BigUint64Array(2);
    expect(() => transport().receive({ fd: udp.fd, buffers, counters, onBatch: () => {} })).toThrow(/typed array/);
    expect(() => serve(udp.fd, undefined, { ...buffers, batch: 257 })).toThrow(/range/);
  });
});

/** A thread that receives on a descriptor, or binds its own socket first; answers with mark `mark`. */
function startWorker(options: { fd?: number; port?: number; mark: number; counters: BigUint64Array }): Worker {
  const code = `
    const { workerData, parentPort } = require("node:worker_threads");
    const native = require(workerData.addon);
    const fd = workerData.fd ?? native.bind("127.0.0.1", workerData.port, false, true, false, 0, 0).fd;
    const receive = new Uint8Array(64 * 512), send = new Uint8Array(64 * 512);
    const receiveLengths = new Int32Array(64), sendLengths = new Int32Array(64);
    const receiver = native.receive(fd, 64, receive, 512, receiveLengths, send, 512, sendLengths, new Uint8Array(64 * 32),
      workerData.counters, (count) => {
        for (let i = 0; i < count; i += 1) {
          if (receive[i * 512 + 1] === 255) throw new Error("crash");
          send.set(receive.subarray(i * 512, i * 512 + receiveLengths[i]), i * 512);
          send[i * 512] = workerData.mark;
          sendLengths[i] = receiveLengths[i];
        }
      });
    // The receiver has a descriptor of its own, so that the port is free when this thread ends.
    if (workerData.fd === undefined) require("node:fs").closeSync(fd);
    parentPort.postMessage("ready");
    const alarm = native.alarm();
    const turn = () => {
      setImmediate(turn);
      native.serve([receiver], alarm, 5);
    };
    setImmediate(turn);
  `;
  const worker = new Worker(code, { eval: true, workerData: { ...options, addon: ADDON_PATH } });
  cleanups.push(() => worker.terminate());
  return worker;
}

native("worker threads", () => {
  test("share a port, and a thread that ends frees it", async () => {
    const probe = bound({ address: "127.0.0.1", port: 0, reusePort: true });
    const { port } = probe;
    const counters = [1, 2, 3].map(() => createCounters());
    const workers = counters.map((own, i) => startWorker({ port, mark: i + 1, counters: own }));
    await Promise.all(workers.map((worker) => once(worker, "message")));
    probe.closeFd();
    const marks = new Set<number>();
    // Each client has another port, and the kernel spreads by it; all three are met long before the test's timeout.
    for (let tries = 0; marks.size < 3 && tries < 1_000; tries += 1) {
      const { octets } = await ask(await client(), Uint8Array.of(0, 1), port, "127.0.0.1");
      marks.add(octets[0] ?? 0);
    }
    expect([...marks].sort()).toEqual([1, 2, 3]);
    // The last reply may be here before its thread has counted it.
    await until(() => counters.every((own) => readCounters(own).sent > 0));
    await Promise.all(workers.map((worker) => worker.terminate()));
    expect(bound({ address: "127.0.0.1", port }).port).toBe(port);
  });

  test("that crash leave the socket and its queue to the next one", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const counters = createCounters();
    const first = startWorker({ fd: socket.fd, mark: 1, counters });
    await once(first, "message");
    const from = await client();
    const crashed = once(first, "error");
    // Awaited from now on: it may come in the same turn as the error.
    const exited = new Promise((resolve) => first.once("exit", resolve));
    from.send(Uint8Array.of(0, 255), socket.port, "127.0.0.1");
    expect(String(await crashed)).toContain("crash");
    await exited;
    const reply = ask(from, Uint8Array.of(0, 4), socket.port, "127.0.0.1");
    startWorker({ fd: socket.fd, mark: 2, counters });
    expect([...(await reply).octets]).toEqual([2, 4]);
    // The reply may be here before the other thread has counted it.
    await until(() => readCounters(counters).sent === 1);
    expect(readCounters(counters).received).toBe(2);
  });

  test("may be ended in the middle of a flood", async () => {
    const socket = bound({ address: "127.0.0.1", port: 0 });
    const from = await client();
    let flooding = true;
    cleanups.push(() => {
      flooding = false;
    });
    const flood = () => {
      if (!flooding) return;
      for (let i = 0; i < 50; i += 1) from.send(new Uint8Array(64), socket.port, "127.0.0.1");
      setImmediate(flood);
    };
    flood();
    for (let round = 0; round < 5; round += 1) {
      const counters = createCounters();
      const worker = startWorker({ fd: socket.fd, mark: 1, counters });
      await until(() => readCounters(counters).received > 100);
      expect(await worker.terminate()).toBe(1);
    }
  });
});

native("steering", () => {
  /** Old and young sockets on one port, in one group, each with a receiver that marks its answers. */
  function group(old: number, young: number) {
    const first = bound({ address: "127.0.0.1", port: 0, reusePort: true });
    const sockets = [first];
    while (sockets.length < old + young)
      sockets.push(bound({ address: "127.0.0.1", port: first.port, reusePort: true }));
    return sockets.map((socket, number) => {
      const served = serve(socket.fd, (buffers) => echo(buffers, number + 1));
      return { ...socket, ...served };
    });
  }

  test("sends to the named range only, and back to all", async () => {
    const members = group(2, 3);
    const [any] = members;
    if (!any) throw new Error("no group");
    const marksOf = async (questions: number) => {
      const marks = new Set<number>();
      for (let i = 0; i < questions; i += 1) {
        const { octets } = await ask(await client(), Uint8Array.of(0, 1), any.port, "127.0.0.1");
        marks.add(octets[0] ?? 0);
      }
      return [...marks].sort();
    };
    transport().steer(any.fd, 3, 1);
    expect(await marksOf(20)).toEqual([4]);
    transport().steer(any.fd, 2, 3);
    // 60 random choices of 3 miss one of them with a probability below 10^-10.
    expect(await marksOf(60)).toEqual([3, 4, 5]);
    transport().unsteer(any.fd);
    transport().unsteer(any.fd);
    // 100 hashed choices of 5 miss one with a probability below 10^-8.
    expect(await marksOf(100)).toEqual([1, 2, 3, 4, 5]);
  });

  test("needs a group", () => {
    const alone = bound({ address: "127.0.0.1", port: 0 });
    expect(() => transport().steer(alone.fd, 0, 1)).toThrow(expect.objectContaining({ code: "EINVAL" }));
  });

  test.each([
    [1, 1],
    [1, 2],
    [2, 1],
    [3, 2],
    [2, 4],
  ])("%i old sockets leave to %i young ones: each query is answered once", async (old, young) => {
    const members = group(old, young);
    const order = orderAfterLeaving(old, young);
    const any = members.at(-1);
    if (!any) throw new Error("no group");
    const from = await client();
    const answers = new Map<number, number>();
    let asked = 0;
    from.on("message", (octets) => answers.set(octets.readUInt32BE(1), octets[0] ?? 0));
    const askSome = async (questions: number) => {
      for (let i = 0; i < questions; i += 1) {
        const octets = Buffer.alloc(5);
        octets.writeUInt32BE(asked, 1);
        asked += 1;
        await new Promise((resolve) => from.send(octets, any.port, "127.0.0.1", resolve));
      }
    };
    const steer = async ({ base, count }: { base: number; count: number }) => {
      transport().steer(any.fd, base, count);
      await askSome(30);
    };
    await askSome(30);
    for (const { close, before, after } of leaveSteps(old, young)) {
      await steer(before);
      const leaving = members[close];
      leaving?.receiver.drain();
      leaving?.receiver.close();
      leaving?.closeFd();
      await steer(after);
    }
    await until(() => answers.size === asked);
    // Who sits where in the end: the program that names one number meets the socket that was predicted.
    for (const [number, place] of order.entries()) {
      transport().steer(any.fd, number, 1);
      const { octets } = await ask(await client(), new Uint8Array(5), any.port, "127.0.0.1");
      expect(octets[0]).toBe(old + place + 1);
    }
  });
});

/**
 * Takes the native part through everything it does, for a run under sanitizers: what answers is checked elsewhere, here
 * memory is. Prints "done" at the end.
 *
 *   node --expose-gc batch-exercise.mjs ADDON
 */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { closeSync } from "node:fs";
import { createRequire } from "node:module";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const addon = isMainThread ? process.argv[2] : workerData.addon;
const native = createRequire(import.meta.url)(addon);
const BATCH = 8;
const SLOT = 64;

/** Receivers that this thread serves, in turns with its event loop, until they are closed. */
const served = new Set();
let isServing = false;

function serveInTurns() {
  if (isServing) return;
  isServing = true;
  const alarm = native.alarm();
  const turn = () => {
    if (served.size === 0) {
      isServing = false;
      closeSync(alarm);
      return;
    }
    setImmediate(turn);
    native.ring(alarm);
    native.serve([...served], alarm, 5);
    native.serve([...served], alarm, 1);
  };
  setImmediate(turn);
}

/** Closes a receiver, which ends its being served. */
function close(receiver) {
  native.close(receiver);
  served.delete(receiver);
}

function receive(fd, handler) {
  const arrays = {
    receive: new Uint8Array(BATCH * SLOT),
    lengths: new Int32Array(BATCH),
    send: new Uint8Array(BATCH * SLOT),
    replies: new Int32Array(BATCH),
    peers: new Uint8Array(BATCH * 32),
    counters: new BigUint64Array(new SharedArrayBuffer(128)),
  };
  const { lengths, send, replies, peers, counters } = arrays;
  const onBatch = (count) => handler(count, arrays);
  const receiver = native.receive(
    fd,
    BATCH,
    arrays.receive,
    SLOT,
    lengths,
    send,
    SLOT,
    replies,
    peers,
    counters,
    onBatch,
  );
  served.add(receiver);
  serveInTurns();
  return { receiver, counters };
}

const echo = (count, { receive, lengths, send, replies }) => {
  send.set(receive);
  for (let i = 0; i < count; i += 1) replies[i] = lengths[i];
};

if (!isMainThread) {
  receive(workerData.fd, echo);
  parentPort.postMessage("ready");
} else {
  await main();
}

async function sendAll(client, port, address, messages) {
  for (const message of messages) await new Promise((resolve) => client.send(message, port, address, resolve));
}

async function main() {
  const messages = [0, 1, 12, SLOT, SLOT + 1, 1400].map((length) => new Uint8Array(length));

  // Both families, wildcard and not, small and oversize datagrams, until one comes back whole.
  for (const [type, to, bind] of [
    ["udp4", "127.0.0.2", "0.0.0.0"],
    ["udp4", "127.0.0.1", "127.0.0.1"],
    ["udp6", "::1", "::"],
  ]) {
    const { fd, port } = native.bind(bind, 0, false, false, false, 0, 0);
    const client = createSocket(type);
    const reply = once(client, "message");
    // More than a batch, so that its last places are used too.
    await sendAll(client, port, to, [...messages, ...messages]);
    const { receiver } = receive(fd, echo);
    await reply;
    close(receiver);
    close(receiver);
    closeSync(fd);
    client.close();
  }

  // Lengths, peers and exceptions that a broken handler may leave behind.
  const { fd, port } = native.bind("127.0.0.1", 0, false, false, false, 0, 0);
  const client = createSocket("udp4");
  const handlers = [
    (_, { replies }) => replies.fill(SLOT),
    (_, { replies }) => replies.fill(SLOT + 1),
    (_, { replies }) => replies.fill(-2147483648),
    (_, { replies, peers }) => {
      replies.fill(4);
      peers.fill(255);
    },
  ];
  for (const handler of handlers) {
    await sendAll(client, port, "127.0.0.1", messages);
    const { receiver } = receive(fd, handler);
    native.drain(receiver);
    close(receiver);
  }
  await sendAll(client, port, "127.0.0.1", messages);
  const thrower = receive(fd, () => {
    throw new Error("a defect");
  });
  assert.throws(() => native.drain(thrower.receiver), /a defect/);
  const uncaught = once(process, "uncaughtException").catch(() => {});
  process.once("uncaughtException", () => {});
  await sendAll(client, port, "127.0.0.1", messages);
  await uncaught;
  close(thrower.receiver);
  assert.throws(() => native.close({}), /not a receiver/);
  assert.throws(() => native.serve([{}], 0, 0), /not a receiver/);
  assert.throws(() => native.serve(new Array(257), 0, 0), /at most/);
  closeSync(native.bind("192.0.2.200", 0, false, false, true, 0, 0).fd);
  native.setNice(1);
  native.trim();
  assert.throws(() => native.receive(1), /too few/);
  for (const bad of [-1, 1e9, 1, fd + 1000]) assert.throws(() => receive(bad, echo));
  assert.throws(() => native.bind("192.0.2.200", 53, false, false, false, 0, 0), { code: "EADDRNOTAVAIL" });
  assert.throws(() => native.bind("x".repeat(500), 53, false, false, false, 0, 0));

  // A handler that closes its own receiver, from its body and from a promise.
  for (const later of [false, true]) {
    await new Promise((resolve) => {
      const { receiver } = receive(fd, () => {
        const end = () => {
          close(receiver);
          resolve();
        };
        if (later) queueMicrotask(end);
        else end();
      });
      sendAll(client, port, "127.0.0.1", messages);
    });
  }

  // Receivers that nobody keeps, collected while open and after they were closed.
  for (let i = 0; i < 50; i += 1) {
    const { receiver } = receive(fd, echo);
    if (i % 2 === 0) native.drain(receiver);
    close(receiver);
  }
  globalThis.gc();
  await new Promise((resolve) => setImmediate(resolve));
  globalThis.gc();

  const tcp = native.bind("127.0.0.1", 0, true, true, false, 0, 0);
  native.describe(tcp.fd);
  closeSync(tcp.fd);
  const first = native.bind("127.0.0.1", 0, false, true, false, 0, 0);
  const second = native.bind("127.0.0.1", first.port, false, true, false, 0, 0);
  native.steer(first.fd, 1, 1);
  native.steer(first.fd, 0, 2);
  native.unsteer(second.fd);
  closeSync(first.fd);
  closeSync(second.fd);

  // Threads that end while datagrams come.
  let flooding = true;
  const flood = () => {
    if (!flooding) return;
    for (let i = 0; i < 20; i += 1) client.send(new Uint8Array(30), port, "127.0.0.1");
    setImmediate(flood);
  };
  flood();
  for (let i = 0; i < 4; i += 1) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { addon, fd } });
    await once(worker, "message");
    await new Promise((resolve) => setImmediate(resolve));
    await worker.terminate();
  }
  flooding = false;
  client.close();

  // Open at the end of the process, as a server that is killed has it.
  receive(fd, echo);
  console.log("done");
  setImmediate(() => process.exit(0));
}

/**
 * Sends junk to the port for siblings of a server until it is ended, and tells its parent how much.
 *
 *     node bench/sibling-junk-sender.mjs KIND ADDRESS SECRET
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:tls";

const { clientSettings, preSharedKey } = await import("../dist/siblings/pre-shared-key.js");

const [, , kind, address, secret] = process.argv;
const PORT = 9854;
const KEY = preSharedKey(Uint8Array.from(Buffer.from(secret, "hex")));
const OTHER_KEY = preSharedKey(Uint8Array.from(randomBytes(32)));
const FQDN = "api.k8s.example.test";
const HELLO = { t: "hello", version: 1, name: "ns2", boot: "0123456789abcdef" };
let sent = 0;

const number = () => Math.floor(Math.random() * 1e6);
const JUNK = [
  () => ({
    t: "endpoints",
    endpoints: [{ endpoint: `e${number()}`, answers: [], up: ["10.1.1.1"], not: [] }],
    gone: [],
  }),
  () => ({
    t: "endpoints",
    endpoints: [{ endpoint: FQDN, answers: [], up: [], not: [["10.77.100.1", "down"]] }],
    gone: [],
  }),
  () => ({
    t: "beat",
    seq: 1,
    wallMs: number(),
    monotonicMs: number(),
    isolated: false,
    late: true,
    starting: false,
    sight: "reached",
    overrides: "x",
  }),
  () => ({ t: "overrides", id: 1 + number(), wallMs: 0, entries: [] }),
  () => ({ t: "ask", id: 1 + number(), endpoint: FQDN, target: `cp${number()}`, kind: "drained" }),
  () => ({ t: "safe", id: 1 + number(), endpoint: `e${number()}`, target: "cp1" }),
  () => ({ t: "zones", zones: [{ zone: `z${number()}`, digest: "d", serial: number() }] }),
  () => ({ t: `x${number()}`, more: "y".repeat(number() % 500) }),
];
/** What ends the connection. */
const NONSENSE = ["hello", "{}", '{"t":"beat"}', "[".repeat(2_000), `{"t":"ask","id":${"9".repeat(400)}}`, "\u0000"];

const line = () => `${JSON.stringify(JUNK[sent % JUNK.length]())}\n`;

/** Writes, and waits where the other side does not read. @returns false once the connection is closed */
async function write(socket, text) {
  sent += 1;
  if (socket.destroyed) return false;
  if (socket.write(text)) return true;
  await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
  return !socket.destroyed;
}

async function opened(key) {
  const socket = connect({ host: address, port: PORT, ...clientSettings(key) });
  socket.on("error", () => {});
  await Promise.race([once(socket, "secureConnect"), once(socket, "close")]).catch(() => {});
  return socket;
}

/** The octets that a client with the secret sends first. */
async function firstFlight() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({ host: "127.0.0.1", port: server.address().port, ...clientSettings(KEY) });
  client.on("error", () => {});
  const [socket] = await once(server, "connection");
  socket.on("error", () => {});
  const [octets] = await once(socket, "data");
  client.destroy();
  socket.destroy();
  server.close();
  return octets;
}

async function raw(octets) {
  const socket = connectTcp(PORT, address);
  socket.on("error", () => {});
  sent += 1;
  socket.end(octets);
  socket.resume();
  await Promise.race([once(socket, "close"), sleep(200)]).catch(() => {});
  socket.destroy();
}

const flight = await firstFlight();
const KINDS = {
  /** The right secret: 1,000 messages on each connection, the last of which is nonsense. */
  async right() {
    const socket = await opened(KEY);
    socket.resume();
    let isOpen = await write(socket, `${JSON.stringify(HELLO)}\n`);
    for (let n = 0; n < 1_000 && isOpen; n += 1) isOpen = await write(socket, line());
    await write(socket, `${NONSENSE[number() % NONSENSE.length]}\n`);
    socket.end();
    await Promise.race([once(socket, "close"), sleep(2_000)]).catch(() => {});
    socket.destroy();
  },
  /** The right secret, one connection, without end. */
  async endless() {
    const socket = await opened(KEY);
    socket.resume();
    let isOpen = await write(socket, `${JSON.stringify(HELLO)}\n`);
    while (isOpen) isOpen = await write(socket, line());
  },
  /** Asks, and reads no reply. */
  async deaf() {
    const socket = await opened(KEY);
    socket.pause();
    let isOpen = await write(socket, `${JSON.stringify(HELLO)}\n`);
    for (let n = 1; isOpen; n += 1) isOpen = await write(socket, `${JSON.stringify({ t: "nudge", n })}\n`);
  },
  async wrong() {
    sent += 1;
    (await opened(OTHER_KEY)).destroy();
  },
  none: () => raw(randomBytes(1 + (number() % 2_000))),
  truncated: () => raw(flight.subarray(0, 1 + (number() % flight.length))),
  replayed: () => raw(flight),
};

process.on("message", () => process.send(sent));
process.on("disconnect", () => process.exit(0));
for (;;) await KINDS[kind]();

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Listening } from "../../src/lib/listening.js";
import { openTcp, type TcpOptions } from "../../src/transport/tcp.js";
import { openUdp } from "../../src/transport/udp.js";
import { type ServedZone, serveSketch, type ZoneSketch } from "../answers/serve.js";
import { afterThisTest, type Cleanup } from "../support/cleanup.js";
import { freePort } from "../support/ports.js";

/** Sixty targets: over UDP without EDNS, and with 1232 octets, truncated. */
const CROWD = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));

/** The zone that transports are tested with. */
export const SKETCH: ZoneSketch = {
  endpoints: { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"] }, crowd: CROWD },
};

/** A served zone behind real sockets. */
export interface ServedSockets extends ServedZone {
  readonly server: string;
  readonly port: number;
}

/** Serves {@link SKETCH} over UDP and TCP on one free port of an address of loopback. */
export async function serveSockets(
  address = "127.0.0.1",
  options: TcpOptions = {},
  cleanup: Cleanup = afterThisTest,
): Promise<ServedSockets> {
  const served = serveSketch(SKETCH);
  const opened: Listening[] = [];
  cleanup(() => Promise.all(opened.map((listening) => listening.stop(0))));
  const udp = await openUdp({ address, port: await freePort(address) }, served.respond);
  opened.push(udp);
  const tcp = await openTcp(udp.address, served.respond, undefined, options);
  opened.push(tcp);
  return { ...served, server: address, port: tcp.address.port };
}

/** A TCP connection that collects whole messages. */
export interface TcpClient {
  readonly socket: Socket;
  /** In the order received, without their lengths. */
  readonly messages: readonly Buffer[];
  /** Sends messages in one piece, each behind its length. */
  send(...messages: readonly Uint8Array[]): void;
  /** Resolves when the other side has closed, or cut, the connection. */
  readonly closed: Promise<void>;
}

/** Connects; the connection is destroyed at the end of the test. */
export async function connectTcp(to: {
  readonly server: string;
  readonly port: number;
  /** Address to connect from. */
  readonly from?: string;
}): Promise<TcpClient> {
  const from = to.from === undefined ? {} : { localAddress: to.from };
  const socket = connect({ host: to.server, port: to.port, allowHalfOpen: true, ...from });
  afterThisTest(() => socket.destroy());
  const messages: Buffer[] = [];
  let pending = Buffer.alloc(0);
  const closed = new Promise<void>((resolve) => {
    socket.once("end", resolve);
    socket.once("close", () => resolve());
  });
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0);
      messages.push(pending.subarray(2, end));
      pending = pending.subarray(end);
    }
  });
  await once(socket, "connect");
  return { socket, messages, closed, send: (...queries) => socket.write(frame(...queries)) };
}

/** Messages as they go over TCP: each behind its length (RFC 1035 §4.2.2). */
export function frame(...messages: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    messages.flatMap((message) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      return [length, message];
    }),
  );
}

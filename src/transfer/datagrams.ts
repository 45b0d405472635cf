import { createSocket, type Socket } from "node:dgram";
import type { Clock, Timer } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";

/** Takes what comes back. @param octets undefined: nothing came in time, or it could not be sent */
type Take = (octets: Uint8Array | undefined) => void;

/** One message that waits for its reply. */
interface Waiting {
  readonly socket: Socket;
  readonly take: Take;
  readonly timer: Timer;
}

/** Milliseconds until a message counts as not answered. */
const REPLY_TIMEOUT_MS = 600;

/** Sends messages over UDP and gives each its reply. The sockets do not keep the process alive. */
export class DatagramExchange {
  private listen: readonly SocketAddress[] = [];
  /** By family and local address. */
  private readonly sockets = new Map<string, Socket>();
  /** By peer and message id. */
  private readonly waiting = new Map<string, Waiting>();

  constructor(private readonly clock: Clock) {}

  /** Sends from these addresses from now on, since a secondary knows its primary by its address. */
  setSource(listen: readonly SocketAddress[]): void {
    if (JSON.stringify(listen) === JSON.stringify(this.listen)) return;
    this.listen = listen;
    this.closeSockets();
  }

  /** Sends a message. `take` is called once: with the octets of a message with the same id from there, or with undefined. */
  send(to: SocketAddress, message: Uint8Array, take: Take): void {
    const key = waitingKey(to.address, to.port, message);
    this.settle(key, undefined);
    const socket = this.socketFor(to);
    const timer = this.clock.after(REPLY_TIMEOUT_MS, () => this.settle(key, undefined));
    this.waiting.set(key, { socket, take, timer });
    socket.send(message, to.port, to.address, (error) => {
      if (error !== null) this.settle(key, undefined);
    });
  }

  close(): void {
    this.closeSockets();
    for (const { timer } of this.waiting.values()) timer.cancel();
    this.waiting.clear();
  }

  private settle(key: string, octets: Uint8Array | undefined): void {
    const waiting = this.waiting.get(key);
    if (waiting === undefined) return;
    this.waiting.delete(key);
    waiting.timer.cancel();
    waiting.take(octets);
  }

  private socketFor({ address }: SocketAddress): Socket {
    const source = sourceFor(address, this.listen);
    const type = address.includes(":") ? "udp6" : "udp4";
    const key = `${type} ${source ?? ""}`;
    const known = this.sockets.get(key);
    if (known !== undefined) return known;
    const socket = createSocket(type);
    this.sockets.set(key, socket);
    // An address that this machine does not have (yet): the messages are not answered, and the next one tries anew.
    socket.on("error", () => {
      this.sockets.delete(key);
      socket.close();
      for (const [one, waiting] of this.waiting) if (waiting.socket === socket) this.settle(one, undefined);
    });
    socket.on("message", (octets, from) => this.settle(waitingKey(from.address, from.port, octets), octets));
    socket.bind({ port: 0, ...(source === undefined ? {} : { address: source }) });
    socket.unref();
    return socket;
  }

  private closeSockets(): void {
    for (const socket of this.sockets.values()) socket.close();
    this.sockets.clear();
  }
}

function waitingKey(address: string, port: number, message: Uint8Array): string {
  return `${address} ${port} ${((message[0] ?? 0) << 8) | (message[1] ?? 0)}`;
}

/** Addresses that stand for all of the machine's. */
const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * The local address from which a peer is written to: the first listen address of its family; undefined lets the system choose.
 * A loopback address reaches nobody else, and nobody else reaches a loopback address.
 */
export function sourceFor(peer: string, listen: readonly SocketAddress[]): string | undefined {
  const fitting = listen.filter(
    ({ address }) =>
      isIpv6(address) === isIpv6(peer) && (WILDCARDS.has(address) || isLoopback(address) === isLoopback(peer)),
  );
  const [first] = fitting;
  return first === undefined || WILDCARDS.has(first.address) ? undefined : first.address;
}

function isIpv6(address: string): boolean {
  return address.includes(":");
}

function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}

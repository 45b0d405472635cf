import { createServer, type Server, type Socket } from "node:net";
import { type Clock, systemClock, type Timer } from "../lib/clock.js";
import { type Listening, listenError, type SocketAddress } from "../lib/listening.js";
import { clientAt } from "../query/client.js";
import type { Respond } from "../query/respond.js";
import {
  DEFAULT_TCP_LIMITS,
  type HandedOver,
  serveConnection,
  type TcpConnection,
  type TcpLimits,
} from "./tcp-connection.js";

/** Milliseconds between two looks at how long connections have lasted. */
const SWEEP_MS = 500;

/**
 * Turns of the event loop without a new connection or query after which a stop takes it that the kernel holds none:
 * one turn accepts one connection, the next reads from it.
 */
const QUIET_TURNS = 3;

/** Turns after which a stop begins all the same, or clients that never pause would put it off: well under a second. */
const MAX_TURNS = 1_000;

/** Connections that the kernel may hold until they are accepted; it caps this at `net.core.somaxconn`. */
const BACKLOG = 511;

/** Options of a TCP socket. */
export interface TcpOptions {
  /** Asked again and again, so that they can change. Default {@link DEFAULT_TCP_LIMITS}. */
  readonly limits?: () => TcpLimits;
  /** Called for each connection that a limit turns away. */
  readonly onTurnedAway?: () => void;
  /** By which connections are judged. Default: the machine's own. */
  readonly clock?: Clock;
  /** Absent: no transfer is granted. */
  readonly transfers?: HandedOver;
}

/**
 * Opens a TCP socket that takes any number of queries per connection (RFC 7766 §6.2.1).
 *
 * @param fd a listening socket that is bound to `at` already, and is closed with this one; absent = opens its own
 * @throws UserError if it cannot be opened
 */
export async function openTcp(
  at: SocketAddress,
  respond: Respond,
  fd?: number,
  options: TcpOptions = {},
): Promise<Listening> {
  const server = new TcpServer(respond, options);
  const address = await server.listen(at, fd);
  return { address, stop: (graceMs) => server.stop(graceMs) };
}

/** One listening socket with its connections, and how many each client has. */
class TcpServer {
  readonly #respond: Respond;
  readonly #limits: () => TcpLimits;
  readonly #onTurnedAway: () => void;
  readonly #clock: Clock;
  readonly #transfers: HandedOver | undefined;
  readonly #server: Server;
  #sweep: Timer;
  readonly #connections = new Set<TcpConnection>();
  /** Connections that are open, by the client's address. */
  readonly #perClient = new Map<string, number>();
  #isStopping = false;
  /** Connections and pieces of queries so far. */
  #arrivals = 0;

  constructor(respond: Respond, options: TcpOptions) {
    const { limits = () => DEFAULT_TCP_LIMITS, onTurnedAway = () => {}, clock = systemClock } = options;
    this.#respond = respond;
    this.#limits = limits;
    this.#onTurnedAway = onTurnedAway;
    this.#clock = clock;
    this.#transfers = options.transfers;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
    this.#server.maxConnections = limits().maxConnections;
    this.#server.on("drop", onTurnedAway);
    this.#sweep = this.#sweepLater();
  }

  /** @returns the address with the real port @throws UserError; the server is of no use then */
  async listen(at: SocketAddress, fd: number | undefined): Promise<SocketAddress> {
    const { address, port } = at;
    const where =
      fd === undefined
        ? { host: address, port, ipv6Only: address.includes(":"), exclusive: true, backlog: BACKLOG }
        : { fd };
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once("error", (error) => reject(listenError("TCP", at, error)));
        this.#server.listen(where, resolve);
      });
    } catch (error) {
      this.#sweep.cancel();
      throw error;
    }
    this.#server.removeAllListeners("error");
    this.#server.on("error", () => {});
    const bound = this.#server.address();
    return { address, port: typeof bound === "object" && bound !== null ? bound.port : port };
  }

  async stop(graceMs: number): Promise<void> {
    await this.#takeWhatTheKernelHolds();
    this.#isStopping = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.finish();
    const cut = setTimeout(() => {
      for (const { socket } of this.#connections) socket.destroy();
    }, graceMs);
    await closed;
    clearTimeout(cut);
    this.#sweep.cancel();
  }

  /** Connections and queries that came before the stop are answered. */
  async #takeWhatTheKernelHolds(): Promise<void> {
    for (let turn = 0, quiet = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn += 1) {
      const before = this.#arrivals;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.#arrivals === before ? quiet + 1 : 0;
    }
  }

  #accept(socket: Socket): void {
    const address = socket.remoteAddress;
    if (address === undefined) {
      // The client has gone already.
      socket.destroy();
      return;
    }
    const already = this.#perClient.get(address) ?? 0;
    if (already >= this.#limits().maxPerClient) {
      this.#onTurnedAway();
      socket.destroy();
      return;
    }
    this.#arrivals += 1;
    this.#perClient.set(address, already + 1);
    const now = (): number => this.#clock.monotonicMs();
    const onArrival = (): void => {
      this.#arrivals += 1;
    };
    const connection = serveConnection(socket, clientAt(address), this.#respond, now, onArrival, this.#transfers);
    this.#connections.add(connection);
    if (this.#isStopping) connection.finish();
    socket.on("close", () => this.#forget(connection, address));
  }

  #forget(connection: TcpConnection, address: string): void {
    this.#connections.delete(connection);
    const left = (this.#perClient.get(address) ?? 1) - 1;
    if (left === 0) this.#perClient.delete(address);
    else this.#perClient.set(address, left);
  }

  #sweepLater(): Timer {
    return this.#clock.after(Math.min(SWEEP_MS, this.#limits().idleMs), () => {
      this.#sweep = this.#sweepLater();
      this.#judgeAll();
    });
  }

  /** Ends and cuts connections that have taken too long, by the limits as they are now. */
  #judgeAll(): void {
    const limits = this.#limits();
    this.#server.maxConnections = limits.maxConnections;
    const isCrowded = this.#connections.size > limits.maxConnections / 2;
    const idleMs = isCrowded ? limits.idleMs / 5 : limits.idleMs;
    const moment = this.#clock.monotonicMs();
    for (const connection of this.#connections) connection.judge(moment, limits, idleMs);
  }
}

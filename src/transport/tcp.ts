import { createServer } from "node:net";
import { type Listening, listenError, type SocketAddress } from "../lib/listening.js";
import { clientAt } from "../query/client.js";
import type { Respond } from "../query/respond.js";
import { DEFAULT_TCP_LIMITS, serveConnection, type TcpConnection, type TcpLimits } from "./tcp-connection.js";

/** Milliseconds between two looks at how long connections have lasted. */
const SWEEP_MS = 500;

/**
 * Turns of the event loop without a new connection or query after which a stop takes it that the kernel holds none:
 * one turn accepts one connection, the next reads from it.
 */
const QUIET_TURNS = 3;

/** Turns after which a stop begins all the same, or clients that never pause would put it off: well under a second. */
const MAX_TURNS = 1_000;

/** What can be told of a TCP socket beside where it is. */
export interface TcpOptions {
  /** Asked again and again, so that they can change. Default {@link DEFAULT_TCP_LIMITS}. */
  readonly limits?: () => TcpLimits;
  /** Called for each connection that a limit turns away. */
  readonly onTurnedAway?: () => void;
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
  const { limits: limitsNow = () => DEFAULT_TCP_LIMITS, onTurnedAway = () => {} } = options;
  const connections = new Set<TcpConnection>();
  const perClient = new Map<string, number>();
  let stopping = false;
  /** Connections and pieces of queries so far. */
  let arrivals = 0;
  const now = (): number => performance.now();

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const address = socket.remoteAddress;
    const already = perClient.get(address ?? "") ?? 0;
    // Without an address it is gone already.
    if (address === undefined || already >= limitsNow().maxPerClient) {
      if (address !== undefined) onTurnedAway();
      socket.destroy();
      return;
    }
    arrivals += 1;
    perClient.set(address, already + 1);
    const onArrival = (): void => {
      arrivals += 1;
    };
    const connection = serveConnection(socket, clientAt(address), respond, now, onArrival);
    connections.add(connection);
    if (stopping) connection.finish();
    socket.on("close", () => {
      connections.delete(connection);
      const left = (perClient.get(address) ?? 1) - 1;
      if (left === 0) perClient.delete(address);
      else perClient.set(address, left);
    });
  });
  server.maxConnections = limitsNow().maxConnections;
  server.on("drop", onTurnedAway);

  const sweep = setInterval(
    () => {
      const limits = limitsNow();
      server.maxConnections = limits.maxConnections;
      const isCrowded = connections.size > limits.maxConnections / 2;
      const idleMs = isCrowded ? limits.idleMs / 5 : limits.idleMs;
      const moment = now();
      for (const connection of connections) connection.judge(moment, limits, idleMs);
    },
    Math.min(SWEEP_MS, limitsNow().idleMs),
  );
  sweep.unref();

  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => reject(listenError("TCP", at, error)));
      const where =
        fd === undefined
          ? { host: at.address, port: at.port, ipv6Only: at.address.includes(":"), exclusive: true, backlog: 511 }
          : { fd };
      server.listen(where, resolve);
    });
  } catch (error) {
    clearInterval(sweep);
    throw error;
  }
  server.removeAllListeners("error");
  server.on("error", () => {});
  const bound = server.address();
  return {
    address: { address: at.address, port: typeof bound === "object" && bound !== null ? bound.port : at.port },
    async stop(graceMs) {
      // Connections and queries that the kernel holds for us by now are taken first.
      for (let turn = 0, quiet = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn += 1) {
        const before = arrivals;
        await new Promise((resolve) => setImmediate(resolve));
        quiet = arrivals === before ? quiet + 1 : 0;
      }
      stopping = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections) connection.finish();
      const cut = setTimeout(() => {
        for (const { socket } of connections) socket.destroy();
      }, graceMs);
      await closed;
      clearTimeout(cut);
      clearInterval(sweep);
    },
  };
}

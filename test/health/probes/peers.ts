import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { afterThisTest, type Cleanup } from "../../support/cleanup.js";

/** What a peer did and saw. */
export interface Peer {
  readonly port: number;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Connections that are open now. */
  readonly open: number;
  /** What clients sent, in clear, all connections together. */
  readonly received: string;
  /** Resets every connection that is open. */
  resetAll(): void;
}

/** What to do with each connection; over TLS it is called once the handshake is complete. */
export type Behaviour = (socket: Socket) => void;

/** Starts a peer on a loopback port that misbehaves as told; it ends with the test. */
export async function startPeer(behave: Behaviour, tls?: TlsOptions, cleanup: Cleanup = afterThisTest): Promise<Peer> {
  let accepted = 0;
  let received = "";
  const open = new Set<Socket>();
  const onSocket = (socket: Socket) => {
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    behave(socket);
  };
  const server: Server = tls === undefined ? createServer(onSocket) : createTlsServer(tls, onSocket);
  server.on("tlsClientError", () => {});
  server.on("connection", (socket: Socket) => {
    accepted += 1;
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanup(async () => {
    for (const socket of open) socket.destroy();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("a server on a port has an address");
  return {
    port: address.port,
    get accepted() {
      return accepted;
    },
    get open() {
      return open.size;
    },
    get received() {
      return received;
    },
    resetAll() {
      for (const socket of open) socket.resetAndDestroy();
    },
  };
}

/** Answers the first request of a connection with `text` and closes. */
export function answering(text: string): Behaviour {
  return (socket) => socket.once("data", () => socket.end(text));
}

/** Answers the first request with `text` and keeps the connection open. */
export function answeringThenSilent(text: string): Behaviour {
  return (socket) => socket.once("data", () => socket.write(text));
}

/** Answers with `head`, and then writes `piece` again and again, as fast as it is taken or every `everyMs`. */
export function pouring(head: string, piece: string, everyMs = 0): Behaviour {
  return (socket) => {
    socket.once("data", () => {
      socket.write(head);
      let timer: NodeJS.Timeout | undefined;
      const pour = () => {
        if (socket.destroyed) return;
        const next = () => {
          timer = setTimeout(pour, everyMs);
        };
        if (socket.write(piece)) next();
        else socket.once("drain", next);
      };
      pour();
      socket.on("close", () => clearTimeout(timer));
    });
  };
}

/** A whole response with a Content-Length. */
export function response(status: string, body: string, headers: readonly string[] = []): string {
  return [`HTTP/1.1 ${status}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers, "", body].join("\r\n");
}

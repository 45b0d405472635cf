import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";

/** Queries under way at once: few enough for the smallest receive buffer among the servers. */
const WINDOW = 64;
const RESEND_MS = 500;
const ATTEMPTS = 6;

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/**
 * Asks all queries over UDP, many at once, and returns the replies in the same order; undefined where none came even
 * after some repetitions. The id of each query is its index modulo 65 536, and is written into it.
 */
export async function askAllUdp(server: Endpoint, queries: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
  const socket = createSocket("udp4");
  socket.connect(server.port, server.address);
  await once(socket, "connect");
  try {
    const replies: (Buffer | undefined)[] = [];
    for (let start = 0; start < queries.length; start += 0x1_0000) {
      replies.push(...(await askRound(queries.slice(start, start + 0x1_0000), (query) => socket.send(query), socket)));
    }
    return replies;
  } finally {
    socket.close();
  }
}

interface Receiver {
  on(event: "message", listener: (message: Buffer) => void): unknown;
  off(event: "message", listener: (message: Buffer) => void): unknown;
}

function askRound(
  queries: readonly Buffer[],
  send: (query: Buffer) => void,
  from: Receiver,
): Promise<(Buffer | undefined)[]> {
  return new Promise((resolve) => {
    const replies: (Buffer | undefined)[] = queries.map(() => undefined);
    const underWay = new Map<number, { attempts: number; sentAt: number }>();
    let next = 0;
    const fill = (): void => {
      while (underWay.size < WINDOW && next < queries.length) {
        sendOne(next, 1);
        next += 1;
      }
      if (underWay.size > 0) return;
      clearInterval(timer);
      from.off("message", receive);
      resolve(replies);
    };
    const sendOne = (index: number, attempts: number): void => {
      const query = queries[index] as Buffer;
      query.writeUInt16BE(index, 0);
      underWay.set(index, { attempts, sentAt: performance.now() });
      send(query);
    };
    const receive = (message: Buffer): void => {
      const index = message.length < 2 ? -1 : message.readUInt16BE(0);
      if (!underWay.delete(index)) return;
      replies[index] = message;
      fill();
    };
    const timer = setInterval(() => {
      const now = performance.now();
      for (const [index, { attempts, sentAt }] of [...underWay]) {
        if (now - sentAt < RESEND_MS) continue;
        if (attempts < ATTEMPTS) sendOne(index, attempts + 1);
        else underWay.delete(index);
      }
      fill();
    }, RESEND_MS / 5);
    from.on("message", receive);
    fill();
  });
}

/**
 * Asks all queries over TCP, pipelined; replies may come in any order. What a server leaves unanswered when it closes
 * is asked again by itself; undefined where it closes then too.
 */
export async function askAllTcp(server: Endpoint, queries: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
  const replies: (Buffer | undefined)[] = [];
  // Rounds: not every server reads a whole long pipeline before its replies have been taken.
  for (let start = 0; start < queries.length; start += WINDOW) {
    const round = queries.slice(start, start + WINDOW);
    const received = await askTcpRound(server, round);
    for (const [index, query] of round.entries()) {
      replies.push(received[index] ?? (await askTcpRound(server, [query]))[0]);
    }
  }
  return replies;
}

function askTcpRound(server: Endpoint, queries: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, server.address);
    const replies: (Buffer | undefined)[] = queries.map(() => undefined);
    let received = 0;
    let pending = Buffer.alloc(0);
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => resolve(replies));
    socket.on("data", (chunk) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const length = pending.readUInt16BE(0);
        const message = Buffer.from(pending.subarray(2, 2 + length));
        pending = pending.subarray(2 + length);
        replies[message.readUInt16BE(0)] = message;
        received += 1;
      }
      if (received === queries.length) socket.destroy();
    });
    const framed = queries.map((query, index) => {
      const frame = Buffer.alloc(2 + query.length);
      frame.writeUInt16BE(query.length);
      query.copy(frame, 2);
      frame.writeUInt16BE(index, 2);
      return frame;
    });
    socket.write(Buffer.concat(framed));
  });
}

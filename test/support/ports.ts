import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below Linux's ephemeral range (32 768 and up), so that no client socket of another test takes it meanwhile. */
const LOWEST = 20_000;
const HIGHEST = 32_000;

/** A port that is free for UDP and TCP on every address given. Another process may still take it before you do. */
export async function freePort(...addresses: readonly string[]): Promise<number> {
  const wanted = addresses.length === 0 ? ["127.0.0.1"] : addresses;
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    const free = await Promise.all(wanted.flatMap((address) => [isTcpFree(address, port), isUdpFree(address, port)]));
    if (free.every(Boolean)) return port;
  }
  throw new Error(`no port is free on ${wanted.join(", ")}`);
}

async function isTcpFree(address: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host: address, port, exclusive: true });
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}

async function isUdpFree(address: string, port: number): Promise<boolean> {
  const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
  try {
    socket.bind({ address, port, exclusive: true });
    await once(socket, "listening");
    return true;
  } catch {
    return false;
  } finally {
    await new Promise<void>((resolve) => socket.close(() => resolve()));
  }
}

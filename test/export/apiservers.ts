import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { afterThisTest } from "../support/cleanup.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";

/** Addresses of the stand-in apiservers. */
export const ADDRESSES = ["127.0.7.1", "127.0.7.2", "127.0.7.3"] as const;

/** Name of their endpoint. */
export const ENDPOINT = "api.k8s.example.test";

/** Three servers that say their address to who connects, and a livezone that watches them. */
export interface Neighbourhood {
  readonly livezone: RunningLivezone;
  readonly dnsPort: number;
  /** Port of each stand-in. */
  readonly port: number;
  stop(address: string): Promise<void>;
  start(address: string): Promise<void>;
}

export async function startNeighbourhood(): Promise<Neighbourhood> {
  const port = await freePort(...ADDRESSES);
  const dnsPort = await freePort("127.0.0.1");
  const servers = new Map<string, Server>();
  const start = async (address: string) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.write(`${address}\n`);
    });
    server.listen(port, address);
    await once(server, "listening");
    servers.set(address, server);
  };
  const stop = async (address: string) => {
    const server = servers.get(address);
    server?.close();
    servers.delete(address);
  };
  for (const address of ADDRESSES) await start(address);
  afterThisTest(() => {
    for (const server of servers.values()) server.close();
  });
  const targets = ADDRESSES.map((address, index) => `cp${index + 1}: ${address}`).join(", ");
  const livezone = await startLivezone({
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${dnsPort}"]\nadmin: { socket: admin.sock }\nzones: [zone.yaml]\n`,
      "zone.yaml": `zone: k8s.example.test\nnameservers: { ns1: 127.0.0.1 }\nallowSpecialAddresses: true
endpoints:
  api: { port: ${port}, ttl: 1, targets: { ${targets} }, probe: { type: tcp, interval: 500ms, timeout: 400ms, recheck: 200ms } }\n`,
    },
  });
  return { livezone, dnsPort, port, start, stop };
}

/** Who answers at a port; undefined if nobody does within a second. */
export function whoAnswers(port: number): Promise<string | undefined> {
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    const finish = (value?: string) => {
      socket.destroy();
      done(value);
    };
    socket.setTimeout(1_000, () => finish());
    socket.on("error", () => finish());
    socket.on("close", () => finish());
    socket.on("data", (text) => finish(text.toString().trim()));
  });
}

/** The different answers to `count` connections, one after the other, sorted; `none` where nobody answered. */
export async function answerers(port: number, count = 12): Promise<string[]> {
  const seen = new Set<string>();
  for (let i = 0; i < count; i++) seen.add((await whoAnswers(port)) ?? "none");
  return [...seen].sort();
}

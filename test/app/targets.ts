import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterThisTest, type Cleanup } from "../support/cleanup.js";
import { freePort } from "../support/ports.js";

/** What a target answers to a probe; kept by the test, which may change it at any time. */
export interface ProbedTarget {
  readonly id: string;
  readonly address: string;
  /** `hold` leaves the probe without an answer until {@link release}. */
  behaviour: "ready" | "unready" | "hold";
  /** Probes that have come so far. */
  readonly probes: number;
  /** Answers the probes that were held, and all that come, as `ready`. */
  release(): void;
}

/** Targets on plain HTTP, all on one port. */
export interface ProbedTargets {
  readonly port: number;
  readonly targets: readonly ProbedTarget[];
}

/** The zone file of targets. @param probe options of the probe besides its type, as YAML */
export function zoneOf({ port, targets }: ProbedTargets, probe: string): string {
  return `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${port}
    targets: { ${targets.map(({ id, address }) => `${id}: ${address}`).join(", ")} }
    probe: { type: http, ${probe} }
`;
}

/** Starts targets `cp1`, `cp2`, ... in this process, with these behaviours at first. */
export async function startTargets(
  behaviours: readonly ProbedTarget["behaviour"][],
  cleanup: Cleanup = afterThisTest,
): Promise<ProbedTargets> {
  const net = `127.${randomInt(1, 250)}.${randomInt(0, 256)}`;
  const addresses = behaviours.map((_, i) => `${net}.${11 + i}`);
  const port = await freePort(...addresses);
  const targets = await Promise.all(
    behaviours.map((behaviour, i) => startTarget(`cp${i + 1}`, addresses[i] ?? "", port, behaviour, cleanup)),
  );
  return { port, targets };
}

async function startTarget(
  id: string,
  address: string,
  port: number,
  behaviour: ProbedTarget["behaviour"],
  cleanup: Cleanup,
): Promise<ProbedTarget> {
  const held = new Set<ServerResponse>();
  let probes = 0;
  const answer = (response: ServerResponse, status: number): void => {
    response.writeHead(status, { connection: "close" }).end(status === 200 ? "ok" : "[-]etcd failed\n");
  };
  const server = createServer((_request, response) => {
    probes += 1;
    if (target.behaviour === "hold") held.add(response);
    else answer(response, target.behaviour === "ready" ? 200 : 500);
  });
  const target: ProbedTarget = {
    id,
    address,
    behaviour,
    get probes() {
      return probes;
    },
    release() {
      target.behaviour = "ready";
      for (const response of held) answer(response, 200);
      held.clear();
    },
  };
  server.listen({ host: address, port, exclusive: true });
  await once(server, "listening");
  cleanup(() => {
    server.closeAllConnections();
    server.close();
  });
  return target;
}

/** A TCP connection to a DNS server, for what `askRaw` does not do: to send a query in pieces, or none. */
export async function connectTcp(
  port: number,
  address = "127.0.0.1",
  cleanup: Cleanup = afterThisTest,
): Promise<{ readonly socket: Socket; received(): Buffer; readonly closed: Promise<void> }> {
  const socket = connect({ host: address, port });
  cleanup(() => socket.destroy());
  let received = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
  });
  // A reset is an end too; what was received tells whether it came too early.
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
  });
  await once(socket, "connect");
  return { socket, received: () => received, closed };
}

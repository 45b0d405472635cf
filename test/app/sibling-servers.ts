import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { statusSchema } from "../../src/admin/schemas.js";
import { createAdminClient } from "../../src/client/admin.js";
import { afterThisTest } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import type { ProbedTargets } from "./targets.js";

export const ENDPOINT = "api.k8s.example.test";

/** The way from one server to another, which can be cut. */
export interface CuttableLink {
  readonly port: number;
  /** Whether nothing gets through. Open connections end. */
  cut(isCut: boolean): void;
}

/** A server among siblings. */
export interface SiblingServer {
  readonly name: string;
  readonly socket: string;
  /** Port of DNS on loopback. */
  readonly dns: number;
  livezone: RunningLivezone;
  /** Target ids that are answered now. */
  answered(): Promise<string[]>;
  status(): Promise<ReturnType<typeof statusSchema.parse>>;
  post(action: string, target: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Starts it again, with the same files. */
  restart(): Promise<void>;
}

export interface SiblingServers {
  readonly servers: readonly SiblingServer[];
  /** The way from one server to another, by their places. */
  link(from: number, to: number): CuttableLink;
  /** Waits until each server hears each other one. */
  allHeard(): Promise<void>;
}

/** Targets, and the port on which they listen. */
type ServedTargets = Pick<ProbedTargets, "port"> & {
  readonly targets: readonly Pick<ProbedTargets["targets"][number], "id" | "address">[];
};

/** Starts servers that are each other's siblings, over links that can be cut. @param more lines of the main file */
export async function startSiblings(
  count: number,
  probed: ServedTargets,
  options: { more?: string; endpoint?: string; siblings?: string; probe?: string } = {},
): Promise<SiblingServers> {
  const { more = "", endpoint = "", siblings = "", probe = HTTP_PROBE } = options;
  const secret = randomBytes(32).toString("hex");
  const names = Array.from({ length: count }, (_, i) => `ns${i + 1}`);
  const ports = await Promise.all(names.map(() => freePort()));
  const listens = await Promise.all(names.map(() => freePort()));
  const links = new Map<string, CuttableLink>();
  for (const [from] of names.entries()) {
    for (const [to, port] of ports.entries()) if (from !== to) links.set(`${from} ${to}`, await startLink(port));
  }
  const link = (from: number, to: number): CuttableLink => links.get(`${from} ${to}`) as CuttableLink;
  const servers = await Promise.all(
    names.map((name, own) => {
      const peers = names.flatMap((peer, to) => (to === own ? [] : [`${peer}: "127.0.0.1:${link(own, to).port}"`]));
      const folder = temporaryFolder();
      const files = {
        "siblings.key": `${secret}\n`,
        "livezone.yaml": `listen: "127.0.0.1:${listens[own]}"
stateDir: ${folder}/state
admin: { socket: ${folder}/admin.sock }
siblings: { name: ${name}, listen: "127.0.0.1:${ports[own]}", peers: { ${peers.join(", ")} }, secretFile: siblings.key${siblings} }
zones: [zones/*.yaml]
${more}`,
        "zones/k8s.yaml": zoneFile(probed, probe, endpoint),
      };
      return startServer(name, files, folder, listens[own] ?? 0, probed);
    }),
  );
  const allHeard = async (): Promise<void> => {
    for (const server of servers) {
      let seen: unknown;
      await waitUntil(
        async () => {
          const { siblings: shown } = await server.status();
          seen = shown;
          return (
            shown?.peers.every(({ condition, trouble }) => condition === "fresh" && trouble === undefined) === true
          );
        },
        { describe: () => `${server.name} to hear all: ${JSON.stringify(seen)}` },
      );
    }
  };
  return { servers, link, allHeard };
}

/** Of targets that speak HTTP. */
const HTTP_PROBE = "{ type: http, interval: 1s, timeout: 1s, tripwire: false }";

function zoneFile({ port, targets }: ServedTargets, probe: string, endpoint: string): string {
  return `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
ttl: 1
endpoints:
  api:
    port: ${port}
    targets: { ${targets.map(({ id, address }) => `${id}: ${address}`).join(", ")} }
    probe: ${probe}
${endpoint}`;
}

async function startServer(
  name: string,
  files: Readonly<Record<string, string>>,
  folder: string,
  listen: number,
  { targets }: ServedTargets,
): Promise<SiblingServer> {
  const socket = `${folder}/admin.sock`;
  const client = createAdminClient({ kind: "socket", path: socket });
  const server: SiblingServer = {
    name,
    socket,
    dns: listen,
    livezone: await startLivezone({ files }),
    async answered() {
      const addresses = await askForAddresses({ server: "127.0.0.1", port: listen, name: ENDPOINT });
      return targets.filter(({ address }) => addresses.includes(address)).map(({ id }) => id);
    },
    status: async () => statusSchema.parse((await client.ask("GET", "/api/v1/status")).body),
    async post(action, target, body = {}) {
      const path = `/api/v1/endpoints/${ENDPOINT}/targets/${target}/${action}`;
      const reply = await client.ask("POST", path, body);
      return { status: reply.status, body: reply.body as Record<string, unknown> };
    },
    async restart() {
      server.livezone = await startLivezone({ files });
    },
  };
  return server;
}

async function startLink(to: number): Promise<CuttableLink> {
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((socket) => {
    const onward = connect(to, "127.0.0.1");
    for (const one of [socket, onward]) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        (one === socket ? onward : socket).destroy();
      });
    }
    if (isCut) socket.destroy();
    socket.pipe(onward);
    onward.pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  afterThisTest(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    cut(now) {
      isCut = now;
      if (now) for (const socket of open) socket.destroy();
    },
  };
}
